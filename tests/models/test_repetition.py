"""A reply that says the same over and over is noticed, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.exchange import REPEATS, Outcome, Reply
from autoreason.models.dialects import LoopDetector, check_repetition, repeats_itself

SENTENCE = "It is not a task to do. "


def fires_at(text: str, size: int) -> int | None:
    """How many characters were read when the detector fired, in pieces of one size."""
    detector = LoopDetector()
    for end in range(size, len(text) + size, size):
        if detector.feed(text[end - size : end]):
            return min(end, len(text))
    return None


@given(
    start=st.text(max_size=300), block=st.text(min_size=1, max_size=1600), size=st.integers(1, 700)
)
def test_a_loop_is_noticed_soon_however_it_is_cut(start: str, block: str, size: int) -> None:
    enough = 4000 if len(block) <= 800 else 8000
    text = start + block * (1 + 10_000 // len(block))
    seen = fires_at(text, size)
    assert seen is not None
    assert seen <= len(start) + enough + 500 + size


@given(st.text(alphabet="ab", min_size=1, max_size=12), st.integers(0, 12))
def test_the_rule_is_that_the_end_is_one_block_five_times_over(block: str, at: int) -> None:
    end = (block * 4000)[:4000]
    assert repeats_itself(end)
    broken = end[: 1990 + at] + "c" + end[1991 + at :]
    assert not repeats_itself(broken)


NUMBERS = [f"If the original number is {n}, the decimal part should be 0." for n in range(400)]
LEGITIMATE = {
    "a table of similar rows": "\n".join(f"| {n} | yes | no | yes | {n * n} |" for n in range(900)),
    "a table of few values": "\n".join(
        f"| {n} | {'x' if n % 7 else 'o'} | - | - |" for n in range(900)
    ),
    "similar lines of code": "\n".join(f"    grid[{n}][0] = grid[{n}][1] = 0" for n in range(500)),
    "a song with a refrain": "\n".join(f"Verse {n}\n" + "Row, row, row.\n" * 20 for n in range(60)),
    "numbers one after the other": ", ".join(map(str, range(4000))),
    "a list of zeros": json.dumps([0] * 1200),
    "a line to be written a hundred times": "I will not talk in class again.\n" * 100,
    "an empty form": "Name: ______  Date: ______\n" * 120,
    "records that differ in one field": json.dumps(
        [{"id": n, "name": "", "tags": [], "size": 0} for n in range(300)]
    ),
    "ASCII art": "\n".join(
        " " * abs(n % 40 - 20) + "*" * (n % 40) + "#" * (n // 9) for n in range(300)
    ),
    "a rule across the page": "-" * 3000,
    "a text given three times": "".join(NUMBERS[:60]) * 3,
    "counting sentences": " ".join(NUMBERS),
}


@cases("text", LEGITIMATE.values())
@cases("size", [1, 7, 4000])
def test_repetition_that_someone_may_want_is_left_alone(text: str, size: int) -> None:
    assert fires_at(text, size) is None


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.TRUNCATED])
def test_a_reply_that_came_whole_is_marked(outcome: Outcome) -> None:
    reply = Reply(outcome=outcome, text=SENTENCE * 300, model="a/b", finish="length")
    assert (check_repetition(reply).outcome, check_repetition(reply).finish) == (
        Outcome.TRUNCATED,
        REPEATS,
    )
    assert not check_repetition(reply).needs_room


def test_recorded_replies_fire_only_where_they_ran_away(records: Path) -> None:
    fired = {"ok": 0, "truncated": 0}
    truncated = 0
    for line in (records / "recorded/small_critic.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        truncated += row["outcome"] == "truncated"
        fired[row["outcome"]] += fires_at(row["reply"], 4) is not None
    for name, field in (
        ("small_judge", "text"),
        ("judge_texts", "text"),
        ("real_programs", "program"),
    ):
        for line in (records / f"recorded/{name}.jsonl").read_text("utf-8").splitlines():
            fired["ok"] += fires_at(json.loads(line).get(field) or "", 400) is not None
    assert fired["ok"] == 0
    # The others ramble without repeating themselves; the record keeps 6,000 characters of each.
    assert fired["truncated"] >= 0.4 * truncated
