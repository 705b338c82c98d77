"""A mean from few measurements and many predictions. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from math import cbrt, fsum, sqrt
from typing import NamedTuple

from autoreason.stats.results import Estimate, counted
from autoreason.stats.shares import student_t

MIN_MEASURED = 60
"""With fewer, the few large values that carry a skewed mean can all be missing, and no interval holds the truth."""
_TAIL = 0.01
"""On either side: a skew that is estimated is too small, and with less the interval is too short for 95 %."""
_STRAIGHT = 1e-6
"""A skew below this changes nothing but the last digits."""
_PREDICTS = 0.025
"""On either side, whether predictions predict."""


class PoweredMean(NamedTuple):
    """A mean from measurements alone, and joined with predictions."""

    alone: Estimate
    joined: Estimate
    """The same as `alone` where predictions do not predict."""
    weight: float
    """How far predictions count; 0 where they do not predict."""


def prediction_powered_mean(
    measured: Sequence[tuple[float, float]], predicted: Sequence[float]
) -> PoweredMean:
    """The mean of what was measured, helped by predictions of it and of much that was not measured, at 95 %.

    Pairs of measurement and prediction, and the other predictions, must be drawn from one population. Predictions are
    corrected by their error where it is known (Angelopoulos and others 2023), and count as much as makes
    the interval shortest (PPI++, 2023). They are left out where they do not predict measurements beyond chance, so
    that the interval is never longer than that of the measurements. Intervals follow the skew of the measurements
    (Hall 1992), and need `MIN_MEASURED` of them.
    """
    values, forecasts = [value for value, _ in measured], [each for _, each in measured]
    n, more = len(values), len(predicted)
    if n < MIN_MEASURED:
        reason = f"an interval needs {MIN_MEASURED}, {counted(n, 'measurement')}"
        alone = Estimate(fsum(values) / n if n else None, n=n, reason=reason)
        return PoweredMean(alone, alone, 0.0)
    mean, spread = _mean_and_squares(values)
    alone = _estimate(mean, spread / (n - 1) / n, [value - mean for value in values], n - 1, n)
    middle, width = _mean_and_squares(forecasts)
    if more < 2 or not spread or not width:
        return PoweredMean(alone, alone, 0.0)
    others, other_width = _mean_and_squares(predicted)
    slope = fsum((value - mean) * (each - middle) for value, each in measured) / width
    explained, far = slope**2 * width / spread, student_t(n - 2, _PREDICTS) ** 2
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
    error *= 1 + 2 / n
    corrected = [value - mean - weight * (each - middle) for value, each in measured]
    joined = _estimate(mean - weight * apart, error, corrected, n - 2, n + more)
    if not _width(joined) < _width(alone):
        return PoweredMean(alone, alone, 0.0)
    return PoweredMean(alone, joined, weight)


def _estimate(
    mean: float, variance: float, deviations: Sequence[float], freedom: int, n: int
) -> Estimate:
    """A mean with an interval that reaches further to the side on which few large values lie."""
    error, far = sqrt(variance), student_t(freedom, _TAIL)
    skew = fsum(each**3 for each in deviations) / len(deviations) ** 3
    skew = skew / error**3 if error else 0.0

    def reach(quantile: float) -> float:
        if abs(skew) < _STRAIGHT:
            return quantile * error
        return 3 * (cbrt(1 + skew * (quantile - skew / 6)) - 1) / skew * error

    return Estimate(mean, mean - reach(far), mean - reach(-far), n=n)


def _mean_and_squares(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and the sum of squared differences from it."""
    mean = fsum(values) / len(values)
    return mean, fsum((value - mean) ** 2 for value in values)


def _width(found: Estimate) -> float:
    return (found.high or 0.0) - (found.low or 0.0)
