"""A problem may name records; what it says of them is looked up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.events import CritiqueProblem
from autoreason.knowledge_records import ShownRecord
from autoreason.parsing.critiques import split_cited

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


@pytest.mark.parametrize(
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
def test_a_record_that_was_not_shown_or_another_figure_is_dropped_and_counted(
    problem: str,
) -> None:
    assert not is_kept(problem)


@given(st.text(), st.integers(0, 10**6))
def test_any_prose_can_be_read(words: str, number: int) -> None:
    is_kept(words)
    assert is_kept(f"[{BAD} {number} %]") == (number in (1800,))
