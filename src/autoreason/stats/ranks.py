"""How far rankings and ratings agree, and who wins their duels. Every panel states its agreement."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import accumulate, combinations, permutations
from math import factorial, fsum, isnan
from operator import add
from statistics import fmean, variance
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
        return Estimate(
            None, n=len(one), reason=f"needs two things or more, {counted(len(one), 'thing')}"
        )
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
    rows = [midranks(row) for row in scores]
    ties = sum(times**3 - times for row in rows for times in Counter(row).values())
    max_spread = (judges**2 * (things**3 - things) - judges * ties) / 12
    if not max_spread or judges < 2:
        reason = "every judge puts everything on the same place"
        if judges < 2 or things < 2:
            noun, number = ("judge", judges) if judges < 2 else ("thing", things)
            reason = f"needs two {noun}s or more, {counted(number, noun)}"
        return Concordance(
            Estimate(None, n=judges, reason=reason), Test(None, n=judges, reason=reason)
        )
    sums = [sum(column) for column in zip(*rows, strict=True)]
    spread = sum((each - fmean(sums)) ** 2 for each in sums)
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
            further: Counter[tuple[float, ...]] = Counter()
            for order in set(permutations(row)):
                for sums, times in counts.items():
                    further[tuple(map(add, sums, order))] += times
            counts = further
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


def _check_rows(rows: Sequence[Sequence[float]]) -> None:
    if any(isnan(number) for row in rows for number in row):
        raise ValueError("a score is a number; leave out what is not known")
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"rows differ in length: {', '.join(str(len(row)) for row in rows)}")


Ranking = Sequence[Sequence[str] | AbstractSet[str]]
"""Best first; each step is a name, or a group of names that share the place. Names left out are not compared."""

Game = tuple[str, str, float]
"""Two names, and the first one's score: 1 for a win, 0.5 for a tie, 0 for a loss."""

WinMatrix = Mapping[str, Mapping[str, int]]
"""How many rankings put the first name above the second."""


def levels(ranking: Ranking) -> list[tuple[str, ...]]:
    """The places of a ranking, each with all names on it."""
    places = [(step,) if isinstance(step, str) else tuple(step) for step in ranking]
    names = [name for place in places for name in place]
    if len(set(names)) < len(names):
        raise ValueError(f"a ranking contains every name once, not {', '.join(names)}")
    return places


def names_in(rankings: Iterable[Ranking]) -> list[str]:
    """All names that are ranked, in order of first appearance."""
    names = (name for ranking in rankings for place in levels(ranking) for name in place)
    return list(dict.fromkeys(names))


def games(rankings: Iterable[Ranking]) -> list[Game]:
    """Every ranking as its duels."""
    duels: list[Game] = []
    for ranking in rankings:
        places = levels(ranking)
        for place in places:
            duels += [(one, other, 0.5) for one, other in combinations(place, 2)]
        for better, worse in combinations(places, 2):
            duels += [(one, other, 1.0) for one in better for other in worse]
    return duels


def win_matrix(rankings: Sequence[Ranking]) -> WinMatrix:
    """How many rankings put one name above another; names that share a place are above none on it."""
    names = names_in(rankings)
    wins = {one: {other: 0 for other in names if other != one} for one in names}
    for one, other, score in games(rankings):
        if score == 1:
            wins[one][other] += 1
    return wins


def borda(rankings: Sequence[Ranking]) -> dict[str, float]:
    """Points by place (Borda 1781): n for the best of n, down to 1; names that share a place share its points."""
    totals: dict[str, float] = dict.fromkeys(names_in(rankings), 0)
    for ranking in rankings:
        places = levels(ranking)
        points = sum(len(place) for place in places)
        for place in places:
            # Whole numbers stay whole: a list of counts should read as one.
            shared = (len(place) - 1) / 2 if len(place) > 1 else 0
            for name in place:
                totals[name] += points - shared
            points -= len(place)
    return totals


def first_places(rankings: Sequence[Ranking]) -> dict[str, float]:
    """How often each came first; a shared first place counts in parts."""
    firsts: dict[str, float] = dict.fromkeys(names_in(rankings), 0)
    for ranking in rankings:
        best = levels(ranking)[0]
        for name in best:
            firsts[name] += 1 / len(best) if len(best) > 1 else 1
    return firsts


def condorcet_winner(rankings: Sequence[Ranking]) -> str | None:
    """The name that beats every other one in a duel (Condorcet 1785); None where there is none."""
    wins = win_matrix(rankings)
    for one, over in wins.items():
        if all(times > wins[other][one] for other, times in over.items()):
            return one
    return None


def cycles(rankings: Sequence[Ranking]) -> list[tuple[str, ...]]:
    """Groups in which majorities go round in a circle: each beats each, by way of others."""
    wins = win_matrix(rankings)
    reach = {one: {b for b, n in over.items() if n > wins[b][one]} for one, over in wins.items()}
    # What can be reached in any number of steps (Warshall 1962).
    for middle in reach:
        for others in reach.values():
            if middle in others:
                others |= reach[middle]
    groups = {
        tuple(other for other in wins if other in reach[one] and one in reach[other])
        for one in wins
    }
    return sorted(group for group in groups if len(group) > 1)


def krippendorff_alpha(ratings: Sequence[Sequence[float | None]]) -> Estimate:
    """Krippendorff's alpha (2011) for scores that count by their order: 1 full agreement, 0 what chance gives.

    One row a rater, one column a thing rated; None where a rater did not rate it. `n` counts the
    things rated twice or more. Below 0 raters disagree systematically.
    """
    if len({len(row) for row in ratings}) > 1:
        raise ValueError(
            "every rater needs an entry for every thing, None where there is no rating"
        )
    units = [[r for r in column if r is not None] for column in zip(*ratings, strict=True)]
    paired = [unit for unit in units if len(unit) > 1]
    if not paired:
        raters = sum(any(r is not None for r in row) for row in ratings)
        few = f"needs two raters or more, {counted(raters, 'rater')}"
        return Estimate(None, reason=few if raters < 2 else "no thing was rated by two raters")
    every = [r for unit in paired for r in unit]
    place = dict(zip(every, midranks(every), strict=True))
    # With places for scores, the squared distances between ratings add up to their variances.
    expected = len(every) * variance(map(place.__getitem__, every))
    if not expected:
        reason = "every rating is the same, so nothing can agree or disagree"
        return Estimate(None, n=len(paired), reason=reason)
    observed = fsum(len(unit) * variance(map(place.__getitem__, unit)) for unit in paired)
    return Estimate(1 - observed / expected, n=len(paired))
