"""What can be seen, against counting every outcome and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2
from statsmodels.stats.power import NormalIndPower

from autoreason.stats.power import (
    detectable_difference,
    detectable_gain,
    detectable_share,
    least_gain,
)
from autoreason.stats.shares import sign_test

steady = settings(derandomize=True, max_examples=30)


def power_of(judges: int, share: float) -> float:
    """How often so many judges come out significant, by going through every split."""
    significant = [k for k in range(judges + 1) if (sign_test(k, judges - k).p_value or 0) <= 0.05]
    return float(sum(binom.pmf(k, judges, share) for k in significant))


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
    shown = [(b - c) ** 2 / (b + c) >= chi2.isf(0.05, 1) for b, c, _ in drawn]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.04)


def test_four_points_on_150_problems_cannot_be_resolved() -> None:
    for differ in (0.10, 0.13):
        gain = detectable_gain(150, differ).value
        assert gain is not None
        assert gain > 0.06


def test_ways_that_hardly_differ_show_nothing_on_few_tasks() -> None:
    assert detectable_gain(20, 0.05).value is None
    assert "too few for any difference" in detectable_gain(20, 0.05).reason


@pytest.mark.parametrize("tasks", [8, 40, 150, 2000])
def test_the_least_gain_is_where_every_task_that_differs_goes_one_way(tasks: int) -> None:
    least = least_gain(tasks).value
    assert least is not None
    assert detectable_gain(tasks, least * 1.001).value == pytest.approx(least, rel=0.01)
    assert detectable_gain(tasks, least * 0.99).value is None


def test_three_tasks_are_too_few_for_any_gain() -> None:
    assert least_gain(3).value is None
    assert least_gain(3).reason == "3 tasks are too few for any difference to show"


def test_pairs_are_counted_as_statsmodels_counts_them() -> None:
    theirs = NormalIndPower().solve_power(nobs1=197, alpha=0.05, power=0.8, ratio=0)
    assert detectable_difference(197, 0.5).value == pytest.approx(theirs * 0.5, rel=1e-4)
    assert detectable_difference(0, 1).value is None


def test_impossible_wishes_are_refused() -> None:
    with pytest.raises(ValueError, match="share of tasks that differ"):
        detectable_gain(10, 0)
