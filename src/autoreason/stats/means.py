"""Means of a handful of values."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt
from statistics import fmean, stdev

from scipy.special import stdtrit

from autoreason.stats.results import Estimate, counted


def mean(values: Sequence[float], confidence: float = 0.95) -> Estimate:
    """The mean with Student's interval (1908), which holds for few values better than a bootstrap."""
    n = len(values)
    if not all(map(isfinite, values)):
        raise ValueError("a value is a number; leave out what is not known")
    if not n:
        return Estimate(None, reason="needs one value or more, there is none")
    middle = fmean(values)
    if n < 2:
        reason = f"an interval needs two values or more, {counted(n, 'value')}"
        return Estimate(middle, n=n, reason=reason)
    if len(set(values)) == 1:
        reason = "every value is the same, so nothing shows how far they spread"
        return Estimate(middle, n=n, reason=reason)
    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * stdev(values) / sqrt(n)
    return Estimate(middle, middle - reach, middle + reach, n=n)
