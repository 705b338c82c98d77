"""What chance gives by drawing again: flipped signs, clusters, positions."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.intervals import ends

from autoreason.stats.resampling import cluster_bootstrap, equal_shares, permutation_test
from autoreason.stats.shares import sign_test

steady = settings(derandomize=True)
differences = st.lists(st.integers(-4, 4), min_size=1, max_size=7)


def by_hand(sums: list[int]) -> float:
    observed = abs(sum(sums))
    flips = [sum(s * f for s, f in zip(sums, way, strict=True)) for way in signs(len(sums))]
    return sum(abs(total) >= observed for total in flips) / len(flips)


def signs(n: int) -> list[tuple[int, ...]]:
    return list(product((1, -1), repeat=n))


@given(differences)
@steady
def test_few_pairs_are_tested_exactly(values: list[int]) -> None:
    found = permutation_test(values)
    assert found.p_value == pytest.approx(by_hand(values))
    assert found.p_value == permutation_test([-value for value in values]).p_value
    assert found.statistic == pytest.approx(sum(values) / len(values))


def test_many_pairs_are_sampled_like_scipy_does_and_their_p_is_never_zero() -> None:
    values = np.random.default_rng(3).normal(0.35, 1, size=40).tolist()
    found = permutation_test(values)
    theirs = scipy.stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=2
    )
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.006)
    assert found == permutation_test(values)
    assert permutation_test([1.0, 2.0] * 30).p_value == pytest.approx(1 / 20_001)


def test_differences_of_one_size_are_counted_by_the_sign_test_however_many() -> None:
    assert permutation_test([1.0] * 60).p_value == pytest.approx(2 / 2**60)
    assert (
        permutation_test([1.0] * 15 + [-1.0] * 5 + [0.0] * 33).p_value == sign_test(15, 5).p_value
    )


def test_equal_ways_do_not_differ_a_tiny_difference_counts_and_an_unknown_one_is_refused() -> None:
    assert permutation_test([0.0, 0.0]).p_value == 1
    assert permutation_test([]).p_value is None
    assert permutation_test([]).reason == "needs one pair or more, there is none"
    with pytest.raises(ValueError, match="leave out what is not known"):
        permutation_test([float("nan"), 1.0, 2.0])
    assert permutation_test([1e-15] * 10).p_value == pytest.approx(2 / 2**10)
    assert permutation_test([0.0, 0.0]).p_value == 1
    assert permutation_test([]).reason == "needs one pair or more, there is none"


@pytest.mark.parametrize("bounded", [False, True])
def test_few_clusters_have_no_interval_and_none_no_value(*, bounded: bool) -> None:
    assert cluster_bootstrap([], bounded=bounded).value is None
    alone = cluster_bootstrap([[0.0, 1.0]], bounded=bounded)
    assert (alone.value, alone.low) == (0.5, None)
    assert alone.reason.endswith("clusters or more, there is one cluster")
    # A cluster counts once, however often it was tried.
    two = cluster_bootstrap([[1.0, 1.0, 1.0, 1.0], [0.0]], bounded=bounded)
    assert (two.value, two.low is None) == (0.5, not bounded)
    assert bounded or two.reason == (
        "an interval needs three clusters or more, there are 2 clusters"
    )


@pytest.mark.parametrize(
    "data", [[[-2.0]] * 5, [[0.0, 0.0], [0.0], [0.0]], [[0.3], [0.1 + 0.2]] * 2]
)
def test_values_that_are_all_the_same_have_no_interval(data: list[list[float]]) -> None:
    found = cluster_bootstrap(data)
    assert found.value == pytest.approx(data[0][0])
    assert (found.low, found.high, found.n) == (None, None, len(data))
    assert found.reason == "all values are the same, which does not say how far others would differ"
    low, high = ends(cluster_bootstrap([[1.0]] * 5, bounded=True))
    assert low < high == 1.0


@pytest.mark.parametrize(("clusters", "members"), [(4, 1), (8, 3), (20, 2)])
def test_intervals_contain_the_truth_as_often_as_they_say(clusters: int, members: int) -> None:
    rng = np.random.default_rng(clusters)
    missed = 0
    for _ in range(300):
        level = rng.standard_normal(clusters)[:, None]
        data = (level + rng.standard_normal((clusters, members))).tolist()
        found = cluster_bootstrap(data)
        low, high = ends(found)
        missed += not low <= 0 <= high
    assert missed <= 300 * 0.05 + 4 * (300 * 0.05 * 0.95) ** 0.5


def test_judges_who_take_the_first_in_line_are_found_out_if_there_are_ballots() -> None:
    assert equal_shares([12, 0, 0]).p_value == pytest.approx(3 / 3**12)
    assert equal_shares([4, 4, 4]).p_value == pytest.approx(1)
    assert equal_shares([0, 0, 0]).reason == "needs one first place or more, there is none"
    assert equal_shares([4]).p_value is None


@given(st.lists(st.integers(0, 7), min_size=3, max_size=3).filter(lambda c: 0 < sum(c) < 15))
@steady
def test_few_ballots_are_tested_exactly(counts: list[int]) -> None:
    def ways(table: tuple[int, ...] | list[int]) -> int:
        return factorial(sum(table)) // prod(factorial(cell) for cell in table)

    n = sum(counts)
    tables = [table for table in product(range(n + 1), repeat=3) if sum(table) == n]
    no_likelier = sum(ways(table) for table in tables if ways(table) <= ways(counts))
    assert equal_shares(counts).p_value == pytest.approx(no_likelier / 3**n)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@steady
def test_two_positions_are_a_coin_however_many_ballots(split: tuple[int, int]) -> None:
    first, n = split
    assert equal_shares([first, n - first]).p_value == pytest.approx(
        scipy.stats.binomtest(first, n).pvalue
    )


@given(st.lists(st.integers(30, 90), min_size=5, max_size=5))
@steady
def test_many_ballots_are_tested_by_chi_square(counts: list[int]) -> None:
    theirs = scipy.stats.chisquare(counts)
    found = equal_shares(counts)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue)


@given(st.lists(st.integers(0, 20), min_size=7, max_size=7).filter(lambda c: sum(c) > 60))
@steady
def test_ballots_too_many_to_count_and_too_few_for_chi_square_are_tested_against_random_ones(
    counts: list[int],
) -> None:
    theirs = scipy.stats.chisquare(counts)
    found = equal_shares(counts)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.03)
    assert found.p_value
