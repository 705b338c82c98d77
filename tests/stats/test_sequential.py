"""Intervals that may be looked at any time, and splits that should be equal."""

from __future__ import annotations

from math import comb

import pytest

from autoreason.stats.sequential import (
    MIN_EVENTS,
    always_valid_difference,
    sample_size,
    unequal_split,
)


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


def test_a_large_difference_is_found() -> None:
    found = always_valid_difference((300, 1000), (200, 1000), 2000)
    assert found.low is not None
    assert found.low > 0
    assert found.value == pytest.approx(0.1)


def test_the_sample_is_larger_than_for_one_look_and_grows_with_comparisons() -> None:
    # 0.20 against 0.22 at 5 % with 80 %, looked at once: 6,507 in each arm (Fleiss, without correction).
    assert 1.8 * 6507 < sample_size(0.2, 0.1) < 2 * 6507
    assert sample_size(0.2, 0.1, comparisons=2) > sample_size(0.2, 0.1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sample_size(0.9, 0.5)


@pytest.mark.parametrize(
    ("base", "lift"), [(0.2, 1e-300), (1e-300, 0.1), (0.2, 1e-17), (5e-324, 1e-5), (0.2, 0)]
)
def test_a_sample_of_more_than_there_are_people_is_none(base: float, lift: float) -> None:
    with pytest.raises(ValueError, match="more than 10,000,000,000"):
        sample_size(base, lift)
