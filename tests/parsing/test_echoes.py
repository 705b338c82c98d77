"""A text that repeats the request it answers is not the text that was asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.stage import play

from autoreason.contract import Contract
from autoreason.events import CandidateDropped, DraftReady
from autoreason.parsing.echoes import find_echo
from autoreason.prompts import PromptSet, built_in

PROMPTS = built_in().with_small()
REAL = [
    'These words are about the notice and no part of it, so its readers must not see them: "25"',
    "Passport, charger <notes>Checked by a program that throws out any text that breaks one: x</notes>",
    "The text breaks 2 of the limits that a program checks:\n\n- 176 words",
    "# Your part: revise it\n\n## Decided\n\nThe club has bought four clocks.",
]


@pytest.mark.parametrize("text", REAL)
def test_the_words_of_a_request_are_found_in_a_text(text: str) -> None:
    assert find_echo(text, PROMPTS)


def test_what_the_task_says_itself_is_no_echo() -> None:
    assert find_echo(REAL[2], PROMPTS, REAL[2]) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The library will be closed on Tuesday for cleaning and opens again on Wednesday at nine.",
        "Answer with care. Prefer the concrete. The text is short. Rank them. Write it well.",
        "# Steps\n\n1. Fill the kettle.\n\n# You need\n\n- Vinegar",
    ],
)
def test_a_text_of_its_own_is_none(text: str) -> None:
    assert find_echo(text, PROMPTS) == ""


@given(st.text(), st.text(max_size=40))
def test_it_is_found_wherever_it_stands_and_is_a_part_of_the_text(before: str, after: str) -> None:
    prompts = PromptSet(
        {"a": "{{ x }} Write one two three four five six seven eight words {{ y }}"}
    )
    text = f"{before} Write one, two three\nfour FIVE six seven {after}"
    found = find_echo(text, prompts)
    assert found
    assert found in text


@given(st.text(), st.text())
def test_what_a_task_may_say_does_not_depend_on_what_was_searched_before(
    before: str, after: str
) -> None:
    prompts = PromptSet({"a": "Write one two three four five six seven words"})
    text = f"{before}\nWrite one two three four five six seven\n{after}"
    assert [bool(find_echo(text, prompts, *allowed)) for allowed in ((), (text,), ())] == [
        True,
        False,
        True,
    ]


async def test_a_revision_that_repeats_the_request_is_not_judged_nor_a_repair_taken() -> None:
    played = await play({"reviser": REAL[1]}, passes=1, max_drafts=1)
    dropped = [each for each in played.of(CandidateDropped) if each.slot == "B"]
    assert [each.reason for each in dropped] == ["contract"]
    assert "repeats the request and does not belong in the text" in dropped[0].detail
    short = {"draft/try/0": "Too short.", "draft/repair": REAL[1]}
    played = await play(short, contract=Contract(min_words=5), passes=1, max_drafts=1)
    (ready,) = played.of(DraftReady)
    assert ready.text == "Too short."


async def test_another_draft_is_written_in_place_of_one_that_gives_itself_away() -> None:
    asked = "I understand that the text needs work. Please provide the original text."
    script = {"draft/try/0": asked, "draft/rewrite": asked, "drafts/2/try/0": "A text of its own."}
    played = await play(script, passes=1, max_drafts=3)
    (ready,) = played.of(DraftReady)
    assert (ready.text, ready.number, ready.of) == ("A text of its own.", 2, 2)
