"""Length and preference, against statsmodels and a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from autoreason.stats.bootstrap import Array
from autoreason.stats.length import length_controlled_win_rate, longer_preferred

steady = settings(derandomize=True, max_examples=40)
comparisons = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(-300, 300)), min_size=4, max_size=30
)


def length_term(longer_by: Array) -> Array:
    return np.asarray(np.tanh(longer_by / np.std(longer_by, ddof=1)), dtype=float)


def made_up(constant: float, slope: float, n: int = 400) -> tuple[Array, Array]:
    """Outcomes whose first text is `constant` better and gains from length; it is longer on average."""
    rng = np.random.default_rng(9)
    longer_by = rng.normal(200, 300, size=n)
    chances = expit(constant + slope * length_term(longer_by))
    return (rng.random(n) < chances).astype(float), longer_by


def test_with_next_to_no_penalty_the_fit_is_a_logistic_regression() -> None:
    wins, longer_by = made_up(-0.2, 1.5)
    design = sm.add_constant(length_term(longer_by))
    theirs = sm.GLM(wins, design, family=sm.families.Binomial()).fit()
    found = length_controlled_win_rate(wins, longer_by, ridge=1e-9, resamples=50)
    assert found.value == pytest.approx(expit(theirs.params[0]))


@given(comparisons, st.sampled_from([0.5, 1.0, 5.0]))
@steady
def test_the_penalty_is_on_length_alone(rows: list[tuple[float, int]], ridge: float) -> None:
    wins = np.array([won for won, _ in rows])
    longer_by = np.array([by for _, by in rows], dtype=float)
    if not 0 < wins.mean() < 1 or not np.ptp(longer_by):
        return
    terms = length_term(longer_by)

    def loss(values: Array) -> float:
        fitted = values[0] + values[1] * terms
        cost = np.logaddexp(0, fitted) - wins * fitted
        return float(cost.sum() + ridge / 2 * values[1] ** 2)

    best = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-8})
    found = length_controlled_win_rate(wins, longer_by, ridge=ridge, resamples=20)
    assert found.value == pytest.approx(expit(best.x[0]), abs=1e-4)


def test_a_text_that_wins_by_length_alone_wins_half_at_equal_length() -> None:
    wins, longer_by = made_up(0.0, 2.5, n=2000)
    found = length_controlled_win_rate(wins, longer_by, resamples=300)
    assert wins.mean() > 0.6
    assert found.value == pytest.approx(0.5, abs=0.05)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high


def test_without_differences_in_length_the_rate_is_the_raw_one() -> None:
    assert length_controlled_win_rate([1, 1, 0, 0.5], [0, 0, 0, 0]).value == pytest.approx(0.625)


def test_turning_the_sides_round_turns_the_rate_round() -> None:
    wins, longer_by = made_up(0.4, 1.0)
    found = length_controlled_win_rate(wins, longer_by)
    turned = length_controlled_win_rate(1 - wins, -longer_by)
    assert found.value is not None
    assert turned.value == pytest.approx(1 - found.value)
    assert found == length_controlled_win_rate(wins, longer_by)


def test_copies_of_a_task_add_no_certainty() -> None:
    wins, longer_by = made_up(0.4, 1.0, n=60)
    tasks = np.repeat(np.arange(60), 4).tolist()
    once = length_controlled_win_rate(wins, longer_by, ridge=1)
    copied = length_controlled_win_rate(
        np.repeat(wins, 4), np.repeat(longer_by, 4), clusters=tasks, ridge=4
    )
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high), abs=0.01)
    assert copied.n == 60


def test_an_outcome_all_one_way_has_no_interval() -> None:
    found = length_controlled_win_rate([1, 1, 1], [5, -3, 9])
    assert (found.value, found.low, found.high) == (1, None, None)
    assert "went the same way" in found.reason


def test_outcomes_that_follow_length_exactly_are_held_by_the_penalty() -> None:
    found = length_controlled_win_rate([1, 1, 1, 0, 0, 0], [9, 7, 5, -5, -7, -9])
    assert found.value == pytest.approx(0.5)
    with pytest.raises(ValueError, match="the ridge lies above 0"):
        length_controlled_win_rate([1, 0], [1, -1], ridge=0)


def test_the_longer_text_is_counted_from_either_side() -> None:
    found = longer_preferred([1, 0, 0, 1, 0.5, 1], [10, -10, 10, -10, 10, 0])
    assert (found.value, found.n) == (0.5, 4)
    assert longer_preferred([], []).value is None


def test_bad_input_is_refused_and_too_little_said() -> None:
    assert "two comparisons" in length_controlled_win_rate([1], [3]).reason
    with pytest.raises(ValueError, match="2 outcomes and 1 differences"):
        longer_preferred([1, 0], [3])
    with pytest.raises(ValueError, match="an outcome is"):
        longer_preferred([0.7], [3])
