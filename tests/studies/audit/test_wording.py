"""Whether a text shows by its wording alone that its end is missing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.studies.audit.check_writing import cut_off

WHOLE = (
    "# Plan\n\nWe open the library in May, when the roof is done and the books are in.\n\n"
    "It will cost two million, which the council has set aside for it already.\n\n"
    "The old building is sold in June, and the money goes to the new shelves."
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        WHOLE,
        "Dear all,\n\nthe machine is new.\n\nBest wishes\nAnna",
        "# Costs\n\n| what | how much |\n|---|---|\n| roof | 2 |",
        "Use it:\n\n```python\nprint(1)\n```",
        "Three things\n\n- new shelves\n- more light\n- a warm floor",
        "See https://example.org/library",
        "It is done.\n\n---",
        "**Word count: 987 words**",
        "He said: “It is done.”",
    ],
)
def test_a_whole_text_is_left_alone(text: str) -> None:
    assert cut_off(text) == ""


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("\n\nThe last thing to say is that we need more money for the", "ends with"),
        (
            "\n\nThe shelves are made of oak, which is dear but lasts a very long time in",
            "ends with",
        ),
        (
            "\n\nThe shelves are made of oak, which is dear but lasts a very long time",
            "no full stop",
        ),
        ("\n\nThe shelves are made of oak, and we took the m", "beginning of “machines”"),
        ("\n\nmachines\n\n```python\nprint(1)", "code block"),
        ("\n\n| what | how much |\n|---|---|\n| roof | tw", "row of a table"),
        ("\n\n## Risks", "heading"),
        ("\n\n- one thing.\n-", "empty item"),
        ("\n\nThis is **very imp", "emphasis"),
        ("\n\nThis is good (as we saw", "bracket"),
    ],
)
def test_a_missing_end_is_seen_and_said(end: str, why: str) -> None:
    body = WHOLE.replace("The old building", "The machines stay. The old building")
    assert why in cut_off(body + end)


def test_a_list_whose_items_end_in_full_stops_shows_one_that_does_not() -> None:
    items = [f"- The shelf number {n} is for books on the sea and its boats." for n in range(4)]
    assert "no full stop" in cut_off("\n".join([*items, "- The next shelf is for books on"[:-3]]))
    assert cut_off("\n".join(items)) == ""


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert isinstance(cut_off(text), str)


def recorded_texts(records: Path) -> list[str]:
    texts: list[str] = []
    for path in sorted((records / "recorded" / "transcripts").glob("*.jsonl")):
        lines = path.read_text("utf-8").splitlines()
        passes: list[dict[str, Any]] = [json.loads(line) for line in lines]
        texts += [p[part] for p in passes[1:] for part in ("version_a", "version_b", "version_ab")]
    return texts


def test_no_recorded_text_that_is_whole_is_called_cut_off(records: Path) -> None:
    texts = recorded_texts(records)
    assert texts
    assert [text[-60:] for text in texts if cut_off(text)] == []


def test_most_cuts_of_long_texts_are_seen(shared: Path) -> None:
    texts = recorded_texts(shared)
    rng = random.Random(1)
    cuts = [text[: rng.randrange(len(text) // 2, len(text) - 1)] for text in texts * 3]
    assert sum(bool(cut_off(cut)) for cut in cuts) / len(cuts) > 0.7
