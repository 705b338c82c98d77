"""A critic's claim stands only if its quotes and citations do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.growth import assert_linear

from autoreason.events import CritiqueProblem
from autoreason.knowledge_records import ShownRecord
from autoreason.parsing.critiques import (
    Critique,
    Prose,
    QuotedProgram,
    describe,
    read_critique,
    split_cited,
)

TEXT = "# Plan\n\nWe open in **May**, and the price is “ten euros” — no more."


def problem(
    quote: str = "", kind: str = "quote", severity: str = "major", what: str = "vague"
) -> dict[str, str]:
    return {"severity": severity, "kind": kind, "quote": quote, "problem": what}


def read(reply: str | list[dict[str, str]], text: str = TEXT, **given: Any) -> Critique:
    found = read_critique(
        reply if isinstance(reply, str) else json.dumps({"problems": reply}), text, **given
    )
    assert found
    return found


@pytest.mark.parametrize(
    "quote",
    [
        "We open in May",
        "we".title() + " open  in\nMay",
        'the price is "ten euros" - no more',
        "“We open in May.”",
        "We open … ten euros",
    ],
)
def test_a_quote_may_differ_in_white_space_and_typography(quote: str) -> None:
    assert Prose(TEXT).quotes(quote)


@pytest.mark.parametrize(
    "quote", ["We open in June", "", "...", "ten euros … We open", "we open in may"]
)
def test_words_that_are_not_there_are_no_quote(quote: str) -> None:
    assert not Prose(TEXT).quotes(quote)


@given(st.data())
def test_any_passage_of_a_text_is_found_in_it(data: st.DataObject) -> None:
    words = TEXT.split()
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    passage = " ".join(words[start:end])
    assert Prose(TEXT).quotes(passage) == any(sign.isalnum() for sign in passage)


@pytest.mark.parametrize(
    "frame", ["{}", "```json\n{}\n```", "I looked [twice].\n\n{}\n\nThat is all."]
)
def test_a_critique_is_read_bare_fenced_or_amid_prose(frame: str) -> None:
    listed = [problem("We open in May"), problem("Nobody wrote this"), problem(kind="missing")]
    found = read(frame.replace("{}", json.dumps({"problems": listed})))
    assert [p.kind for p in found.problems] == ["quote", "missing"]
    assert found.dropped == 1


@pytest.mark.parametrize(
    ("reply", "criterion"),
    [
        ([problem("We open in May") | {"criterion": "Accurate"}], "accurate"),
        ([problem("We open in May") | {"criterion": "sounds like us: short"}], "sounds like us"),
        ([problem("We open in May") | {"criterion": "lovely"}], ""),
        ([problem("We open in May")], ""),
        (
            '{"problems": [{"quote": "We open in May", "problem": "Vague", "criterion": "accurate"',
            "accurate",
        ),
        ("- “We open in May” is not accurate.", ""),
    ],
)
def test_a_problem_belongs_to_a_criterion_that_is_known_or_to_none(
    reply: str | list[dict[str, str]], criterion: str
) -> None:
    found = read(reply, criteria=("accurate", "sounds like us"))
    assert found.problems[0].criterion == criterion


def test_an_empty_list_is_a_full_answer_and_prose_of_which_nothing_stands_is_none() -> None:
    assert read_critique('{"problems": []}', TEXT) == ((), 0)
    assert read_critique("I see one problem: the tone is too cold.", TEXT) is None
    assert read_critique("There are no problems with this text. It is not too long.", TEXT) is None
    text = "We use Python:\n\nimport this\n\nand open in May."
    message = json.dumps({"problems": [problem("the opening in May is too early")]})
    assert read_critique(message, text, program=False) == ((), 1)


@cases(
    "reply",
    [
        "It is fine.",
        "",
        "{problems}",
        '{"problems": "none"}',
        '{"problems": [{"severity": "awful"}]}',
        "[{" * 5000,
    ],
)
def test_what_cannot_be_read_is_no_critique(reply: str) -> None:
    assert read_critique(reply, TEXT) is None


@pytest.mark.parametrize(
    "quote", ["line 3: We open in May", "Line 3 - We open in May", "lines 1-3: We open in May"]
)
def test_the_number_of_a_line_is_no_part_of_a_quote(quote: str) -> None:
    assert Prose(TEXT).quotes(quote)


def test_a_list_in_words_is_a_list_of_problems() -> None:
    reply = (
        "Here are the problems:\n\n"
        '1. **Minor**: "ten euros" is not what was agreed.\n'
        "2. It does not say who opens.\n"
        "3. The sentence “We close in June” is wrong.\n"
        "4. The heading is fine."
    )
    found = read(reply)
    assert [(p.severity, p.kind, p.quote) for p in found.problems] == [
        ("minor", "quote", "ten euros"),
        ("major", "missing", ""),
    ]
    assert found.dropped == 1


def test_the_placeholders_of_the_form_are_no_problem() -> None:
    form = problem("words from the text", what="what is wrong with them")
    found = read([form, *[problem("May")] * 30])
    assert [p.quote for p in found.problems] == ["May"], "what is stated twice is one"
    assert found.dropped == 0


# ---- programs ----------------------------------------------------------------------------------

PROGRAM = """\
def closest_vowel(word):
    for i in range(len(word) - 2, 0, -1):
        if word[i] in "aeiou":
            return word[i]
    return ""
"""
OTHER = """\
def merge_intervals(spans):
    spans.sort(key=lambda span: span[0])
    return spans
"""


@cases(
    "reply",
    [
        json.dumps({"problems": [problem("if word[i] in  'aeiou' :")]}),
        json.dumps({"problems": [problem('line 3: if word[i] in "aeiou"')]}),
        json.dumps(
            {"problems": [problem("words from the text", what="It misses the closest vowel.")]}
        ),
        json.dumps(
            {"problems": [problem(kind="missing", what="The first vowel is never looked at.")]}
        ),
        '{"problems": [{"severity": "major", "kind": "quote", "quote": "return word[i]", "problem": "wrong"}}]',
        '{"problems": [{"severity": "major", "kind": "quote", "quote": "the vowel is not the closest"}]}',
        "1. **Major**: `word[i]` should be `word[i + 1]` here.\n2. **Minor**: `closest_vowel` is slow.",
        "The function closest_vowel does not look at consonants.",
    ],
)
def test_a_critique_of_a_program_stands_if_it_is_about_this_one(reply: str) -> None:
    assert read(reply, PROGRAM).problems
    another = read_critique(reply, OTHER)
    assert another is None or not another.problems


def test_code_that_is_not_there_is_no_quote_and_a_sentence_is_about_the_whole_program() -> None:
    listed = [problem("word[i + 1] == word[0]"), problem("if word[i] in 'aeiou'")]
    found = read(listed, PROGRAM)
    assert [p.quote for p in found.problems] == ["if word[i] in 'aeiou'"]
    assert found.dropped == 1
    sentence = "The function takes the last vowel and not the closest."
    (kept,) = read([problem(sentence, what="A case is missed.")], PROGRAM).problems
    assert (kept.kind, kept.quote) == ("general", "")
    assert describe((kept,)) == "- (major) A case is missed."


@given(st.text("a1.é_"))
def test_code_is_found_whatever_stands_before_its_name(before: str) -> None:
    assert QuotedProgram("xy == zw").is_about(f"{before}.xy == zw")


@cases(
    ("reply", "text"),
    [
        *((sign, "") for sign in ("`", '"quote": "', "1. ", "not ", "[", "(", "a(", "```\n", "'")),
        *((sign, "") for sign in ("a", "a1", "a.", "a =", "wrong “")),
        *(("", sign) for sign in ("\n", " \n", "x\n", "async\n")),
    ],
)
def test_the_work_grows_with_the_length_of_degenerate_words_and_no_faster(
    reply: str, text: str
) -> None:
    def work(times: int) -> None:
        for program in (True, False):
            read_critique(reply * times or "xy is wrong", text * times or PROGRAM, program=program)

    assert_linear(work, 2_000)


def test_of_lists_that_only_ever_begin_few_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    decode = json.JSONDecoder.raw_decode

    def count(self: json.JSONDecoder, reply: str, at: int) -> Any:
        tried.append(at)
        return decode(self, reply, at)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", count)
    assert read_critique('{"problems":' * 100_000, TEXT) is None
    assert len(tried) < 100


def test_the_work_grows_with_the_length_of_a_text_quoted_all_over_and_no_faster() -> None:
    def work(lines: int) -> None:
        text = "".join(f"We open {at} shops in May.\n" for at in range(lines))
        reply = "".join(f'- "open {at} shops" is wrong.\n' for at in range(lines))
        assert len(read(reply, text, program=False).problems) == lines

    assert_linear(work, 300)


def recorded_of_programs(records: Path) -> list[dict[str, str]]:
    lines = (records / "recorded" / "small_critic.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["source"] != "texts"]
    return [row for row in rows if row["outcome"] == "ok" and '"problems": []' not in row["reply"]]


def holds(reply: str, program: str) -> bool:
    found = read_critique(reply, program)
    return bool(found and found.problems)


def test_few_recorded_critiques_of_programs_end_with_nothing(records: Path) -> None:
    rows = recorded_of_programs(records)
    nothing = sum(not holds(row["reply"], row["under_review"]) for row in rows)
    assert nothing / len(rows) < 0.15


def test_critiques_of_another_program_hardly_ever_stand(records: Path) -> None:
    rows = recorded_of_programs(records)
    by_name: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        name = re.search(r"def (\w+)", row["under_review"])
        by_name.setdefault(name[1] if name else "", []).append(row)
    problems = list(by_name.values())
    shown = [
        (row["reply"], problems[(at + shift) % len(problems)][0]["under_review"])
        for shift in (7, 31, 101)
        for at, rows in enumerate(problems)
        for row in rows
    ]
    assert sum(not holds(reply, program) for reply, program in shown) / len(shown) >= 0.95


def test_the_reviser_reads_the_worst_first() -> None:
    worst = problem(kind="missing", severity="critical", what="no date")
    found = read([problem("May", severity="minor"), worst])
    assert describe(found.problems) == "- (critical) Missing: no date\n- (minor) “May”: vague"


GOOD, BAD, FACT = "r0123456789", "r00000000ff", "rabcdefabcd"
SHOWN = (
    ShownRecord(id=GOOD, text="Warm rooms", figure="38 % of 2,100; its group 24.5 %"),
    ShownRecord(id=BAD, text="Newsletter 12", figure="11.7 % of 1,800; its group 22.5 %"),
    ShownRecord(id=FACT, text="It has 112 steps."),
)


def is_kept(problem: str) -> bool:
    kept, miscited = split_cited(
        [CritiqueProblem(severity="major", kind="missing", problem=problem)], SHOWN
    )
    assert len(kept) + miscited == 1
    return bool(kept)


@cases(
    "problem",
    [
        "The opening is vague.",
        f"It reads like [{BAD} 11.7 %], not like [{GOOD} 38 %].",
        f"It reads like {BAD} (11.7 % of 1800), not like {GOOD}, which 38 % opened.",
        f"It reads like [{BAD} 11,7 %].",
        f"It contradicts [{FACT}]; the 90 steps it gives are wrong.",
        f"Cut it to 8 words, as [{GOOD} 38.0 %] does.",
        f"[{GOOD} 38 % of 2,100; its group 24.5 %] names a thing to do.",
    ],
)
def test_what_the_records_say_may_be_cited(problem: str) -> None:
    assert is_kept(problem)


@pytest.mark.parametrize(
    "problem",
    [
        "It reads like [r9999999999 12 %].",
        f"It reads like [{BAD} 38 %].",
        f"It reads like {BAD} at 12 %, not like [{GOOD} 38 %].",
        f"It reads like [{GOOD} 38 %] and [{BAD} 117 %].",
        f"[{FACT} 40 %] says otherwise.",
    ],
)
def test_a_record_that_was_not_shown_or_another_figure_is_dropped_and_counted(problem: str) -> None:
    assert not is_kept(problem)


@given(st.text(), st.integers(0, 10**6))
def test_any_prose_can_be_read(words: str, number: int) -> None:
    is_kept(words)
    assert is_kept(f"[{BAD} {number} %]") == (number in (1800,))
