"""A critic's claim stands only if its quote does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.tournament.critique import describe, is_quoted, read_critique

TEXT = "# Plan\n\nWe open in **May**, and the price is “ten euros” — no more."


def problem(
    quote: str = "", kind: str = "quote", severity: str = "major", what: str = "vague"
) -> dict[str, str]:
    return {"severity": severity, "kind": kind, "quote": quote, "problem": what}


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
    assert is_quoted(quote, TEXT)


@pytest.mark.parametrize(
    "quote", ["We open in June", "", "...", "ten euros … We open", "we open in may"]
)
def test_words_that_are_not_there_are_no_quote(quote: str) -> None:
    assert not is_quoted(quote, TEXT)


@given(st.data())
def test_any_passage_of_a_text_is_found_in_it(data: st.DataObject) -> None:
    words = TEXT.split()
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    passage = " ".join(words[start:end])
    assert is_quoted(passage, TEXT) == any(sign.isalnum() for sign in passage)


@pytest.mark.parametrize(
    "frame", ["{}", "```json\n{}\n```", "I looked [twice].\n\n{}\n\nThat is all."]
)
def test_a_critique_is_read_bare_fenced_or_amid_prose(frame: str) -> None:
    said = json.dumps(
        {
            "problems": [
                problem("We open in May"),
                problem("Nobody wrote this"),
                problem(kind="missing"),
            ]
        }
    )
    read = read_critique(frame.replace("{}", said), TEXT)
    assert read is not None
    assert [p.kind for p in read.problems] == ["quote", "missing"]
    assert read.dropped == 1


def test_an_empty_list_is_a_full_answer() -> None:
    assert read_critique('{"problems": []}', TEXT) == ((), 0)


@pytest.mark.parametrize(
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


def test_the_reviser_reads_the_worst_first() -> None:
    read = read_critique(
        json.dumps(
            {
                "problems": [
                    problem("May", severity="minor"),
                    problem(kind="missing", severity="critical", what="no date"),
                ]
            }
        ),
        TEXT,
    )
    assert read is not None
    assert describe(read.problems) == "- (critical) Missing: no date\n- (minor) “May”: vague"
