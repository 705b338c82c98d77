"""Strengths from duels and rankings, with their intervals: Bradley-Terry, Plackett-Luce, Elo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, sqrt

import numpy as np
from msgspec import Struct
from scipy.special import stdtrit

from autoreason.stats.choices import Choices, NoFit, choices_in, fit, runaway
from autoreason.stats.elections import Game, Ranking, levels, names_in
from autoreason.stats.results import Estimate


class Ratings(Struct, frozen=True):
    """How strong each is. Where the data do not fix it every value is None, and `reason` says why."""

    strengths: dict[str, Estimate]
    """Logs of the strengths, 0 on average: a lead of 1 wins e times out of e + 1."""
    ties: dict[int, Estimate]
    """How readily so many share a place, by their number; 1 is as readily as one of two equals wins."""
    covariance: tuple[tuple[float, ...], ...] = ()
    """Of the strengths, in their order."""
    n: int = 0
    """How many rankings or duels it rests on."""
    reason: str = ""

    def lead(self, one: str, other: str, confidence: float = 0.95) -> Estimate:
        """By how much `one` is stronger than `other`: intervals of strengths alone do not tell."""
        first, second = self.strengths[one].value, self.strengths[other].value
        if first is None or second is None:
            return Estimate(None, n=self.n, reason=self.reason)
        names = list(self.strengths)
        i, j = names.index(one), names.index(other)
        cov = self.covariance
        return _around(first - second, cov[i][i] + cov[j][j] - 2 * cov[i][j], self.n, confidence)


def bradley_terry(
    games: Sequence[Game], *, ridge: float = 0.0, confidence: float = 0.95
) -> Ratings:
    """Strengths from duels (Bradley and Terry 1952); draws are a third outcome (Davidson 1970).

    By maximum likelihood, with Wald intervals from the observed information. Nothing is
    regularised unless `ridge` is given: the precision of a normal prior on the log strengths.
    """
    return plackett_luce([_as_ranking(game) for game in games], ridge=ridge, confidence=confidence)


def plackett_luce(
    rankings: Sequence[Ranking], *, ridge: float = 0.0, confidence: float = 0.95
) -> Ratings:
    """Strengths from rankings (Plackett 1975, Luce 1959), ties after Davidson and Luce (Firth and others 2019).

    A ranking may leave things out: it then says nothing about them. By maximum likelihood, with
    Wald intervals from the observed information; regularised only by `ridge`, as `bradley_terry` is.
    """
    names = names_in(rankings)
    numbers = {name: number for number, name in enumerate(names)}
    numbered = [
        [tuple(numbers[name] for name in place) for place in levels(ranking)]
        for ranking in rankings
    ]
    try:
        _check_connected(rankings, names)
        choices = choices_in(numbered, len(names))
        _check_bounded(choices, names, ridge)
    except NoFit as why:
        unknown = {name: Estimate(None, n=len(rankings), reason=str(why)) for name in names}
        return Ratings(unknown, {}, n=len(rankings), reason=str(why))
    values, covariance = fit(choices, ridge)
    spread = np.diag(covariance)
    fitted = [_around(v, s, len(rankings), confidence) for v, s in zip(values, spread, strict=True)]
    return Ratings(
        strengths=dict(zip(names, fitted, strict=False)),
        ties={
            size: _exponential(log)
            for size, log in zip(choices.sizes, fitted[len(names) :], strict=True)
        },
        covariance=tuple(tuple(row) for row in covariance[: len(names), : len(names)].tolist()),
        n=len(rankings),
    )


def elo(games: Iterable[Game], *, k: float = 32.0, initial: float = 1500.0) -> dict[str, float]:
    """Elo's ratings (1978) after these duels in this order; the same duels in another order give others."""
    ratings: dict[str, float] = {}
    for one, other, score in games:
        first, second = ratings.setdefault(one, initial), ratings.setdefault(other, initial)
        won = k * (score - 1 / (1 + 10 ** ((second - first) / 400)))
        ratings[one], ratings[other] = first + won, second - won
    return ratings


def elo_averaged(
    games: Sequence[Game],
    *,
    k: float = 32.0,
    initial: float = 1500.0,
    shuffles: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Elo's ratings averaged over random orders of the duels.

    The interval holds the central share of orders: it says how much the order matters, not how
    well the duels fix the strengths.
    """
    names = list(dict.fromkeys(name for game in games for name in game[:2]))
    players = np.array([[names.index(one), names.index(other)] for one, other, _ in games], int)
    scores = np.array([score for _, _, score in games])
    rng = np.random.default_rng(seed)
    orders = np.argsort(rng.random((shuffles, len(games))), axis=1)
    ratings = np.full((shuffles, len(names)), initial)
    each = np.arange(shuffles)
    for turn in orders.T:
        one, other = players[turn].T
        gap = ratings[each, other] - ratings[each, one]
        won = k * (scores[turn] - 1 / (1 + 10 ** (gap / 400)))
        ratings[each, one] += won
        ratings[each, other] -= won
    means = ratings.mean(axis=0)
    lows, highs = np.quantile(ratings, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return {
        name: Estimate(float(means[at]), float(lows[at]), float(highs[at]), n=len(games))
        for at, name in enumerate(names)
    }


def _as_ranking(game: Game) -> Ranking:
    one, other, score = game
    if one == other or score not in (0, 0.5, 1):
        raise ValueError(f"a duel is between two, and 1, 0.5 or 0 for the first, not {game}")
    if score == 0.5:
        return [(one, other)]
    return [one, other] if score else [other, one]


def _check_connected(rankings: Sequence[Ranking], names: Sequence[str]) -> None:
    if len(names) < 2:
        raise NoFit("needs two or more who are ranked against each other")
    groups: list[set[str]] = []
    for ranking in rankings:
        together = {name for place in levels(ranking) for name in place}
        touched = [group for group in groups if group & together]
        groups = [group for group in groups if not group & together]
        groups.append(together.union(*touched))
    if len(groups) > 1:
        listed = sorted(_listed(group, names) for group in groups)
        raise NoFit(f"no ranking joins these groups: {'; '.join(listed)}")


def _check_bounded(choices: Choices, names: Sequence[str], ridge: float) -> None:
    direction = runaway(choices, ridge=ridge > 0)
    if direction is None:
        return
    strengths = direction[: len(names)]
    if np.ptp(strengths) < 1e-6:
        raise NoFit("every place is shared, so nothing says how readily that comes about")
    top = strengths > strengths.max() - 1e-6
    ahead = _listed({name for name, is_top in zip(names, top, strict=True) if is_top}, names)
    behind = _listed({name for name, is_top in zip(names, top, strict=True) if not is_top}, names)
    raise NoFit(f"{ahead} never came after {behind}, so nothing bounds the lead; a ridge would")


def _listed(group: set[str], order: Sequence[str]) -> str:
    return ", ".join(name for name in order if name in group)


def _around(value: float, variance: float, n: int, confidence: float) -> Estimate:
    # Student's quantile: the normal one is too narrow for a handful of rankings.
    spread = float(stdtrit(max(1, n - 1), (1 + confidence) / 2)) * sqrt(max(variance, 0.0))
    return Estimate(float(value), float(value - spread), float(value + spread), n=n)


def _exponential(log: Estimate) -> Estimate:
    value, low, high = (None if end is None else exp(end) for end in (log.value, log.low, log.high))
    return Estimate(value, low, high, n=log.n)
