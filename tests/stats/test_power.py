"""How much it takes, against counting every outcome and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.power import NormalIndPower

from autoreason.stats.power import (
    detectable_difference,
    detectable_gain,
    detectable_share,
    judges_needed,
    least_gain,
    pairs_needed,
    tasks_needed,
)
from autoreason.stats.shares import mcnemar, sign_test

steady = settings(derandomize=True, max_examples=30)


def power_of(judges: int, share: float) -> float:
    """How often so many judges come out significant, by going through every split."""
    significant = [k for k in range(judges + 1) if (sign_test(k, judges - k).p or 0) <= 0.05]
    return float(sum(binom.pmf(k, judges, share) for k in significant))


@pytest.mark.parametrize("share", [0.65, 0.7, 0.75, 0.8, 0.9, 0.97])
def test_so_many_judges_suffice_from_there_on_and_one_fewer_do_not(share: float) -> None:
    needed = judges_needed(share)
    assert needed is not None
    assert power_of(needed - 1, share) < 0.8
    assert all(power_of(needed + more, share) >= 0.8 for more in range(20))


def test_it_takes_six_judges_who_all_agree_and_no_number_shows_a_coin() -> None:
    assert judges_needed(1) == judges_needed(0) == 6
    assert judges_needed(0.5) is None
    assert judges_needed(0.5001) is None
    assert judges_needed(0.3) == judges_needed(0.7)


@given(st.integers(6, 60))
@steady
def test_the_smallest_share_that_shows_has_just_the_power(judges: int) -> None:
    found = detectable_share(judges).value
    assert found is not None
    assert power_of(judges, found) == pytest.approx(0.8, abs=1e-6)


def test_seven_judges_see_only_near_unanimity_and_five_see_nothing() -> None:
    assert detectable_share(7).value == pytest.approx(0.8 ** (1 / 7), abs=1e-6)
    assert detectable_share(5).value is None
    assert detectable_share(5).reason == (
        "even all of 5 agreeing could be chance; it takes 6 judges or more"
    )


def test_so_many_tasks_have_the_power_when_played_out() -> None:
    tasks = tasks_needed(0.14, 0.05)
    assert tasks is not None
    rng = np.random.default_rng(4)
    drawn = rng.multinomial(tasks, [0.14, 0.05, 0.81], size=1500)
    shown = [(mcnemar(int(b), int(c), mid_p=True).p or 1) <= 0.05 for b, c, _ in drawn]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.04)


@given(st.floats(0.02, 0.4), st.floats(0, 0.3))
@steady
def test_needed_tasks_and_detectable_gain_are_two_sides_of_one_thing(
    gained: float, lost: float
) -> None:
    tasks = tasks_needed(gained, lost)
    if abs(gained - lost) < 0.01:
        return
    assert tasks is not None
    found = detectable_gain(tasks, gained + lost)
    assert found.value is not None
    assert found.value <= abs(gained - lost) + 1e-9
    smaller = detectable_gain(tasks - 1, gained + lost).value
    assert smaller is None or smaller >= abs(gained - lost) - 1e-9


def test_four_points_on_150_problems_cannot_be_resolved() -> None:
    for differ in (0.10, 0.13):
        gain = detectable_gain(150, differ).value
        assert gain is not None
        assert gain > 0.06


def test_ways_that_hardly_differ_show_nothing_on_few_tasks() -> None:
    assert detectable_gain(20, 0.05).value is None
    assert "too few for any difference" in detectable_gain(20, 0.05).reason
    assert tasks_needed(0.1, 0.1) is None


@pytest.mark.parametrize("tasks", [8, 40, 150, 2000])
def test_the_least_gain_is_where_every_task_that_differs_goes_one_way(tasks: int) -> None:
    least = least_gain(tasks).value
    assert least is not None
    assert detectable_gain(tasks, least * 1.001).value == pytest.approx(least, rel=0.01)
    assert detectable_gain(tasks, least * 0.99).value is None
    assert tasks_needed(least, 0.0) in (tasks, tasks + 1)


def test_three_tasks_are_too_few_for_any_gain() -> None:
    assert least_gain(3).value is None
    assert least_gain(3).reason == "3 tasks are too few for any difference to show"


def test_pairs_are_counted_as_statsmodels_counts_them() -> None:
    theirs = NormalIndPower().solve_power(effect_size=0.2, alpha=0.05, power=0.8, ratio=0)
    assert pairs_needed(0.1, 0.5) == int(np.ceil(theirs))
    difference = detectable_difference(197, 0.5).value
    assert difference == pytest.approx(0.1, abs=5e-4)
    assert pairs_needed(0, 1) is None
    assert detectable_difference(0, 1).value is None


def test_impossible_wishes_are_refused() -> None:
    with pytest.raises(ValueError, match="a share lies between"):
        judges_needed(70)
    with pytest.raises(ValueError, match="alpha lies above 0"):
        judges_needed(0.7, power=1)
    with pytest.raises(ValueError, match="add up to 1"):
        tasks_needed(0.7, 0.5)
    with pytest.raises(ValueError, match="share of tasks that differ"):
        detectable_gain(10, 0)
