"""Outcomes of simulated runs, and their summary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.special import stdtrit

from autoreason.report.numbers import interval
from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share, pooled_share

Counts = NDArray[np.int64] | NDArray[np.bool_]


class Outcomes(NamedTuple):
    """One number per run."""

    quality: NDArray[np.float64]
    """True quality of the text delivered."""
    passes: NDArray[np.int64]
    calls: NDArray[np.int64]
    displaced: NDArray[np.int64]
    """Passes in which a challenger displaced A."""
    worse: NDArray[np.int64]
    """Those of them in which it was worse than A."""
    claimed: NDArray[np.bool_]
    """Whether the confirmation shows that judges prefer the delivered text to the first draft."""


def claiming_votes(judges: int) -> int:
    """How many judges of a confirmation must prefer the delivered text for their share to be over a half."""
    return next(
        (n for n in range(judges + 1) if (exact_share(n, judges).low or 0) > 0.5), judges + 1
    )


class Interval(Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return interval(Estimate(self.value, self.low, self.high))


class Summary(Struct, frozen=True, kw_only=True):
    """What a protocol delivers in a world."""

    runs: int
    quality: Interval
    passes: Interval
    calls: Interval
    worse: Interval | None
    """Share of displacements that made things worse; None where nothing was displaced."""
    claimed: Interval | None
    """Share of runs with a text better than the first draft that can say so; None where there is none."""
    claimed_wrongly: Interval | None
    """Share of runs without a better text that say they have one; None where there is none."""


def summarise(outcomes: Outcomes, *, confirmed: bool = True) -> Summary:
    """Means, shares and their intervals; `confirmed` is whether there was a confirmation."""
    better = outcomes.quality > 0
    return Summary(
        runs=len(outcomes.quality),
        quality=mean(outcomes.quality),
        passes=mean(outcomes.passes),
        calls=mean(outcomes.calls),
        worse=ratio(outcomes.worse, outcomes.displaced),
        claimed=ratio(outcomes.claimed, better) if confirmed else None,
        claimed_wrongly=ratio(outcomes.claimed, ~better) if confirmed else None,
    )


def ratio(part: Counts, whole: Counts) -> Interval | None:
    """The share of a part, run by run, in the whole; None where the whole is 0."""
    counted = whole > 0
    share = pooled_share(list(zip(part[counted].tolist(), whole[counted].tolist(), strict=True)))
    if share.value is None or share.low is None or share.high is None:
        return None
    return Interval(share.value, share.low, share.high)


def mean(values: NDArray[np.float64] | NDArray[np.int64]) -> Interval:
    """The mean and Student's interval; from a single run nothing is known of its error."""
    n, value, half = len(values), float(values.mean()), float("inf")
    if n > 1:
        half = float(stdtrit(n - 1, 0.975)) * float(values.std(ddof=1)) / n**0.5
    return Interval(value, value - half, value + half)
