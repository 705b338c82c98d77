"""A mean from few measurements and many predictions."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.stats.prediction_powered import MIN_MEASURED, prediction_powered_mean

numbers = st.floats(-100, 100)
measured = st.lists(st.tuples(numbers, numbers), max_size=80)


def width(low: float | None, high: float | None) -> float:
    assert low is not None
    assert high is not None
    return high - low


@given(measured, st.lists(numbers, max_size=60))
def test_the_interval_is_never_longer_than_that_of_the_measurements(
    measured: list[tuple[float, float]], predicted: list[float]
) -> None:
    found = prediction_powered_mean(measured, predicted)
    if len(measured) < MIN_MEASURED:
        assert found.joined == found.alone
        assert found.alone.low is None
        assert found.alone.reason
        return
    alone = width(found.alone.low, found.alone.high)
    assert width(found.joined.low, found.joined.high) <= alone
    assert (found.weight == 0) == (found.joined == found.alone)


def draw(rng: random.Random, n: int, more: int) -> tuple[list[tuple[float, float]], list[float]]:
    """Predictions that say half of what will be measured, and lie 3 too high."""
    truths = [rng.gauss(1, 1) for _ in range(n + more)]
    forecasts = [0.5 * truth + 3 + rng.gauss(0, 0.2) for truth in truths]
    return list(zip(truths[:n], forecasts[:n], strict=True)), forecasts[n:]


def test_good_predictions_shorten_it_much_and_their_bias_does_not_matter() -> None:
    few, many = draw(random.Random(1), 65, 800)
    found = prediction_powered_mean(few, many)
    assert found.weight == pytest.approx(1.6, abs=0.3)
    joined, alone = (width(each.low, each.high) for each in (found.joined, found.alone))
    assert joined < 0.6 * alone
    assert found.joined.value == pytest.approx(1, abs=0.3)
    moved = prediction_powered_mean([(y, f + 50) for y, f in few], [f + 50 for f in many])
    assert moved.joined.value == pytest.approx(found.joined.value)
    assert moved.joined.low == pytest.approx(found.joined.low)


def test_few_measurements_have_a_mean_and_no_interval() -> None:
    few, many = draw(random.Random(2), MIN_MEASURED - 1, 400)
    found = prediction_powered_mean(few, many)
    assert (found.weight, found.alone.low) == (0, None)
    assert found.alone.value == pytest.approx(1, abs=0.5)
    few, many = draw(random.Random(2), MIN_MEASURED, 400)
    assert prediction_powered_mean(few, many).weight > 0


def test_the_interval_reaches_further_to_the_side_of_few_large_values() -> None:
    few = [(10.0 if at % 12 == 0 else 0.0, 0.5) for at in range(72)]
    found = prediction_powered_mean(few, []).alone
    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert found.high - found.value > 1.5 * (found.value - found.low)
    turned = prediction_powered_mean([(-value, each) for value, each in few], []).alone
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


@pytest.mark.parametrize("predicted", [[], [0.5], [0.5, 0.5, 0.5]])
def test_predictions_that_are_all_alike_or_none_change_nothing(predicted: list[float]) -> None:
    few = [(float(at % 3), 0.5) for at in range(72)]
    found = prediction_powered_mean(few, predicted)
    assert found.joined == found.alone
    assert prediction_powered_mean([(1.0, 0.1 * at) for at in range(72)], [0.2, 0.4]).weight == 0
