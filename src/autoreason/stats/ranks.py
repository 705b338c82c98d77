"""How far rankings and ratings agree, and who wins their duels. Every panel states its agreement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from math import fsum, isnan
from statistics import fmean, variance

from autoreason.stats import Estimate, counted


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
    if any(map(isnan, (*one, *other))):
        raise ValueError("a score is a number; leave out what is not known")
    if len(one) != len(other):
        raise ValueError(f"rows differ in length: {len(one)}, {len(other)}")
    if len(one) < 2:
        reason = f"needs two things or more, {counted(len(one), 'thing')}"
        return Estimate(None, n=len(one), reason=reason)
    from scipy.stats import kendalltau

    tau = float(kendalltau(one, other).statistic)
    if isnan(tau):
        return Estimate(None, n=len(one), reason="one of the two puts everything on the same place")
    return Estimate(tau, n=len(one))


def places(ranking: Sequence[str]) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(ranking, start=1)}


TiedRanking = Sequence[Sequence[str] | AbstractSet[str]]
"""Best first; each step is a name, or a group of names that share the place. Names left out are not compared."""

Game = tuple[str, str, float]
"""Two names, and the first one's score: 1 for a win, 0.5 for a tie, 0 for a loss."""


def levels(ranking: TiedRanking) -> list[tuple[str, ...]]:
    """The places of a ranking, each with all names on it."""
    places = [(step,) if isinstance(step, str) else tuple(step) for step in ranking]
    names = [name for place in places for name in place]
    if len(set(names)) < len(names):
        raise ValueError(f"a ranking contains every name once, not {', '.join(names)}")
    return places


def names_in(rankings: Iterable[TiedRanking]) -> list[str]:
    names = (name for ranking in rankings for place in levels(ranking) for name in place)
    return list(dict.fromkeys(names))


def games(rankings: Iterable[TiedRanking]) -> list[Game]:
    duels: list[Game] = []
    for ranking in rankings:
        places = levels(ranking)
        for place in places:
            duels += [(one, other, 0.5) for one, other in combinations(place, 2)]
        for better, worse in combinations(places, 2):
            duels += [(one, other, 1.0) for one in better for other in worse]
    return duels


def win_matrix(rankings: Sequence[TiedRanking]) -> Mapping[str, Mapping[str, int]]:
    """How many rankings put one name above another; names that share a place are above none on it."""
    names = names_in(rankings)
    wins = {one: {other: 0 for other in names if other != one} for one in names}
    for one, other, score in games(rankings):
        if score == 1:
            wins[one][other] += 1
    return wins


def borda(rankings: Sequence[TiedRanking]) -> dict[str, float]:
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


def first_places(rankings: Sequence[TiedRanking]) -> dict[str, float]:
    """How often each came first; a shared first place counts in parts."""
    firsts: dict[str, float] = dict.fromkeys(names_in(rankings), 0)
    for ranking in rankings:
        best = levels(ranking)[0]
        for name in best:
            firsts[name] += 1 / len(best) if len(best) > 1 else 1
    return firsts


def cycles(rankings: Sequence[TiedRanking]) -> list[tuple[str, ...]]:
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
        raise ValueError("a rater has an entry for every thing, None where there is no rating")
    units = [[r for r in column if r is not None] for column in zip(*ratings, strict=True)]
    paired = [unit for unit in units if len(unit) > 1]
    if not paired:
        raters = sum(any(r is not None for r in row) for row in ratings)
        few = f"needs two raters or more, {counted(raters, 'rater')}"
        return Estimate(None, reason=few if raters < 2 else "no thing was rated by two raters")
    from scipy.stats import rankdata

    every = [r for unit in paired for r in unit]
    place = dict(zip(every, rankdata(every).tolist(), strict=True))
    # With places for scores, the squared distances between ratings add up to their variances.
    expected = len(every) * variance(map(place.__getitem__, every))
    if not expected:
        reason = "every rating is the same, so nothing can agree or disagree"
        return Estimate(None, n=len(paired), reason=reason)
    observed = fsum(len(unit) * variance(map(place.__getitem__, unit)) for unit in paired)
    return Estimate(1 - observed / expected, n=len(paired))
