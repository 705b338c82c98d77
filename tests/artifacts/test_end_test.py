"""The end test says what fresh looks show, and the plan reserves it before anything else."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import nct, ttest_rel
from scipy.stats import t as student

from autoreason.artifacts.end_test import (
    MIN_EVALUATIONS,
    CorrectedKeeps,
    correct_keeps,
    end_test,
    finalists,
    least_gain,
    plan_budget,
)
from autoreason.artifacts.trial_events import Effect
from autoreason.errors import InvalidInput

steady = settings(derandomize=True, deadline=None)


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    result, start = [0.61, 0.64, 0.58, 0.66, 0.6, 0.63], [0.52, 0.57, 0.52, 0.53, 0.55, 0.54]
    found = end_test(result, start)
    theirs = ttest_rel(result, start).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.gain == pytest.approx(0.49 / 6)
    assert (found.n, found.shown) == (6, True)
    assert not end_test(start, result).shown


def test_where_nothing_varies_the_difference_is_said_to_be_exact() -> None:
    found = end_test([0.3] * 6, [0.1 + 0.1] * 6)
    assert found.deterministic
    assert found.low == found.gain == found.high == pytest.approx(0.1)
    assert (found.shown, found.least) == (True, 0.0)
    same = end_test([0.3] * 6, [0.3] * 6)
    assert (same.deterministic, same.gain, same.shown) == (True, 0.0, False)


def test_coarse_numbers_that_agree_by_chance_are_not_called_exact() -> None:
    # Six of six solved against none of six, by a run whose looks are known to differ.
    found = end_test([1.0] * 6, [0.0] * 6, spread=0.5)
    assert not found.deterministic
    assert found.low < 1 < found.high
    # The same gain on every item, whatever its difficulty.
    shifted = end_test([1.0, 5.0, 9.0] * 2, [0.0, 4.0, 8.0] * 2)
    assert not shifted.deterministic
    assert shifted.low < 0 < 1 < shifted.high


@pytest.mark.parametrize("pairs", range(1, 6))
def test_fewer_than_six_pairs_show_nothing(pairs: int) -> None:
    for few in (
        end_test([2.0] * pairs, [1.0] * pairs),
        end_test([2.0 + each for each in range(pairs)], [1.0] * pairs, 0.1),
        end_test([2.0] * pairs, [1.0] * pairs, items=(3,) * pairs),
    ):
        assert (few.low, few.high, few.least) == (-inf, inf, inf)
        assert not few.shown
        assert not few.deterministic
        assert not few.worse
    assert end_test([1.0] * pairs, [2.0] * pairs).worse
    assert end_test([2.0] * 6, [1.0] * 6, items=(2, 2, 1, 1, 1, 1)).shown


@pytest.mark.parametrize(("pairs", "unseen"), [(6, 0.459), (8, 0.369), (72, 0.05)])
def test_what_a_test_need_not_see_is_what_all_its_pairs_miss_once_in_forty_times(
    pairs: int, unseen: float
) -> None:
    found = end_test([1.0] * pairs, [0.0] * pairs)
    assert found.unseen == pytest.approx(unseen, abs=0.001)
    assert (1 - found.unseen) ** pairs == pytest.approx(0.025)


def test_pairs_count_by_their_sealed_items() -> None:
    sizes = (2, 2, 1, 1, 1, 1)
    found = end_test([1.0, 0.5, 1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 1.0, 0.0, 0.0], items=sizes)
    assert found.gain == pytest.approx(2 / 8)
    assert found.low < 0 < 2 / 8 < found.high
    result, start = (0.7, 0.9, 0.8) * 2, (0.6, 0.5, 0.7) * 2
    assert end_test(result, start, items=(3,) * 6) == end_test(result, start)


@steady
@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=9))
def test_result_and_start_exchanged_change_the_sign(pairs: list[tuple[float, float]]) -> None:
    result, start = zip(*pairs, strict=True)
    one, other = end_test(result, start), end_test(start, result)
    assert one.low <= one.gain <= one.high
    assert (other.gain, other.low, other.high) == pytest.approx((-one.gain, -one.high, -one.low))
    assert not (one.shown and other.shown)


@pytest.mark.parametrize("pairs", [6, 8, 30])
def test_the_smallest_gain_is_shown_four_times_in_five(pairs: int) -> None:
    gain = least_gain(pairs, 2.0)
    bound = student.isf(0.025, pairs - 1)
    assert nct.sf(bound, pairs - 1, gain / 2.0 * pairs**0.5) == pytest.approx(0.8, abs=0.03)
    assert least_gain(5, 2.0) == inf


@pytest.mark.parametrize(
    ("evaluations", "parts"),
    [(60, (3, 0, 6)), (99, (3, 0, 6)), (100, (5, 0, 8)), (200, (5, 4, 8))],
)
def test_small_budgets_have_a_smaller_apparatus(evaluations: int, parts: tuple[int, ...]) -> None:
    plan = plan_budget(evaluations)
    assert (plan.floor, plan.playoff, plan.end) == parts
    assert plan.search + plan.reserved + plan.floor == evaluations
    assert plan.warning() == ""


def test_a_budget_that_shows_little_says_so_and_one_that_shows_nothing_is_refused() -> None:
    assert plan_budget(200).least_gain(1.0) == pytest.approx(1.63, abs=0.01)
    assert plan_budget(MIN_EVALUATIONS).search == 1
    assert plan_budget(30).warning() == (
        "30 evaluations leave 15 for proposals, and under noise the end test can only show gains from 2.0 times the "
        "spread of one evaluation on; give 40 or more"
    )
    with pytest.raises(InvalidInput, match="give 16 or more"):
        plan_budget(MIN_EVALUATIONS - 1)


def test_finalists_are_the_start_the_last_keep_and_two_in_between() -> None:
    assert finalists([]) == (0,)
    assert finalists([5]) == (0, 5)
    assert finalists([3, 8]) == (0, 3, 8)
    assert finalists([3, 8, 9, 20, 31, 40]) == (0, 8, 20, 40)


@steady
@given(st.lists(st.integers(1, 500), unique=True).map(sorted))
def test_there_are_four_finalists_at_most_and_the_ends_are_among_them(keeps: list[int]) -> None:
    line = finalists(keeps)
    assert len(line) == min(4, len(keeps) + 1)
    assert (line[0], line[-1]) == (0, keeps[-1] if keeps else 0)


def kept(value: float, error: float) -> Effect:
    """A keep of the loop."""
    return Effect(value=value, error=error, looks=2, against=3)


def test_keeps_are_worth_together_what_the_end_test_shows() -> None:
    keeps = [kept(1.0, 0.5), kept(3.0, 0.5), kept(2.0, 1.0)]
    corrected = correct_keeps(keeps, 4.0)
    assert corrected.effects == pytest.approx((0.5, 2.5, 1.0))
    assert corrected.idle == 0
    # An end test that shows more than the loop saw makes no keep larger.
    assert correct_keeps(keeps, 9.0).effects == (1.0, 3.0, 2.0)
    assert correct_keeps(keeps, -9.0).idle == 3


def test_keeps_without_noise_are_worth_what_they_show() -> None:
    assert correct_keeps([kept(1.0, 0.0)], 1.0) == CorrectedKeeps(effects=(1.0,), idle=0)
    assert correct_keeps([], 0.0) == CorrectedKeeps(effects=(), idle=0)
