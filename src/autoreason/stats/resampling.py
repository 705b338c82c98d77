"""What chance gives by drawing again: flipped signs, clusters, positions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, isfinite, lgamma, sqrt
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoreason.stats import Estimate, Test, counted
from autoreason.stats.shares import sign_test, student_t

_EXACT_UP_TO = 16
_DRAWN = 20_000


def permutation_test(differences: Sequence[float]) -> Test:
    """Whether the mean difference could come of flipped signs (Fisher 1935), two-sided.

    Up to sixteen differences every way to flip is counted; beyond, twenty thousand ways are drawn, the same ones
    every time, and the data count as one more (Phipson and Smyth 2010), so p is never 0. Differences of one size are
    counted by the sign test, however many there are, which of solved problems is McNemar's. The statistic is the mean.
    """
    if not all(map(isfinite, differences)):
        raise ValueError("a difference is a number; leave out what is not known")
    if not differences:
        return Test(None, reason="needs one pair or more, there is none")
    moving = [each for each in differences if each]
    if len(set(map(abs, moving))) == 1:
        signs = sign_test(sum(each > 0 for each in moving), sum(each < 0 for each in moving))
        return Test(signs.p_value, statistic=fmean(differences), n=len(differences))
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
    return Test(p, statistic=fmean(differences), n=len(differences))


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
    rng = np.random.default_rng(0)
    chosen = rng.integers(len(clusters), size=(_BOOTSTRAPS, len(clusters)))
    means = np.asarray([members[0] for members in clusters], dtype=float)[chosen]
    small = chosen.astype(np.min_scalar_type(len(clusters)))
    for at, members in enumerate(clusters):
        if len(members) > 1:
            places = np.flatnonzero(small == at)
            again = rng.integers(len(members), size=(len(places), len(members)))
            means.flat[places] = np.asarray(members, dtype=float)[again].mean(axis=1)
    drawn: NDArray[np.float64] = means.mean(axis=1)
    return drawn


_COUNTABLE = 20_000
_ENOUGH_EACH = 30


def equal_shares(counts: Sequence[int]) -> Test:
    """Whether counts could come from equal chances: exact where all tables of the same total can be counted.

    Then those that are no likelier than this one are added up (the exact multinomial test). Else it is Pearson's
    chi-square (1900), against tables drawn at random where fewer than thirty are expected each.
    """
    if any(count < 0 for count in counts):
        raise ValueError(f"a count is 0 or more, not {min(counts)}")
    n, cells = sum(counts), len(counts)
    if cells < 2:
        return Test(None, n=n, reason="needs two positions or more")
    if not n:
        return Test(None, reason="needs one first place or more, there is none")
    observed = np.asarray(counts, dtype=float)
    statistic = float(((observed - n / cells) ** 2).sum() * cells / n)
    if comb(n + cells - 1, cells - 1) <= _COUNTABLE:
        return Test(_multinomial(tuple(sorted(counts))), statistic=statistic, n=n)
    if n < _ENOUGH_EACH * cells:
        drawn = _random_statistics(n, cells)
        # The table at hand counts as one more (Phipson and Smyth 2010).
        as_far = len(drawn) - int(np.searchsorted(drawn, statistic * (1 - 1e-9)))
        return Test((as_far + 1) / (len(drawn) + 1), statistic=statistic, n=n)
    # A third of a second to load, and only this needs it.
    from scipy.special import chdtrc

    return Test(float(chdtrc(cells - 1, statistic)), statistic=statistic, n=n)


@lru_cache(1024)
def _multinomial(counts: tuple[int, ...]) -> float:
    n, cells = sum(counts), len(counts)
    factorials = np.array([lgamma(each + 1) for each in range(n + 1)])
    weights, mine = (
        factorials[n] - factorials[np.array(tables)].sum(axis=-1) - n * np.log(cells)
        for tables in (_all_tables(n, cells), counts)
    )
    # Tables as likely as this one must not drop out by rounding.
    return min(1.0, float(np.exp(weights[weights <= mine + 1e-9]).sum()))


@lru_cache(64)
def _random_statistics(n: int, cells: int) -> NDArray[Any]:
    """Chi-squares of tables drawn with equal chances, in ascending order; the same ones every time."""
    tables = np.random.default_rng(0).multinomial(n, [1 / cells] * cells, size=_DRAWN)
    return np.sort(((tables - n / cells) ** 2).sum(axis=1) * cells / n)


def _all_tables(n: int, cells: int) -> list[tuple[int, ...]]:
    if cells == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in _all_tables(n - first, cells - 1)]
