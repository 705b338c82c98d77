"""Paired differences, against SciPy and against every way to flip the signs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test as their_test

from autoreason.stats.paired import permutation_test

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


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-4, 4)), min_size=1, max_size=10))
@steady
def test_the_signs_of_a_cluster_flip_together(rows: list[tuple[int, int]]) -> None:
    tasks = [task for task, _ in rows]
    sums = [sum(value for task, value in rows if task == each) for each in sorted(set(tasks))]
    found = permutation_test([value for _, value in rows], clusters=tasks)
    assert found.p_value == pytest.approx(by_hand(sums))
    assert found.n == len(sums)


def test_many_pairs_are_sampled_like_scipy_does() -> None:
    values = np.random.default_rng(3).normal(0.35, 1, size=40).tolist()
    found = permutation_test(values)
    theirs = their_test((values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=2)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.006)
    assert found == permutation_test(values)


def test_a_sampled_p_is_never_zero() -> None:
    assert permutation_test([1.0] * 60).p_value == pytest.approx(1 / 20_001)


def test_equal_ways_do_not_differ_and_no_pairs_say_nothing() -> None:
    assert permutation_test([0.0, 0.0]).p_value == 1
    assert permutation_test([]).p_value is None
    assert permutation_test([]).reason == "needs one pair or more, there is none"


def test_a_difference_that_is_not_known_is_refused_and_a_tiny_one_counts() -> None:
    with pytest.raises(ValueError, match="leave out what is not known"):
        permutation_test([float("nan"), 1.0, 2.0])
    assert permutation_test([1e-15] * 10).p_value == pytest.approx(2 / 2**10)
