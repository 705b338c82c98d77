"""What a draft, facts and brief state stays in a text, and what a text adds is found."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from autoreason.contract import Contract
from autoreason.kept import find_new
from autoreason.task import Task

DRAFT = """# Trip

The trip to Lisbon costs 250 EUR. It is on 3 March 2027.
Book at https://example.org/trip, said Maria Costa: “nobody should miss the view from there”.
"""
NEED_NOT = "facts of your draft need not stay"


def task(*keep: Any, draft: str | None = DRAFT, **parts: Any) -> Task:
    limits = {"max_words": parts.pop("max_words", None)}
    brief = parts.pop("brief", "Improve it.")
    return Task(brief=brief, draft=draft, contract=Contract(keep=keep, **limits), **parts)


def broken(task: Task, text: str, *said: str) -> list[str]:
    found = [each for each, _ in task.breaches(text, said=said)]
    assert {each.rule for each in found} <= {"keep"}
    return [each.message for each in found]


def test_what_is_lost_or_changed_is_named_with_its_place() -> None:
    text = DRAFT.replace("250", "300").replace("https://example.org/trip", "once")
    made = task("draft")
    lost = "“https://example.org/trip” is missing"
    assert broken(made, text) == ["“250 EUR” became “300 EUR”", lost]
    (_, changed), (_, missing) = made.breaches(text)
    assert "in “The trip to Lisbon costs 300 EUR.”" in changed
    assert "it was given in “Book at https://example.org/trip," in missing


@given(st.text(max_size=80), st.sampled_from(["", "Hurry up.", "It rains in Porto at 9 o'clock."]))
def test_a_draft_keeps_itself_whatever_is_added(noise: str, more: str) -> None:
    draft = f"{DRAFT}\n{noise}"
    assert broken(task("draft", draft=draft), draft) == []
    assert broken(task("draft"), f"{DRAFT}\n{more}") == []


def test_what_facts_brief_or_a_person_say_may_take_its_place() -> None:
    other, now = DRAFT.replace("250", "300"), "The trip costs 300 EUR now."
    assert broken(task("draft", facts=now), other) == []
    assert broken(task("draft", brief=f"Improve it: {now}"), other) == []
    assert broken(task("draft"), other, now) == []


def test_what_is_to_go_may_go_but_nothing_invented_takes_its_place() -> None:
    without, other = DRAFT.replace("costs 250 EUR", "is paid"), DRAFT.replace("250", "300")
    for made, said in (
        (task("draft"), ["Do not say 250 EUR."]),
        (task("draft", brief="Improve it. Leave out the 250 EUR."), []),
    ):
        assert broken(made, without, *said) == []
        assert broken(made, other, *said) == ["“250 EUR” became “300 EUR”"]
    kept = task("draft", brief="Improve it. Don't remove the 250 EUR.")
    assert broken(kept, without) == ["“250 EUR” is missing"]


def test_a_weekday_may_go_from_its_date_and_a_translation_need_not_keep_words_of_a_quotation() -> (
    None
):
    made = task("draft", draft="Wir öffnen am Samstag, dem 14. März 2026, um 10 Uhr.")
    text = "Wir öffnen am {}14. März 2026, um 10 Uhr."
    assert broken(made, text.format("")) == []
    assert broken(made, text.format("Sonntag, dem ")) == ["“Samstag” became “Sonntag”"]
    text = DRAFT.replace("nobody should miss the view from there", "niemand sollte das verpassen")
    made = task("draft")
    assert broken(made, text) != []
    german = replace(made, contract=replace(made.contract, language="de"))
    assert not [each for each, _ in german.breaches(text) if each.rule == "keep"]


def test_a_correction_counts_in_other_words_and_for_nothing_else() -> None:
    made = task("draft", facts="The trip costs 300 EUR. Insurance is 40 EUR.")
    text = DRAFT.replace("The trip to Lisbon costs 250 EUR.", "{} It goes to Lisbon.")
    correct = "For 300 EUR in all, you may join our trip: nothing else costs."
    assert broken(made, text.format(correct)) == []
    assert broken(made, text.format("Insurance is 40 EUR.")) == ["“250 EUR” is missing"]


def test_figures_that_changed_places_are_lost_unless_facts_say_so() -> None:
    draft, text = (f"Adults pay {x} EUR.\nChildren pay {y} EUR." for x, y in ((12, 5), (5, 12)))
    lost = ["“12 EUR” became “5 EUR”", "“5 EUR” became “12 EUR”"]
    assert broken(task("draft", draft=draft), text) == lost
    facts = "Children pay 12 EUR, adults 5 EUR."
    assert broken(task("draft", draft=draft, facts=facts), text) == []


@pytest.mark.parametrize(
    ("facts", "limits", "noted"),
    [
        ("The trip costs 300 EUR.", {}, "your draft says “250 EUR”, facts “300 EUR”: correct one"),
        ("Hotels cost 300 EUR. The trip costs 250 EUR.", {}, ""),
        ("", {"max_words": 9}, f"{NEED_NOT}: 9 words are under half of your draft"),
        ("", {"max_words": 20}, ""),
    ],
)
def test_its_person_is_told_what_does_not_go_together(
    facts: str, limits: dict[str, Any], noted: str
) -> None:
    assert "".join(task("draft", facts=facts, **limits).given.notes()) == noted
    assert not task("draft", draft=None, facts=facts, **limits).given.notes()


def test_of_many_facts_that_differ_three_are_named() -> None:
    towns = ["Aachen", "Bremen", "Cologne", "Dresden", "Essen", "Freiburg"]
    draft, facts = (
        "".join(f"The room in {x} costs {n} EUR.\n" for n, x in enumerate(towns, more))
        for more in (20, 40)
    )
    notes = task("draft", draft=draft, facts=facts).given.notes()
    assert all(re.match("your draft says “2. EUR”, facts “4. EUR”: ", each) for each in notes[:3])
    assert notes[3:] == ["3 more like these"]


def test_only_what_is_asked_for_must_stay() -> None:
    text = DRAFT.replace("250", "300").replace("March", "May")
    assert broken(task("links", "quotes"), text) == []
    assert broken(task(), text) == []
    assert not task().limited
    assert not task("draft", draft=None).limited
    # It cannot all stay where most of it must go.
    assert broken(task("draft", max_words=9), "None of it stays.") == []
    assert len(broken(task("all", max_words=9), "None of it stays.")) > 4


def test_what_is_set_holds_for_facts_and_brief_but_not_for_their_own_limits() -> None:
    brief = "Invite Ana Silva in at most 80 words and 3 bullet points."
    made = task("all", draft=None, brief=brief, facts="The fee is 250 EUR.")
    assert broken(made, "Dear all") == ["“250 EUR” is missing", "“Ana Silva” is missing"]
    assert broken(made, "Dear Ana Silva, it is 250 EUR.") == []


def test_where_it_is_strict_nothing_is_added() -> None:
    text = f"{DRAFT}\nIt takes 16 weeks."
    assert broken(task("draft"), text) == []
    (added,) = broken(task("draft", "strict"), text)
    assert added.startswith("“16 weeks” ")
    assert broken(task("names", "strict"), text) == []
    assert broken(task("strict", facts="All of it takes 16 weeks."), text) == []


def test_its_person_is_told_in_short_and_authors_in_full() -> None:
    made = task("draft")
    (short,), (rule,) = made.rules(short=True), made.rules()
    assert short == "Keeps 6 figures, dates, quotations, links and names of your draft."
    assert rule.startswith("Keeps “Lisbon”, “250 EUR”, “3 March 2027”, “https://example.org/tri")
    many = task("draft", draft="".join(f"It costs {number} EUR.\n" for number in range(100, 140)))
    assert many.rules()[0].count("EUR”") == 30
    assert "and 10 more" in many.rules()[0]
    assert broken(many, "Nothing.")[-1] == "10 more facts are missing or changed"


def test_what_nobody_gave_is_found_with_its_sentence() -> None:
    made = task(draft=None, brief="Write about Lisbon.", facts="It costs 250 EUR.")
    text = "Lisbon costs 250 EUR. Nobody knows that it takes 16 weeks. We meet Ana."
    found = find_new(made.given, text, ("Let her be Ana.",))
    (new,) = found
    assert (new.text, new.sentence) == ("16 weeks", "Nobody knows that it takes 16 weeks.")
