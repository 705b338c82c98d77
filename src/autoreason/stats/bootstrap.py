"""Intervals by drawing the data again, whole clusters at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from autoreason.stats.results import Estimate, counted

Array = NDArray[Any]
Statistic = Callable[[Array], float]
Method = Literal["percentile", "bca"]

_AT_ONCE = 2_000_000


def bootstrap(
    rows: ArrayLike,
    statistic: Statistic | Literal["mean"] = "mean",
    *,
    clusters: Sequence[Hashable] | None = None,
    method: Method = "percentile",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """A statistic of the rows with its bootstrap interval (Efron 1979; `bca`: Efron 1987).

    `rows` is one number or one row of numbers a case. Cases with the same entry in `clusters` (a
    task, say) hang together: whole clusters are drawn, with all their rows, and the jackknife of
    `bca` leaves out whole clusters (Davison and Hinkley 1997, section 3.8). `n` counts clusters.
    """
    data = np.asarray(rows, dtype=float)
    members = cluster_members(clusters, len(data))
    if not members:
        return Estimate(None, reason="needs one value or more, there is none")
    drawn: Draws = _Means(data, members) if statistic == "mean" else _Any(data, members, statistic)
    value = drawn.whole()
    n = len(members)
    if not isfinite(value):
        return Estimate(None, n=n, reason="the statistic has no value on these data")
    if n < 2:
        noun = "value" if clusters is None else "cluster"
        reason = f"an interval needs two {noun}s or more, {counted(n, noun)}"
        return Estimate(value, n=n, reason=reason)
    values = drawn.again(resamples, np.random.default_rng(seed))
    return _interval(value, values, drawn, method, confidence)


def cluster_members(clusters: Sequence[Hashable] | None, rows: int) -> list[NDArray[np.intp]]:
    """The row numbers of each cluster, in order of appearance; every row its own where None."""
    if clusters is None:
        return list(np.arange(rows).reshape(rows, 1))
    if len(clusters) != rows:
        raise ValueError(f"there are {rows} rows and {len(clusters)} entries of `clusters`")
    found: dict[Hashable, list[int]] = {}
    for row, cluster in enumerate(clusters):
        found.setdefault(cluster, []).append(row)
    return [np.array(each) for each in found.values()]


class _Means:
    """The mean over rows, by sums and counts of clusters."""

    def __init__(self, data: Array, members: list[NDArray[np.intp]]) -> None:
        if data.ndim != 1:
            raise ValueError("the mean is of single numbers; give a statistic for rows of numbers")
        self.sums = np.array([data[each].sum() for each in members])
        self.counts = np.array([len(each) for each in members], dtype=float)

    def whole(self) -> float:
        return float(self.sums.sum() / self.counts.sum())

    def again(self, resamples: int, rng: np.random.Generator) -> Array:
        n = len(self.sums)
        parts = []
        for size in batches(resamples, n):
            chosen = rng.integers(n, size=(size, n))
            parts.append(self.sums[chosen].sum(axis=1) / self.counts[chosen].sum(axis=1))
        return np.concatenate(parts)

    def without_each(self) -> Array:
        return np.asarray(
            (self.sums.sum() - self.sums) / (self.counts.sum() - self.counts), dtype=float
        )


class _Any:
    """Any statistic, worked out anew on every draw."""

    def __init__(self, data: Array, members: list[NDArray[np.intp]], statistic: Statistic) -> None:
        self.data, self.members, self.statistic = data, members, statistic

    def whole(self) -> float:
        return float(self.statistic(self.data))

    def again(self, resamples: int, rng: np.random.Generator) -> Array:
        n = len(self.members)
        draws = (rng.integers(n, size=n) for _ in range(resamples))
        return np.array([self._of([self.members[at] for at in draw]) for draw in draws])

    def without_each(self) -> Array:
        kept = ([*self.members[:at], *self.members[at + 1 :]] for at in range(len(self.members)))
        return np.array([self._of(members) for members in kept])

    def _of(self, members: list[NDArray[np.intp]]) -> float:
        return float(self.statistic(self.data[np.concatenate(members)]))


Draws = _Means | _Any


def batches(resamples: int, n: int) -> Iterator[int]:
    """How many draws of `n` to make at a time, so that they fit into memory."""
    size = max(1, _AT_ONCE // n)
    for start in range(0, resamples, size):
        yield min(size, resamples - start)


def _interval(
    value: float, values: Array, drawn: Draws, method: Method, confidence: float
) -> Estimate:
    n = len(drawn.counts) if isinstance(drawn, _Means) else len(drawn.members)
    usable = values[np.isfinite(values)]
    lost = len(values) - len(usable)
    reason = f"{lost} of {len(values)} resamples gave no value and are left out" if lost else ""
    if not len(usable):
        return Estimate(value, n=n, reason="no resample gave a value, so there is no interval")
    levels: Array | None = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if method == "bca":
        levels = _bca_levels(value, usable, drawn.without_each(), np.asarray(levels))
    if levels is None:
        return Estimate(value, n=n, reason="too few or too uneven data for a BCa interval")
    low, high = np.quantile(usable, levels)
    return Estimate(value, float(low), float(high), n=n, reason=reason)


def _bca_levels(value: float, values: Array, without_each: Array, levels: Array) -> Array | None:
    """The percentiles to take, moved by median bias and acceleration (Efron 1987)."""
    if np.ptp(values) == 0:
        return levels
    # Values equal to the observed one count half, as they lie on neither side of it.
    bias = ndtri(np.mean(values < value) + np.mean(values == value) / 2)
    if not isfinite(bias) or not np.isfinite(without_each).all():
        return None
    deviations = without_each.mean() - without_each
    squares = float((deviations**2).sum())
    acceleration = float((deviations**3).sum()) / (6 * squares**1.5) if squares else 0.0
    shifted = bias + ndtri(levels)
    return np.asarray(ndtr(bias + shifted / (1 - acceleration * shifted)), dtype=float)
