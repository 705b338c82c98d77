"""Sums of independent parts: exact where that is quick, close to it elsewhere, whatever the order."""

from __future__ import annotations

from itertools import product
from math import comb, prod

import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.stats import sums
from autoreason.stats.sums import (
    Part,
    as_part,
    centred,
    flips,
    moments,
    more_than_chance,
    resampled_mean,
    unlike_chance,
)

VALUES = st.dictionaries(st.integers(-4, 4), st.integers(1, 5), min_size=1, max_size=4)


@st.composite
def some_parts(draw: st.DrawFn) -> list[Part]:
    weights = draw(st.lists(VALUES, min_size=1, max_size=5))
    return [
        as_part({value: w / sum(each.values()) for value, w in each.items()}) for each in weights
    ]


@given(some_parts(), st.integers(-20, 20))
def test_the_tail_is_that_of_every_way_the_parts_can_come_out(
    parts: list[Part], observed: int
) -> None:
    every = [(sum(v.real for v, _ in way), prod(p for _, p in way)) for way in product(*parts)]
    expected = sum(p for value, p in every if value >= observed)
    assert more_than_chance(parts, observed) == pytest.approx(expected, abs=1e-9)
    below = sum(p for value, p in every if value <= observed)
    both = min(1.0, 2 * min(expected, below))
    assert unlike_chance(parts, observed) == pytest.approx(both, abs=1e-9)


@given(some_parts(), st.integers(-9, 9))
def test_the_order_of_the_parts_makes_no_difference(parts: list[Part], observed: int) -> None:
    shuffled = parts[::-1]
    assert more_than_chance(parts, observed) == more_than_chance(shuffled, observed)
    assert moments(parts) == pytest.approx(moments(shuffled))


@pytest.mark.parametrize("chance", [0.03, 0.4])
@pytest.mark.parametrize("size", [20, 3000])
def test_many_coins_are_a_binomial(size: int, chance: float) -> None:
    parts = [((0.0, 1 - chance), (1.0, chance))] * size
    for probability in (0.2, 0.02, 0.002):
        observed = float(scipy.stats.binom.isf(probability, size, chance))
        exact = float(scipy.stats.binom.sf(observed - 1, size, chance))
        # Between two lattice points a smooth curve may be off by half a step.
        step = float(scipy.stats.binom.pmf(observed, size, chance))
        found = more_than_chance(parts, observed)
        assert abs(found - exact) <= (1e-9 if size == 20 else 0.6 * step + 0.05 * exact)


def test_a_skewed_sum_too_large_to_count_keeps_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    skewed = as_part({0: 0.9, 1: 0.1})
    exact = more_than_chance([skewed] * 150, 26)
    monkeypatch.setattr(sums, "_WORK", 0)
    close = more_than_chance([skewed] * 150, 25.5)
    assert close == pytest.approx(exact, rel=0.15)


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=8))
@settings(max_examples=30)
def test_flipped_signs_are_scipys_permutation_test(scores: list[int]) -> None:
    parts = flips(scores)
    if not parts:
        assert unlike_chance(parts, 0) == 1
        return
    oracle = scipy.stats.permutation_test(
        (scores,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=10_000
    )
    assert unlike_chance(parts, sum(scores)) == pytest.approx(oracle.pvalue, abs=1e-9)


def test_a_sample_gets_the_moments_that_are_known() -> None:
    drawn = [float(v) for v in scipy.stats.skewnorm.rvs(5, size=500, random_state=1)]
    mean, variance, third = moments([centred(drawn, 0.0, 2.0)])
    assert (mean, variance) == pytest.approx((0, 2), abs=1e-7)
    assert third > 0


def test_a_mean_is_resampled_by_clusters() -> None:
    apart = [[float(n % 2)] for n in range(200)]
    together = [[float(n % 2)] * 10 for n in range(20)]
    narrow, wide = resampled_mean(apart), resampled_mean(together)
    assert narrow.value == wide.value == 0.5
    assert narrow.low == pytest.approx(0.5 - 1.96 * 0.5 / 200**0.5, abs=0.01)
    assert wide.low == pytest.approx(0.5 - 1.96 * 0.5 / 20**0.5, abs=0.03)
    assert resampled_mean(apart) == narrow
    assert resampled_mean([]).value is None
    assert resampled_mean([[1.0, 2.0]]).low is None


def test_two_numbers_are_summed_as_one_complex_number() -> None:
    step = as_part({1: 0.5, 1j: 0.5})
    found = sums.distribution([step] * 6)
    assert found is not None
    assert found[complex(2, 4)] == pytest.approx(comb(6, 2) / 64)
