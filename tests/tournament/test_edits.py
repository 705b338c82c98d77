"""An edit stays within its share of the words, in its order, and leaves to a person what would take more."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import assert_linear
from tests.tournament.stage import Answer, Played, document, play, vote

from autoreason.errors import InvalidInput
from autoreason.events import CandidateDropped, CandidateReady, CritiqueWritten
from autoreason.exchange import Request, Spent
from autoreason.report.changes import to_criticmarkup
from autoreason.run.refine import refine
from autoreason.settings import Models, make_settings
from autoreason.story import build_story
from autoreason.tournament.edits import count_changed, find_excess, find_reasons, undecided
from autoreason.tournament.endings import summarize
from autoreason.tournament.loop import max_plan

WORDS = st.lists(st.sampled_from(["the", "shed", "fell.", "We", "know;", "–", "why"]), max_size=30)
DRAFT = """\
# A shed

We ask for money. The shed fell over in the night, and nobody in the house or in the street knows why.

It was old. The neighbours saw it and they will not talk about it to us, or to anyone, in public."""


def settings(edit: Any, **changes: Any) -> Any:
    return make_settings(Models.everywhere("scripted/x"), 7, edit=edit, **changes)


def excess(text: str, edit: Any = "light", draft: str = DRAFT, **changes: Any) -> str:
    found = find_excess(settings(edit, **changes), draft, DRAFT, text)
    return found.detail if found else ""


def problems(*quotes: str, missing: tuple[str, ...] = ()) -> str:
    listed = [("quote", each, f"“{each}” is wrong.") for each in quotes]
    listed += [("missing", "", each) for each in missing]
    names = ("kind", "quote", "problem")
    return json.dumps({"problems": [dict(zip(names, e, strict=True)) for e in listed]})


async def edited(reviser: Answer, edit: Any = "light", **more: Any) -> Played:
    usual = {"critic": problems("for money"), "reviser": reviser, "judge": vote("900 EUR")}
    changes: dict[str, Any] = {"passes": 1, "candidates": "B", **more}
    script = {**usual, **changes.pop("script", {})}
    return await play(script, draft=DRAFT, edit=edit, **changes)


@given(WORDS, WORDS)
def test_as_many_words_changed_as_are_gone_or_new_whichever_is_more(
    old: list[str], new: list[str]
) -> None:
    words, changed = count_changed(" ".join(old), " ".join(new))
    assert words == max(1, len([each for each in old if each != "–"]))
    assert (changed == 0) == ([e for e in old if e != "–"] == [e for e in new if e != "–"])
    longest = max(words if old else 0, len(new))
    assert changed <= longest


@pytest.mark.parametrize(
    ("text", "edit", "says"),
    [
        (DRAFT, "proof", ""),
        (DRAFT.replace("money", "900 EUR"), "light", ""),
        (DRAFT.replace("in the house or in the street ", ""), "light", "changed 16 % of the words"),
        (DRAFT.replace(" in the house", "").replace("money", "900 EUR"), "light", ""),
        ("\n\n".join(DRAFT.split("\n\n")[::-1]), "light", "changed"),
        (DRAFT.replace("neighbours", "neighbors").replace("It was", "It were"), "proof", ""),
        (DRAFT.replace("old.", "old"), "proof", "a sentence is new, gone or another"),
        (DRAFT.replace("It was old.", "What now?"), "proof", "changed 7 % of the words"),
        (DRAFT.replace("It was", "Sheds grow"), "proof", "a sentence is new, gone or another"),
        (DRAFT.replace("# A", "A"), "proof", "a sentence is new, gone or another"),
    ],
)
def test_an_edit_that_goes_too_far_is_named(text: str, edit: Any, says: str) -> None:
    found = excess(text, edit)
    assert found.startswith(says) if says else not found
    assert excess(text, "free") == ""


def test_paragraphs_keep_their_order_though_they_may_go_split_join_and_change() -> None:
    head, one, two = DRAFT.split("\n\n")
    draft = "\n\n".join([head, one, "---", two, "Yes.", "---", "No."])
    loose = settings("light", edit_share=1)

    def is_moved(*paragraphs: str) -> bool:
        found = find_excess(loose, draft, draft, "\n\n".join(paragraphs))
        return found is not None and found.detail == "its paragraphs have changed places"

    assert not is_moved(head, two, "---", "No.")
    assert not is_moved(head, *one.split(". "), f"{two} Yes.", "---")
    assert not is_moved(head, "---", "A new one, which nobody has seen.", "---", "No.")
    assert is_moved(head, two, one)
    assert is_moved("No.", one, two)
    between = [f"Here is part {at} of it.\n\n---" for at in range(4)]
    many = [f"The part {at} is a part of {at}." for at in range(220)]
    for edit, old in (("light", between), ("proof", many)):
        parts = [each.replace("part", "parts", 1) for each in old if "part 1 of it" not in each]
        before, after = ("\n\n".join(each) for each in (old, parts))
        loose = settings(edit, edit_share=1)
        assert not find_excess(loose, before, before, after)


def test_words_are_counted_in_scripts_without_spaces_and_in_long_texts() -> None:
    assert count_changed("我们需要钱。棚子倒了。", "我们需要木头。棚子倒了。") == (9, 2)
    long = " ".join(f"the {at % 900} of the" for at in range(6000))
    text = long.replace(" 7 ", " seven ")
    assert count_changed(long, text) == (24_000, 7)
    proof = settings("proof")
    assert_linear(lambda n: find_excess(proof, long[:n], long[:n], text[:n]), 4_000)


def test_the_sum_of_all_rounds_is_against_the_draft_and_a_word_may_always_change() -> None:
    longer = DRAFT.replace("in public", "in public, in a pub or at home in their own beds at night")
    text = DRAFT.replace("money", "900 EUR")
    assert not excess(text, draft=longer)
    assert excess(text, draft=longer, edit_share=0.2).startswith(
        "changed 23 % of the draft's words"
    )
    assert not find_excess(settings("proof"), "Teh end.", "Teh end.", "The end.")


async def test_a_rewrite_that_changes_too_much_is_sent_back_once_and_else_left_out() -> None:
    def much(request: Request) -> str:
        repairs = "repair" in request.key and "repairs" in request.messages[1].text
        return document(DRAFT.replace("money", "900 EUR") if repairs else "900 EUR. Nothing else.")

    sent_back = await edited(much, brief="Of one who repairs.")
    (ready,) = sent_back.of(CandidateReady)
    assert ready.repaired
    repair = next(each for each in sent_back.asked("reviser") if "repair" in each.key)
    assert "of the words, at most 15 % allowed; take back" in repair.messages[-1].text
    left_out = await edited(much)
    (dropped,) = left_out.of(CandidateDropped)
    assert dropped.reason == "changed"
    assert re.fullmatch(r"changed \d+ % of the words, at most 15 % allowed", dropped.detail)
    assert left_out.delivered.text == DRAFT
    assert not left_out.decided[0].streak, "what went too far says nothing for the text so far"


async def test_an_author_who_always_changes_too_much_is_not_asked_for_ever() -> None:
    played = await edited(document("900 EUR. Nothing else."), passes=40, k=3)
    assert [each.outcome for each in played.decided] == ["unopposed"] * 3
    assert played.delivered.ended_by == "author"
    assert "no rewrite was small enough an edit in 3 rounds" in played.delivered.reason


async def test_a_merge_is_an_edit_too_and_no_draft_is_written_anew() -> None:
    script = {"synthesizer": document("Another text altogether.")}
    played = await edited(document("No edit."), candidates="B+AB", script=script)
    assert not played.asked("author")
    edits = document(DRAFT.replace("money", "900 EUR"))
    played = await edited(edits, candidates="B+AB", script=script)
    assert [(each.slot, each.reason) for each in played.of(CandidateDropped)] == [("AB", "changed")]
    assert (
        max_plan(settings("light", judges=3))["author"]
        < max_plan(settings("free", judges=3))["author"]
    )


async def test_what_would_take_more_goes_to_the_person_and_never_to_the_reviser() -> None:
    who, why = "Nobody says who pays.", "It gives no reason to pay at all."
    script = {
        "pass/1/critic/0/try/0": problems("for money", missing=(who,)),
        "critic": problems(missing=(why, "Nobody says here who pays.")),
    }
    text = DRAFT.replace("money", "900 EUR")
    played = await edited(document(text), passes=2, script=script)
    assert played.delivered.text == text
    for request in played.asked("reviser"):
        assert who not in request.messages[-1].text
    assert [len(each.withheld) for each in played.of(CritiqueWritten)] == [1, 2, 2]
    story = build_story(played.events)
    assert undecided(story) == [who, why]
    lines = summarize(story, run="amber-fox", spent=Spent(), seconds=1)
    assert lines[-2] == f"Would need your decision (1 of 2): {who}"


async def test_each_changed_sentence_has_the_reason_that_a_critic_gave_for_its_words() -> None:
    first, second = (
        DRAFT.replace("for money", "for 9 EUR"),
        DRAFT.replace("for money", "for 900 EUR"),
    )
    script = {
        "pass/1/critic/0/try/0": problems("ask for money", "It was old"),
        "pass/2/critic/0/try/0": problems("We ask … fell over", "for 9 EUR"),
        "pass/2/reviser/try/0": document(second),
    }
    played = await edited(
        document(first), passes=2, script=script | {"judge": vote("900", "9 EUR")}
    )
    reasons = find_reasons(build_story(played.events))
    # Who compares two texts has not seen one between them.
    why = "“ask for money” is wrong. “We ask … fell over” is wrong."
    assert reasons["we ask for money"] == why
    shown = to_criticmarkup(DRAFT, second, reasons)
    assert f"{{~~We ask for money.~>We ask for 900 EUR.~~}}{{>>{why}<<}} The shed fell" in shown
    assert shown.count("{>>") == 1, "what did not change needs no reason"


async def test_prompts_ask_for_an_edit_only_where_one_is_wanted() -> None:
    for edit, asked in (("light", "Subtract first"), ("proof", "spelling, grammar"), ("free", "")):
        played = await edited(document(DRAFT.replace("money", "900 EUR")), edit)
        (reviser,) = played.asked("reviser")
        assert asked in reviser.messages[-1].text
        for request in played.requests:
            assert ("sounds like its author" in request.messages[1].text) == (edit != "free")


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({}, "`edit` light needs a text of yours; give it as `draft`"),
        (
            {"draft": DRAFT, "blind_revision": True},
            "takes the usual `strategy`, `quoted_critique` and no `blind_revision`",
        ),
        ({"draft": DRAFT, "strategy": "harsh"}, "takes the usual `strategy`"),
        ({"draft": DRAFT, "protocol": "paper"}, "takes the usual `strategy`"),
    ],
)
def test_an_edit_needs_a_text_and_who_sees_it(options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(InvalidInput, match=refusal):
        refine.prepare("Write about a shed.", "echo/echo", edit="light", **options).estimate()
