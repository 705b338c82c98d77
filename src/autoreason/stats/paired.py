"""Two ways over the same tasks: is the difference more than chance?"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isfinite
from statistics import fmean

import numpy as np

from autoreason.stats.results import Test

_EXACT_UP_TO = 16
_DRAWN = 20_000


def permutation_test(
    differences: Sequence[float], *, clusters: Sequence[Hashable] | None = None
) -> Test:
    """Whether the mean difference could come of flipped signs (Fisher 1935), two-sided.

    All signs in a cluster (a task, say) flip together. Up to sixteen clusters that differ every
    way to flip is counted; beyond, twenty thousand ways are drawn, the same ones every time, and the
    data count as one more (Phipson and Smyth 2010), so p is never 0. `n` counts clusters, the
    statistic is the mean.
    """
    if not all(map(isfinite, differences)):
        raise ValueError("a difference is a number; leave out what is not known")
    sums: dict[Hashable, float] = {}
    for unit, each in zip(clusters or range(len(differences)), differences, strict=True):
        sums[unit] = sums.get(unit, 0.0) + each
    if not sums:
        return Test(None, reason="needs one pair or more, there is none")
    moving = [each for each in sums.values() if each]
    exact, rng = len(moving) <= _EXACT_UP_TO, np.random.default_rng(0)
    totals = np.zeros(1 if exact else _DRAWN)
    for each in moving:
        if exact:
            totals = np.concatenate([totals + each, totals - each])
        else:
            totals += rng.choice([each, -each], size=_DRAWN)
    # Sums of the same size must not differ by rounding.
    as_far = int((np.abs(totals) >= abs(sum(moving)) * (1 - 1e-9)).sum())
    p = as_far / len(totals) if exact else (as_far + 1) / (_DRAWN + 1)
    return Test(p, statistic=fmean(differences), n=len(sums))
