"""Two ways over the same tasks: is the difference more than chance, and how large is it?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autoreason.stats.bootstrap import Method, batches, bootstrap, cluster_members
from autoreason.stats.results import Estimate, Test
from autoreason.stats.shares import sign_test

_EXACT_UP_TO = 16
_NOTHING = "needs one pair or more, there is none"


def permutation_test(
    differences: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 20_000,
    seed: int = 0,
) -> Test:
    """Whether the mean difference could come of flipped signs (Fisher 1935), two-sided.

    All signs in a cluster (a task, say) flip together. Up to sixteen clusters that differ every
    way to flip is counted; beyond, `resamples` ways are drawn and the data count as one more
    (Phipson and Smyth 2010), so p is never 0. `n` counts clusters, the statistic is the mean.
    """
    values = np.asarray(differences, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError("a difference is a number; leave out what is not known")
    members = cluster_members(clusters, len(values))
    if not members:
        return Test(None, reason=_NOTHING)
    sums = np.array([values[each].sum() for each in members])
    moving = sums[sums != 0]
    # Sums of the same size must not differ by rounding.
    observed = abs(moving.sum()) * (1 - 1e-9)
    if len(moving) <= _EXACT_UP_TO:
        p = float((np.abs(_every_flip(moving)) >= observed).mean())
    else:
        rng = np.random.default_rng(seed)
        as_far = 0
        for size in batches(resamples, len(moving)):
            signs = rng.integers(0, 2, size=(size, len(moving)), dtype=np.int8) * 2 - 1
            as_far += int((np.abs(signs @ moving) >= observed).sum())
        p = (as_far + 1) / (resamples + 1)
    return Test(p, statistic=float(values.mean()), n=len(members))


def paired_sign_test(differences: ArrayLike, *, clusters: Sequence[Hashable] | None = None) -> Test:
    """The exact sign test on differences; those of 0 say nothing, and a cluster speaks once, by its sum."""
    values = np.asarray(differences, dtype=float)
    sums = [float(values[each].sum()) for each in cluster_members(clusters, len(values))]
    if not sums:
        return Test(None, reason=_NOTHING)
    return sign_test(sum(s > 0 for s in sums), sum(s < 0 for s in sums))


def paired_difference(
    one: ArrayLike,
    other: ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    method: Method = "percentile",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Estimate:
    """The mean of `one` less `other`, pair by pair, with its bootstrap interval over pairs or clusters."""
    first, second = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"pairs need both sides: there are {len(first)} and {len(second)} values")
    return bootstrap(
        first - second,
        clusters=clusters,
        method=method,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )


def _every_flip(sums: NDArray[Any]) -> NDArray[Any]:
    totals = np.zeros(1)
    for each in sums:
        totals = np.concatenate([totals + each, totals - each])
    return totals
