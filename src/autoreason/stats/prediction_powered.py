"""A mean from few measurements and many predictions. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple

from autoreason.stats.results import Estimate, counted
from autoreason.stats.shares import student_t

MIN_MEASURED = 20
"""Measurements below which nobody can say whether predictions are worth anything."""


class PoweredMean(NamedTuple):
    """A mean from measurements alone, and joined with predictions."""

    alone: Estimate
    joined: Estimate
    """The same as `alone` where predictions do not predict."""
    weight: float
    """How far predictions count; 0 where they do not predict."""


def prediction_powered_mean(
    measured: Sequence[tuple[float, float]], predicted: Sequence[float], confidence: float = 0.95
) -> PoweredMean:
    """The mean of what was measured, helped by predictions of it and of much that was not measured.

    Pairs of measurement and prediction, and the other predictions, must be drawn from one population. Predictions are
    corrected by their error where it is known (Angelopoulos and others 2023), and count as much as makes
    the interval shortest (PPI++, 2023). They are left out where they do not predict measurements beyond chance, so
    that the interval is never longer than that of the measurements.
    """
    values, forecasts = [value for value, _ in measured], [each for _, each in measured]
    n, more = len(values), len(predicted)
    if n < 2:
        reason = f"an interval needs two, {counted(n, 'measurement')}"
        alone = Estimate(values[0] if values else None, n=n, reason=reason)
        return PoweredMean(alone, alone, 0.0)
    tail = (1 - confidence) / 2
    mean, spread = _mean_and_squares(values)
    reach = student_t(n - 1, tail) * sqrt(spread / (n - 1) / n)
    alone = Estimate(mean, mean - reach, mean + reach, n=n)
    middle, width = _mean_and_squares(forecasts)
    if n < MIN_MEASURED or more < 2 or not spread or not width:
        return PoweredMean(alone, alone, 0.0)
    others, other_width = _mean_and_squares(predicted)
    slope = fsum((value - mean) * (each - middle) for value, each in measured) / width
    explained, far = slope**2 * width / spread, student_t(n - 2, tail) ** 2
    if explained * (n - 2) <= far * (1 - explained):
        return PoweredMean(alone, alone, 0.0)
    share = 1 / (1 + n / more)
    weight, apart = slope * share, middle - others
    # What a line through all others misses of each: it was not drawn to fit that one.
    missed = fsum(
        ((value - mean - slope * (each - middle)) / (1 - 1 / n - (each - middle) ** 2 / width)) ** 2
        for value, each in measured
    )
    rest = missed / n + ((slope - weight) ** 2 * width) / (n - 1)
    error = rest / n + weight**2 * other_width / (more - 1) / more
    # The slope is an estimate, too, and matters as far as the two samples lie apart.
    error += missed / n * (apart * share) ** 2 / width
    # Predictions count only where they look good, and look better than they are.
    joined_reach = sqrt(far * error * (1 + 2 / n))
    if not joined_reach < reach:
        return PoweredMean(alone, alone, 0.0)
    value = mean - weight * apart
    joined = Estimate(value, value - joined_reach, value + joined_reach, n=n + more)
    return PoweredMean(alone, joined, weight)


def _mean_and_squares(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the sum of squared differences from it."""
    mean = fsum(values) / len(values)
    return mean, fsum((value - mean) ** 2 for value in values)
