"""What so many can show, and intervals that are always valid or helped by predictions."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.intervals import ends

from autoreason.stats.power import (
    MIN_EVENTS,
    always_valid_difference,
    detectable_difference,
    detectable_gain,
    detectable_share,
    sample_size,
    unequal_split,
)
from autoreason.stats.shares import sign_test

steady = settings(derandomize=True, max_examples=30)


def power_of(judges: int, share: float) -> float:
    """How often so many judges come out significant, by going through every split."""
    significant = [k for k in range(judges + 1) if (sign_test(k, judges - k).p_value or 0) <= 0.05]
    return float(sum(scipy.stats.binom.pmf(k, judges, share) for k in significant))


@given(st.integers(6, 60))
@steady
def test_the_smallest_share_that_shows_has_just_the_power(judges: int) -> None:
    found = detectable_share(judges).value
    assert found is not None
    assert power_of(judges, found) == pytest.approx(0.8, abs=1e-6)


def test_seven_judges_see_only_near_unanimity_and_five_see_nothing() -> None:
    assert detectable_share(7).value == pytest.approx(0.8 ** (1 / 7), abs=1e-6)
    assert detectable_share(5).value is None
    assert detectable_share(1).reason.startswith("1 judge is too few (")
    assert detectable_share(5).reason == (
        "5 judges are too few (even if all agreed, it could be chance); it takes 6 or more"
    )


def test_the_smallest_gain_that_shows_has_the_power_when_played_out() -> None:
    tasks, differ = 210, 0.19
    gain = detectable_gain(tasks, differ).value
    assert gain is not None
    one, other = (differ + gain) / 2, (differ - gain) / 2
    drawn = np.random.default_rng(4).multinomial(tasks, [one, other, 1 - differ], size=1500)
    shown = [(b - c) ** 2 / (b + c) >= scipy.stats.chi2.isf(0.05, 1) for b, c, _ in drawn]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.04)


def test_ways_that_hardly_differ_show_nothing_on_few_tasks() -> None:
    assert detectable_gain(20, 0.05).value is None
    assert "too few for any difference" in detectable_gain(20, 0.05).reason
    assert detectable_gain(3).reason == "3 tasks are too few for any difference"
    with pytest.raises(ValueError, match="share of tasks that differ"):
        detectable_gain(10, 0)


@pytest.mark.parametrize("tasks", [8, 40, 150, 2000])
def test_the_least_gain_is_where_every_task_that_differs_goes_one_way(tasks: int) -> None:
    least = detectable_gain(tasks).value
    assert least is not None
    assert detectable_gain(tasks, least * 1.001).value == pytest.approx(least, rel=0.01)
    assert detectable_gain(tasks, least * 0.99).value is None


def test_pairs_are_counted_as_statsmodels_counts_them() -> None:
    from statsmodels.stats.power import NormalIndPower

    theirs = NormalIndPower().solve_power(nobs1=197, alpha=0.05, power=0.8, ratio=0)
    assert detectable_difference(197, 0.5).value == pytest.approx(theirs * 0.5, rel=1e-4)
    assert detectable_difference(0, 1).value is None


def test_a_split_that_stays_uneven_is_noticed_as_readers_come() -> None:
    seen = [
        unequal_split([5900 * part // 4, 6217 * part // 4, 6217 * part // 4], 18_000)
        for part in range(1, 13)
    ]
    assert seen == sorted(seen, reverse=True)
    assert seen[3] == pytest.approx(0.10, abs=0.01)
    assert seen[7] < 0.001
    assert unequal_split([1000, 1000, 800], 3000) < 0.001
    assert unequal_split([0, 0], 100) == unequal_split([50, 50], 100) == 1.0


@pytest.mark.parametrize("readers", [10, 40, 200])
def test_evidence_against_an_equal_split_is_at_most_one_on_average(readers: int) -> None:
    # So a thousand is reached in one test of a thousand, whatever the looks.
    found = (
        (comb(readers, one) / 2**readers, unequal_split([one, readers - one], 40))
        for one in range(readers + 1)
    )
    assert 0 < sum(likely / p for likely, p in found if p < 1) <= 1


def test_an_interval_needs_enough_of_both_kinds() -> None:
    few = always_valid_difference((MIN_EVENTS - 1, 400), (60, 400), 4000)
    assert few.low is None
    assert "needs 20" in (few.reason or "")
    assert always_valid_difference((0, 0), (0, 0), 100).value is None
    large = always_valid_difference((300, 1000), (200, 1000), 2000)
    assert large.value == pytest.approx(0.1)
    assert ends(large)[0] > 0


def test_the_sample_is_larger_than_for_one_look_and_grows_with_comparisons() -> None:
    # 0.20 against 0.22 at 5 % with 80 %, looked at once: 6,507 in each arm (Fleiss, without correction).
    assert 1.8 * 6507 < sample_size(0.2, 0.1) < 2 * 6507
    assert sample_size(0.2, 0.1, comparisons=2) > sample_size(0.2, 0.1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sample_size(0.9, 0.5)


@pytest.mark.parametrize(("base", "lift"), [(0.2, 1e-300), (1e-300, 0.1), (0.2, 0)])
def test_a_sample_of_more_than_there_are_people_is_none(base: float, lift: float) -> None:
    with pytest.raises(ValueError, match="more than 10,000,000,000"):
        sample_size(base, lift)
