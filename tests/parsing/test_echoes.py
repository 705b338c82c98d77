"""A text that repeats the request it answers is not the text that was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tournament.stage import Answer, play

from autoreason.contract import Contract
from autoreason.events import CandidateDropped, DraftReady
from autoreason.parsing.documents import find_echo, find_sentences
from autoreason.prompts import PromptSet, built_in
from autoreason.task import read_task

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


WELCOME = Contract(
    min_words=8,
    max_words=300,
    sections=("Rooms",),
    must_include=("Tern Lighthouse", "/(?i)breakfast/"),
    must_not_include=("please", r"/\d+ stars/"),
)
COMPLAINT = "A match of /(?i)breakfast/ is missing, but you can add Tern Lighthouse to your answer."


@pytest.mark.parametrize("text", ["Too short.", "please, 5 stars " * 200])
def test_every_sentence_about_a_broken_limit_is_known_in_a_text_that_repeats_it(text: str) -> None:
    sentences = WELCOME.sentences()
    for said in (*WELCOME.fixes(text), *WELCOME.rules()):
        for line in (f"- {said}", f"- (critical) {said.upper()}", f"Welcome. {said}"):
            assert find_sentences(line, sentences), line
        assert not find_sentences(f"- {said}", sentences, f"Write about “{said}”"), said


@pytest.mark.parametrize(
    "text",
    [
        COMPLAINT,
        "/(?i)breakfast/ is missing.",
        'Change this text: - "tern lighthouse" is missing',
        "#### Critical: “Tern Lighthouse” is missing",
        "Come in! At least 8 words. At most 300 words.",
        "- **Contains “Tern Lighthouse.”**",
        "“A match of /(?i)breakfast/ is missing” repeats the request",
    ],
)
def test_it_is_known_in_other_marks_and_next_to_other_words(text: str) -> None:
    assert find_sentences(text, WELCOME.sentences())


@pytest.mark.parametrize(
    "text",
    [
        "Welcome to Tern Lighthouse! Breakfast is at eight.",
        "The word “Tern Lighthouse” is missing from the old sign.",
        "“Tern Lighthouse” is missing from some maps.",
        "The sign (left) contains “Tern Lighthouse”, and **the other** contains “Tern Lighthouse” too.",
        "`/(?i)breakfast/` finds the word however it is written: “Breakfast” contains a match of /(?i)breakfast/.",
        "Where a match of /(?i)breakfast/ is missing, grep prints nothing.",
        "Send us at most 300 words. At least 8 words of yours will be read aloud.",
    ],
)
def test_prose_that_has_its_words_is_not_taken_for_it(text: str) -> None:
    assert not find_sentences(text, WELCOME.sentences())


def test_no_recorded_text_of_a_strong_model_is_taken_for_it(shared: Path) -> None:
    briefs = (shared / "bench" / "real_model" / "briefs").glob("*.md")
    said = tuple(each for path in briefs for each in read_task(str(path)).contract.sentences())
    texts = [
        text
        for path in (shared / "recorded" / "transcripts").glob("*.jsonl")
        for line in path.read_text("utf-8").splitlines()
        for text in json.loads(line).values()
        if isinstance(text, str)
    ]
    assert len(texts) > 200
    assert not [text for text in texts if find_sentences(text, said)]


async def test_a_text_that_repeats_what_is_said_of_a_broken_limit_does_not_keep_it_by_that() -> (
    None
):
    contract = Contract(must_include=("Tern Lighthouse", "/(?i)breakfast/"))
    script: dict[str, Answer] = {
        "draft/try/0": "Welcome to Tern Lighthouse!",
        "draft/repair": COMPLAINT,
    }
    script |= {"drafts/2/try/0": COMPLAINT, "drafts/2/repair": COMPLAINT, "reviser": COMPLAINT}
    given: dict[str, Any] = {"contract": contract, "passes": 1, "max_drafts": 2, "rivals": False}
    played = await play(script, **given)
    (ready,) = played.of(DraftReady)
    assert (ready.text, len(ready.violations)) == ("Welcome to Tern Lighthouse!", 1)
    sent_back = next(each for each in played.requests if each.key == "drafts/2/repair")
    assert "is missing” repeats the request and does not belong" in sent_back.messages[-1].text
    (dropped,) = (each for each in played.of(CandidateDropped) if each.slot == "B")
    assert [each.rule for each in dropped.violations] == ["must_include", "echo"]
    explained = await play(script, brief=f"Explain “{COMPLAINT}”", **given)
    assert explained.of(DraftReady)[0].text == COMPLAINT


async def test_a_text_that_repeats_it_to_the_end_is_not_said_to_keep_its_contract() -> None:
    text = f"{COMPLAINT} Breakfast at 8."
    script: dict[str, Answer] = dict.fromkeys(("author", "reviser", "synthesizer"), text)
    given: dict[str, Any] = {
        "contract": Contract(must_include=("/(?i)breakfast/",)),
        "passes": 1,
        "max_drafts": 1,
    }
    delivered = (await play(script, **given)).delivered
    assert delivered
    assert [each.rule for each in delivered.violations] == ["echo"]
