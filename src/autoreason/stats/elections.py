"""Pairs in rankings: duels, Condorcet winners, majorities in a circle. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations

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
    reach = _closure(
        {one: {b for b, n in over.items() if n > wins[b][one]} for one, over in wins.items()}
    )
    groups = {
        tuple(other for other in wins if other in reach[one] and one in reach[other])
        for one in wins
    }
    return sorted(group for group in groups if len(group) > 1)


def _closure(steps: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What can be reached in any number of steps (Warshall 1962)."""
    reach = {one: set(others) for one, others in steps.items()}
    for middle in reach:
        for others in reach.values():
            if middle in others:
                others |= reach[middle]
    return reach
