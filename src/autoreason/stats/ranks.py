"""How far rankings agree. Imports the standard library only: every panel states its agreement."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, combinations, permutations
from math import factorial, isnan
from operator import add
from statistics import fmean
from typing import NamedTuple

from autoreason.stats.results import Estimate, Test, counted

_SHUFFLES = 20_000
_COUNTABLE = 30_000


def kendall_tau(one: Sequence[str], other: Sequence[str]) -> float | None:
    """Kendall's tau (1938) of two rankings without ties: 1 the same, 0 unrelated, -1 opposite."""
    if set(one) != set(other):
        raise ValueError(f"rankings of other names: {', '.join(one)}; {', '.join(other)}")
    if len(one) < 2:
        return None
    place = {name: position for position, name in enumerate(other)}
    pairs = list(combinations(one, 2))
    concordant = sum(place[better] < place[worse] for better, worse in pairs)
    return 2 * concordant / len(pairs) - 1


def agreement(rankings: Sequence[Sequence[str]]) -> float | None:
    """Mean Kendall tau between any two judges: 1 the same, 0 unrelated, -1 opposite."""
    if len(rankings) < 2 or len(rankings[0]) < 2:
        return None
    taus = (kendall_tau(one, other) for one, other in combinations(rankings, 2))
    return fmean(tau for tau in taus if tau is not None)


def tau_b(one: Sequence[float], other: Sequence[float]) -> Estimate:
    """Kendall's tau-b (1945) of two rows of scores or places, which may contain ties."""
    _check_rows([one, other])
    if len(one) < 2:
        return Estimate(None, n=len(one), reason=f"needs two things or more, {_are(len(one))}")
    from scipy.stats import kendalltau

    tau = float(kendalltau(one, other).statistic)
    if isnan(tau):
        return Estimate(None, n=len(one), reason="one of the two puts everything on the same place")
    return Estimate(tau, n=len(one))


class Concordance(NamedTuple):
    """How far several judges agree, and whether chance explains it."""

    w: Estimate
    test: Test


def kendalls_w(scores: Sequence[Sequence[float]]) -> Concordance:
    """Kendall's W (Kendall and Babington Smith 1939) with its correction for ties, and Friedman's chi-square.

    One row per judge, one column per thing; the numbers are scores or places and count by their order
    in the row only. 1 is the same order by all; judges who rank at random come to 1 / judges on average. The p-value
    counts every way to shuffle the rows, or twenty thousand of them where they are too many.
    """
    _check_rows(scores)
    judges, things = len(scores), len(scores[0]) if scores else 0
    reason = _too_few(judges, things)
    if reason:
        return Concordance(
            Estimate(None, n=judges, reason=reason), Test(None, n=judges, reason=reason)
        )
    rows = [midranks(row) for row in scores]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    spread = sum((each - fmean(sums)) ** 2 for each in sums)
    ties = sum(times**3 - times for row in rows for times in Counter(row).values())
    max_spread = (judges**2 * (things**3 - things) - judges * ties) / 12
    if not max_spread:
        reason = "every judge puts everything on the same place"
        return Concordance(
            Estimate(None, n=judges, reason=reason), Test(None, n=judges, reason=reason)
        )
    w = spread / max_spread
    statistic = judges * (things - 1) * w
    spreads, tails = _spreads_by_chance(tuple(sorted(tuple(sorted(row)) for row in rows)))
    p = tails[bisect_left(spreads, spread * (1 - 1e-9))]
    return Concordance(Estimate(w, n=judges), Test(p, statistic=statistic, n=judges))


@lru_cache(64)
def _spreads_by_chance(rows: tuple[tuple[float, ...], ...]) -> tuple[list[float], list[float]]:
    """How far the sums of columns spread if every row is shuffled, ascending, and how likely as much or more is."""
    judges, things = len(rows), len(rows[0])
    if judges ** (things - 1) * factorial(things) <= _COUNTABLE:
        counts = Counter({(0.0,) * things: 1})
        for row in rows:
            counts = _add_row(counts, set(permutations(row)))
        middle = sum(map(sum, rows)) / things
        spread_counts: Counter[float] = Counter()
        for sums, times in counts.items():
            spread_counts[sum((each - middle) ** 2 for each in sums)] += times
        observed = 0
    else:
        spread_counts = Counter(_spreads_of_shuffled(rows))
        # The judges at hand count as one more (Phipson and Smyth 2010).
        observed = 1
    spreads = sorted(spread_counts)
    below = [0, *accumulate(spread_counts[each] for each in spreads)]
    return spreads, [(below[-1] - each + observed) / (below[-1] + observed) for each in below]


def _add_row(
    counts: Mapping[tuple[float, ...], int], orders: Iterable[tuple[float, ...]]
) -> Counter[tuple[float, ...]]:
    further: Counter[tuple[float, ...]] = Counter()
    for order in orders:
        for sums, times in counts.items():
            further[tuple(map(add, sums, order))] += times
    return further


def _spreads_of_shuffled(rows: Sequence[Sequence[float]]) -> list[float]:
    import numpy as np

    rng = np.random.default_rng(0)
    sums = np.zeros((_SHUFFLES, len(rows[0])))
    for row in rows:
        sums += rng.permuted(np.tile(row, (_SHUFFLES, 1)), axis=1)
    return list(map(float, ((sums - sums.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)))


def midranks(scores: Sequence[float]) -> list[float]:
    """Places from 1 for the smallest; equals share the mean of their places."""
    places: dict[float, float] = {}
    below = 0
    for score, times in sorted(Counter(scores).items()):
        places[score] = below + (times + 1) / 2
        below += times
    return [places[score] for score in scores]


def places(ranking: Sequence[str]) -> Mapping[str, int]:
    """The place of every name in a ranking, 1 for the best."""
    return {name: place for place, name in enumerate(ranking, start=1)}


def _too_few(judges: int, things: int) -> str:
    if judges < 2:
        return f"needs two judges or more, {counted(judges, 'judge')}"
    if things < 2:
        return f"needs two things or more, {_are(things)}"
    return ""


def _are(number: int) -> str:
    return counted(number, "thing")


def _check_rows(rows: Sequence[Sequence[float]]) -> None:
    if any(isnan(number) for row in rows for number in row):
        raise ValueError("a score is a number; leave out what is not known")
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"rows differ in length: {', '.join(str(len(row)) for row in rows)}")


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
