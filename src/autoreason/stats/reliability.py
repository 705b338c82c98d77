"""How far raters who score the same things agree, beyond what chance would give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from autoreason.stats.bootstrap import bootstrap
from autoreason.stats.results import Estimate, counted

Array = NDArray[Any]
Level = Literal["nominal", "ordinal", "interval"]


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]],
    *,
    level: Level = "ordinal",
    confidence: float = 0.95,
    resamples: int = 0,
    seed: int = 0,
) -> Estimate:
    """Krippendorff's alpha (2011): 1 full agreement, 0 what chance gives, below 0 systematic disagreement.

    One row a rater, one column a thing rated; None where a rater did not rate it. `n` counts the
    things rated twice or more. With `resamples` the interval is a percentile bootstrap over things.
    """
    known = [[None if r is None or isnan(r) else float(r) for r in row] for row in ratings]
    if len({len(row) for row in known}) > 1:
        raise ValueError(
            "every rater needs an entry for every thing, None where there is no rating"
        )
    units = [[r for r in column if r is not None] for column in zip(*known, strict=True)]
    paired = [unit for unit in units if len(unit) > 1]
    n = len(paired)
    if not paired:
        return Estimate(None, reason=_why_none(known))
    values = sorted({r for unit in paired for r in unit})
    if len(values) < 2:
        return Estimate(
            None, n=n, reason="every rating is the same, so nothing can agree or disagree"
        )
    counts = np.array([[unit.count(value) for value in values] for unit in paired], dtype=float)
    distance = _DISTANCES[level]

    def alpha(rows: Array) -> float:
        return _alpha(rows, np.array(values), distance)

    if not resamples:
        return Estimate(float(alpha(counts)), n=n)
    return bootstrap(counts, alpha, confidence=confidence, resamples=resamples, seed=seed)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> Estimate:
    """Fleiss' kappa (1971) for categories without order.

    One row a thing, one column a category, the number of raters who chose it; every thing needs
    the same number of raters.
    """
    table = np.asarray(counts, dtype=float)
    if not table.size:
        return Estimate(None, reason="needs one rated thing or more, there is none")
    raters = table.sum(axis=1)
    if np.ptp(raters):
        raise ValueError("Fleiss' kappa needs the same number of raters for every thing")
    n, each = len(table), float(raters[0])
    if each < 2:
        return Estimate(
            None, n=n, reason=f"needs two raters or more, {counted(int(each), 'rater')}"
        )
    agreed = float(((table**2).sum(axis=1) - each).mean() / (each * (each - 1)))
    by_chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    if by_chance == 1:
        return Estimate(
            None, n=n, reason="every rating is the same, so nothing can agree or disagree"
        )
    return Estimate((agreed - by_chance) / (1 - by_chance), n=n)


def _alpha(counts: Array, values: Array, distance: Callable[[Array, Array], Array]) -> float:
    """1 less the observed over the expected disagreement, from how often each thing got each value."""
    raters = counts.sum(axis=1)
    coincidences = (counts.T / (raters - 1)) @ counts - np.diag(
        (counts / (raters - 1)[:, None]).sum(axis=0)
    )
    totals = coincidences.sum(axis=0)
    apart = distance(values, totals)
    expected = float(totals @ apart @ totals) / (totals.sum() - 1)
    # A resample can hold a single value only.
    return 1 - float((coincidences * apart).sum()) / expected if expected else float("nan")


def _nominal(values: Array, _totals: Array) -> Array:
    return np.asarray(1.0 - np.eye(len(values)), dtype=float)


def _ordinal(_values: Array, totals: Array) -> Array:
    """The ratings that lie between two values, their own counted half, squared."""
    middles = np.cumsum(totals) - totals / 2
    return np.asarray((middles[:, None] - middles[None, :]) ** 2, dtype=float)


def _interval(values: Array, _totals: Array) -> Array:
    return np.asarray((values[:, None] - values[None, :]) ** 2, dtype=float)


_DISTANCES: Mapping[Level, Callable[[Array, Array], Array]] = {
    "nominal": _nominal,
    "ordinal": _ordinal,
    "interval": _interval,
}


def _why_none(ratings: Sequence[Sequence[float | None]]) -> str:
    raters = sum(any(r is not None for r in row) for row in ratings)
    if raters < 2:
        return f"needs two raters or more, {counted(raters, 'rater')}"
    return "no thing was rated by two raters"
