"""Intervals by drawing again, against SciPy and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap as their_bootstrap

from autoreason.stats.bootstrap import Array, Method, bootstrap

steady = settings(derandomize=True)
values = st.lists(st.floats(-50, 50), min_size=2, max_size=20)
SKEWED = np.random.default_rng(1).exponential(size=40)
METHODS: list[Method] = ["percentile", "bca"]


def mean(rows: Array) -> float:
    return float(rows.mean())


@pytest.mark.parametrize(("method", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_the_interval_is_that_of_scipy(method: Method, theirs: str) -> None:
    found = bootstrap(SKEWED, np.median, method=method, resamples=4000)
    expected = their_bootstrap((SKEWED,), np.median, method=theirs, rng=2, n_resamples=4000)
    interval = expected.confidence_interval
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=0.08)
    assert found.value == np.median(SKEWED)


@pytest.mark.parametrize("method", METHODS)
def test_the_fast_way_for_means_gives_what_the_slow_way_gives(method: Method) -> None:
    clusters = [number // 3 for number in range(len(SKEWED))]
    fast = bootstrap(SKEWED, clusters=clusters, method=method, resamples=500)
    slow = bootstrap(SKEWED, mean, clusters=clusters, method=method, resamples=500)
    assert (fast.value, fast.low, fast.high) == pytest.approx((slow.value, slow.low, slow.high))
    assert fast.n == slow.n == 14


@pytest.mark.parametrize("method", METHODS)
def test_copies_in_a_cluster_add_no_certainty(method: Method) -> None:
    copied = np.repeat(SKEWED, 5)
    tasks = np.repeat(np.arange(len(SKEWED)), 5).tolist()
    once = bootstrap(SKEWED, method=method, resamples=800)
    clustered = bootstrap(copied, clusters=tasks, method=method, resamples=800)
    as_if_independent = bootstrap(copied, method=method, resamples=800)
    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high))
    assert clustered.n == 40
    assert width(as_if_independent.low, as_if_independent.high) < width(once.low, once.high) / 2


def width(low: float | None, high: float | None) -> float:
    assert low is not None
    assert high is not None
    return high - low


@pytest.mark.parametrize("method", METHODS)
def test_nineteen_of_twenty_intervals_hold_the_truth(method: Method) -> None:
    rng = np.random.default_rng(5)
    held = 0
    for seed in range(300):
        found = bootstrap(rng.normal(size=40), method=method, resamples=600, seed=seed)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0 <= found.high
    assert 0.90 <= held / 300 <= 0.98


@given(values, st.sampled_from(METHODS))
@steady
def test_the_interval_lies_within_the_data_and_can_be_repeated(
    data: list[float], method: Method
) -> None:
    found = bootstrap(data, method=method, resamples=200, seed=4)
    assert found == bootstrap(data, method=method, resamples=200, seed=4)
    if found.low is not None and found.high is not None:
        assert min(data) - 1e-9 <= found.low <= found.high <= max(data) + 1e-9


@given(values, st.floats(-5, 5), st.floats(0.5, 4))
@steady
def test_moving_and_stretching_the_data_moves_and_stretches_the_interval(
    data: list[float], by: float, times: float
) -> None:
    plain = bootstrap(data, resamples=200)
    moved = bootstrap(np.array(data) * times + by, resamples=200)
    assert plain.low is not None
    assert plain.high is not None
    wanted = (plain.low * times + by, plain.high * times + by)
    assert (moved.low, moved.high) == pytest.approx(wanted, abs=1e-6)


def test_equal_values_give_an_interval_of_no_width() -> None:
    for method in METHODS:
        found = bootstrap([2.0, 2.0, 2.0], method=method, resamples=50)
        assert (found.value, found.low, found.high) == (2.0, 2.0, 2.0)


def test_rows_can_be_several_numbers() -> None:
    pairs = np.column_stack([SKEWED, 2 * SKEWED])
    found = bootstrap(pairs, lambda rows: float(rows[:, 1].sum() / rows[:, 0].sum()), resamples=50)
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))
    with pytest.raises(ValueError, match="give a statistic"):
        bootstrap(pairs)


def test_too_little_data_give_a_reason() -> None:
    assert bootstrap([]).reason == "needs one value or more, there is none"
    alone = bootstrap([3.0])
    assert (alone.value, alone.low) == (3.0, None)
    assert alone.reason == "an interval needs two values or more, there is one value"
    one_task = bootstrap([3.0, 4.0], clusters=["t", "t"])
    assert one_task.reason == "an interval needs two clusters or more, there is one cluster"
    with pytest.raises(ValueError, match="2 rows and 1 entries"):
        bootstrap([3.0, 4.0], clusters=["t"])


def test_resamples_without_a_value_are_left_out_and_said() -> None:
    found = bootstrap([0.0, 1.0, 2.0], lambda rows: 1 / rows.min() if rows.min() else np.nan)
    assert found.value is None
    assert "no value on these data" in found.reason
    found = bootstrap(
        [0.0, 1.0, 2.0], lambda rows: 1 / rows.max() if rows.max() else np.nan, resamples=1000
    )
    assert found.value == 0.5
    assert found.low == 0.5
    assert "of 1000 resamples gave no value" in found.reason


def test_where_leaving_one_out_leaves_no_value_there_is_no_bca_interval() -> None:
    def spread_over_the_largest(rows: Array) -> float:
        return float(rows.mean() / rows.max()) if rows.max() else np.nan

    found = bootstrap([0.0, 0.0, 2.0], spread_over_the_largest, method="bca", resamples=200)
    assert found.value == pytest.approx(1 / 3)
    assert found.low is None
    assert found.reason == "too few or too uneven data for a BCa interval"
