"""Intervals by drawing clusters again, and within them their members."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from autoreason.stats.results import Estimate, counted
from autoreason.stats.shares import student_t

_BOOTSTRAPS = 2000


def cluster_bootstrap(
    clusters: Sequence[Sequence[float]], confidence: float = 0.95, *, bounded: bool = False
) -> Estimate:
    """The mean of the means of clusters, such as tasks tried a few times; `n` counts clusters.

    Clusters are drawn with replacement, then their members (Davison and Hinkley 1997, 3.8), the same draws every
    time. The interval is Student's t over the standard error of the draws, corrected for how few clusters there
    are. Where values are `bounded`, differences between -1 and 1, two clusters are added as in `paired_gain`, one won
    and one lost, so that it does not shrink to nothing where all are the same. Without bounds there is no interval
    then, nor from two clusters.
    """
    known = [list(members) for members in clusters if members]
    if not known:
        return Estimate(None, reason="needs one pair or more, there is none")
    value = fmean(map(fmean, known))
    if reason := _no_interval(known, bounded=bounded):
        return Estimate(value, n=len(known), reason=reason)
    padded = [*known, [1.0], [-1.0]] if bounded else known
    number = len(padded)
    error = float(_draws(padded).std(ddof=1)) * sqrt(number / (number - 1))
    reach = student_t(number - 1, (1 - confidence) / 2) * error
    middle = fmean(map(fmean, padded))
    low, high = middle - reach, middle + reach
    if bounded:
        low, high = max(-1.0, low), min(1.0, high)
    return Estimate(value, min(low, value), max(high, value), n=len(known))


def _no_interval(clusters: Sequence[Sequence[float]], *, bounded: bool) -> str:
    """Why there is no interval; empty where there is one."""
    number = len(clusters)
    if number < (2 if bounded else 3):
        least = "two" if bounded else "three"
        return f"an interval needs {least} clusters or more, {counted(number, 'cluster')}"
    values = [value for members in clusters for value in members]
    # Equal differences may differ by rounding.
    if not bounded and max(values) - min(values) <= 1e-9 * max(map(abs, values)):
        return "all values are the same, which does not say how far others would differ"
    return ""


def _draws(clusters: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Means of clusters drawn again."""
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(clusters), size=(_BOOTSTRAPS, len(clusters)))
    means = np.zeros(chosen.shape)
    for at, members in enumerate(clusters):
        places = chosen == at
        values = np.asarray(members, dtype=float)
        size = (int(places.sum()), len(members))
        means[places] = values[rng.integers(len(members), size=size)].mean(axis=1)
    drawn: NDArray[np.float64] = means.mean(axis=1)
    return drawn
