"""How programs did is said in sentences that a reader can use."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autoreason.events import PassDecided
from autoreason.programs import events
from autoreason.programs.assignment import CodeVerdict, Examined


def test_a_pass_over_programs_is_said_in_words_for_programs() -> None:
    equal = PassDecided(
        number=1,
        outcome="unopposed",
        winner="A",
        words=4,
        streak=1,
        reason="A and B pass equally many public tests, and too few calls are left for judges",
    )
    assert events.describe_pass(equal, 2) == (
        "A goes on (A and B pass equally many public tests, and too few calls are left for judges); "
        "survival 1 of 2 in a row"
    )
    taken = replace(equal, outcome="unjudged", winner="B", streak=0, reason="")
    assert events.describe_pass(taken, 2) == "accepted without a vote"


@pytest.mark.parametrize(
    ("verdict", "passed", "run", "sentence"),
    [
        ("accepted", 25, 25, "accepted, 25 of 25 private tests"),
        ("wrong_answer", 10, 11, "wrong answer at private test 11 of 25"),
        ("wrong_answer", 10, 25, "wrong answer, 10 of 25 private tests passed"),
        ("no_code", 0, 0, "no program"),
    ],
)
def test_a_failure_that_ended_the_tests_says_where(
    verdict: str, passed: int, run: int, sentence: str
) -> None:
    found = Examined(
        which="private", verdict=CodeVerdict(verdict), passed=passed, run=run, total=25
    )
    assert events.describe_examined(found) == sentence
