"""A mean of few values has Student's interval."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from autoreason.stats.means import mean

values = st.lists(st.integers(-500, 500).map(lambda n: n / 10), min_size=2, max_size=12)


@settings(derandomize=True)
@given(values)
def test_the_interval_is_that_of_the_t_test(found: list[float]) -> None:
    estimate = mean(found)
    assert estimate.value is not None
    if len(set(found)) == 1:
        assert estimate.low is None
        assert "every value is the same" in estimate.reason
        return
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= estimate.value <= estimate.high
    wanted = scipy_stats.ttest_1samp(found, 0).confidence_interval(0.95)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(wanted), rel=1e-6, abs=1e-6)


def test_one_value_has_no_interval_and_says_why() -> None:
    estimate = mean([3.0])
    assert (estimate.value, estimate.low, estimate.n) == (3.0, None, 1)
    assert "two values or more" in estimate.reason


def test_no_value_has_no_mean() -> None:
    assert mean([]).value is None
    assert mean([]).reason
