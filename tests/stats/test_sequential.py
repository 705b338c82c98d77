"""Intervals that may be looked at any time, and splits that should be equal."""

from __future__ import annotations

import random
from math import sqrt

import pytest
from scipy.stats import chi2

from autoreason.stats.sequential import (
    MIN_EVENTS,
    _chi_squared_tail,
    always_valid_difference,
    sample_size,
    unequal_split,
)


@pytest.mark.parametrize("freedom", range(1, 10))
@pytest.mark.parametrize("value", [0.01, 0.5, 3.0, 12.0, 40.0])
def test_the_tail_is_that_of_the_distribution(freedom: int, value: float) -> None:
    assert _chi_squared_tail(value, freedom) == pytest.approx(chi2.sf(value, freedom), rel=1e-9)


def test_an_equal_split_is_rarely_called_unequal() -> None:
    rng = random.Random(4)

    def draw() -> float:
        picked = rng.choices(range(3), k=900)
        return unequal_split([picked.count(arm) for arm in range(3)])

    low = sum(draw() < 0.05 for _ in range(1000))
    assert 25 <= low <= 80
    assert unequal_split([1000, 1000, 800]) < 0.001
    assert unequal_split([]) == unequal_split([0, 0]) == 1.0


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_looking_again_and_again_finds_no_difference_where_there_is_none(share: float) -> None:
    rng = random.Random(11)
    planned, step, runs = 4000, 200, 500
    spread = sqrt(step * share * (1 - share))

    def is_fooled() -> bool:
        """Whether any of forty looks excludes 0; steps are drawn from the normal limit of the binomial."""
        counts = [0.0, 0.0]
        for look in range(1, 41):
            for arm in (0, 1):
                counts[arm] += min(max(rng.gauss(step * share, spread), 0), step)
            one, other = ((round(count), look * step) for count in counts)
            found = always_valid_difference(one, other, planned)
            if (
                found.low is not None
                and found.high is not None
                and (found.low > 0 or found.high < 0)
            ):
                return True
        return False

    # 5 % is the most; 500 draws exceed 42 once in a thousand times at that.
    assert sum(is_fooled() for _ in range(runs)) <= 42


def test_an_interval_needs_enough_of_both_kinds() -> None:
    few = always_valid_difference((MIN_EVENTS - 1, 400), (60, 400), 4000)
    assert few.low is None
    assert "needs 20" in (few.reason or "")
    assert always_valid_difference((0, 0), (0, 0), 100).value is None


def test_a_large_difference_is_found() -> None:
    found = always_valid_difference((300, 1000), (200, 1000), 2000)
    assert found.low is not None
    assert found.low > 0
    assert found.value == pytest.approx(0.1)


def test_the_sample_is_that_of_the_textbooks() -> None:
    # 0.20 against 0.22 at 5 % with 80 %: 6,507 in each arm (Fleiss, without correction).
    assert sample_size(0.2, 0.1) == pytest.approx(6507, abs=3)
    assert sample_size(0.2, 0.1, comparisons=2) > sample_size(0.2, 0.1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sample_size(0.9, 0.5)
