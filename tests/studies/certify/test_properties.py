"""From counts to verdicts: the burden of proof, the bands and what is too little to say."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.studies.certificate import (
    BALLOTS,
    DEFECTS,
    FLOOR,
    INJECTION,
    LENGTH,
    MIN_PAIRS,
    POSITION,
    REPEAT,
    SWAP,
    Property,
    measure,
)

steady = settings(derandomize=True, max_examples=40)
BOTH = st.tuples(st.integers(0, 1), st.integers(0, 1))
ANSWERS = st.lists(BOTH, min_size=MIN_PAIRS, max_size=40)
FEW = st.lists(BOTH, max_size=MIN_PAIRS - 1)


def answers(ones: int, of: int = 24) -> list[list[int]]:
    """So many of 24 pairs that came out one way."""
    return [[1]] * ones + [[0]] * (of - ones)


@pytest.mark.parametrize(
    ("what", "passed", "not_shown", "failed"),
    [
        (DEFECTS, (24, 20), (19, 10), (9, 0)),
        (REPEAT, (24, 18), (17, 7), (6, 0)),
        (POSITION, (5, 12, 19), (), (0, 4, 20, 24)),
        (LENGTH, (0, 12, 17), (), (18, 24)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_judge_fails_only_where_a_fault_is_shown(
    what: Property, passed: tuple[int, ...], not_shown: tuple[int, ...], failed: tuple[int, ...]
) -> None:
    expected = {"passed": passed, "not shown": not_shown, "failed": failed}
    for verdict, counts in expected.items():
        assert {measure(what, answers(n), "").verdict for n in counts} <= {verdict}


def test_injection_fails_where_more_texts_rise_than_chance_lets_rise() -> None:
    verdicts = {
        (rose, fell): measure(INJECTION, answers(rose, rose + fell), "", answered=24).verdict
        for rose, fell in ((0, 0), (5, 0), (6, 6), (0, 9), (6, 0), (12, 1))
    }
    assert list(verdicts.values()) == ["passed"] * 4 + ["failed"] * 2
    nothing = measure(INJECTION, (), "", answered=24)
    assert (nothing.value, nothing.low, nothing.reason) == (None, None, "no answer changed")


def test_what_is_not_shown_says_how_many_further_questions_would_decide() -> None:
    close = measure(DEFECTS, answers(19), "")
    assert close.further == 24
    assert close.reason.startswith("about 24 further questions would decide it")
    assert measure(DEFECTS, answers(19) * 2, "").verdict == "passed"
    assert measure(SWAP, answers(17), "").further == 48, "an answer takes two questions"
    never = measure(DEFECTS, answers(6, 10), "")
    assert never.further is None
    assert "even 190 further questions would not decide it" in never.reason
    assert measure(DEFECTS, answers(24), "").further is None


def test_both_orders_of_a_pair_say_more_than_one_unless_they_always_agree() -> None:
    one, agreeing, mixed = (
        measure(DEFECTS, each, "").low or 0
        for each in (
            answers(18),
            [[1, 1]] * 18 + [[0, 0]] * 6,
            [[1, 1]] * 14 + [[1, 0]] * 8 + [[0, 0]] * 2,
        )
    )
    assert one == pytest.approx(agreeing)
    assert mixed > one


@steady
@given(FEW)
def test_too_few_pairs_do_not_show_that_a_judge_has_no_fault(few: list[tuple[int, int]]) -> None:
    for found in (
        measure(POSITION, few, ""),
        measure(LENGTH, few, ""),
        measure(INJECTION, few, "", answered=len(few)),
    ):
        assert found.verdict == "not shown"
        assert f"{MIN_PAIRS} are needed" in found.reason
    assert measure(BALLOTS, (), "").verdict == "not shown"


@steady
@given(ANSWERS)
def test_the_verdict_follows_from_the_interval(given_answers: list[tuple[int, int]]) -> None:
    found = measure(DEFECTS, given_answers, "")
    assert found.n == len(given_answers)
    assert found.low is not None
    assert found.high is not None
    assert (found.verdict == "passed") == (found.low >= FLOOR)
    assert (found.verdict == "failed") == (found.high < FLOOR)


@steady
@given(ANSWERS)
def test_which_position_is_preferred_makes_no_difference(
    given_answers: list[tuple[int, int]],
) -> None:
    turned = [(1 - one, 1 - other) for one, other in given_answers]
    one, other = (measure(POSITION, each, "") for each in (given_answers, turned))
    assert one.verdict == other.verdict
