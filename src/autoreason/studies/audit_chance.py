"""What judges who rank at random would give, panel by panel and run by run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, pairwise, permutations
from math import comb, factorial, prod
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from autoreason.stats.sums import Part, centred, distribution, part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Places = tuple[int, ...]
"""The place each candidate has on a ballot, from 0."""
MANY_RUNS = 10
"""From so many on, runs are what is independent; with fewer, panels must do."""
_COUNTABLE = 3_000
_SAMPLE = 2_000
_FLAT = 1e-9


def independent(by_run: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Values run by run and panel by panel, grouped by what is independent: runs where there are many, else panels."""
    runs_with_panels = [panels for panels in by_run if panels]
    if len(runs_with_panels) >= MANY_RUNS:
        return [[value for panel in panels for value in panel] for panels in runs_with_panels]
    return [list(panel) for panels in runs_with_panels for panel in panels]


@lru_cache(maxsize=4096)
def mean_tau(rankings: tuple[tuple[str, ...], ...]) -> float:
    """Kendall's tau of full rankings, the mean over any two judges."""
    names = sorted(rankings[0])
    return _tau([tuple(map(ranking.index, names)) for ranking in rankings])


def _tau(ballots: Sequence[Places]) -> float:
    judges, things = len(ballots), len(ballots[0])
    score = 0
    for one, other in combinations(range(things), 2):
        first = sum(places[one] < places[other] for places in ballots)
        score += (2 * first - judges) ** 2 - judges
    return score / (comb(things, 2) * judges * (judges - 1))


@cache
def tau_by_chance(judges: int, things: int) -> Part:
    """Exact for small panels; larger ones are sampled, always the same, with their exact mean and variance."""
    ballots = list(permutations(range(things))) if things < 7 else []
    if ballots and comb(len(ballots) + judges - 2, judges - 1) <= _COUNTABLE:
        chances: defaultdict[complex, float] = defaultdict(float)
        # Every panel up to the names of the texts, which the first ballot may choose.
        for others in combinations_with_replacement(ballots, judges - 1):
            same = prod(factorial(times) for times in Counter(others).values())
            ways = factorial(judges - 1) // same
            tau = round(_tau([ballots[0], *others]), 9)
            chances[tau] += ways / len(ballots) ** (judges - 1)
        return part(chances)
    rng = Random(0)
    taus = [
        _tau([tuple(rng.sample(range(things), things)) for _ in range(judges)])
        for _ in range(_SAMPLE)
    ]
    # Any two judges are independent even of a third, so variances of pairs add up.
    variance = 2 * (2 * things + 5) / (9 * things * (things - 1)) / comb(judges, 2)
    return centred(taus, 0.0, variance)


class Course(NamedTuple):
    """The decided passes of a run: whether A survived each, and the rule by which it stopped."""

    survived: tuple[bool, ...]
    k: int | None
    """Survivals in a row that end it; None where it did not stop by them."""
    converged: bool

    @classmethod
    def of(cls, survived: Sequence[bool], k: int | None) -> Course:
        """A run that went on after k survivals in a row did not stop by them."""
        row, stops = 0, bool(k)
        for at, each in enumerate(survived, 1):
            row = row + 1 if each else 0
            if k and row >= k and at < len(survived):
                stops = False
        return cls(tuple(survived), k if stops else None, stops and row == k)

    @property
    def pairs(self) -> int:
        """Survivals right after a survival."""
        return sum(one and other for one, other in pairwise(self.survived))


@cache
def survivals_by_chance(chance: float, passes: int, k: int | None, tie: float = 0.0) -> Part:
    """Survivals less those expected, of a run that ends after k in a row, ties aside, or so many passes."""
    alive: dict[tuple[int, int], float] = {(0, 0): 1.0}
    chances: defaultdict[complex, float] = defaultdict(float)
    for number in range(1, passes + 1):
        further: defaultdict[tuple[int, int], float] = defaultdict(float)
        for (survived, row), p in alive.items():
            further[survived, 0] += p * (1 - chance - tie)
            if tie:
                further[survived, row] += p * tie
            if k and row + 1 == k:
                chances[round(survived + 1 - number * chance, 9)] += p * chance
            else:
                further[survived + 1, row + 1] += p * chance
        alive = further
    for (survived, _), p in alive.items():
        chances[round(survived - passes * chance, 9)] += p
    return part(chances)


@cache
def pairs_by_chance(course: Course) -> Part:
    """Survivals right after a survival, if the passes of a run came in any order that stops as it did."""
    passes, survived = len(course.survived), sum(course.survived)
    displaced = passes - survived
    ways: dict[complex, int] = {}
    for rows in range(1, survived + 1):
        if course.k is None:
            count = comb(survived - 1, rows - 1) * comb(displaced + 1, rows)
        elif course.converged:
            # The last row is complete and comes at the end; each of the others comes before a defeat.
            count = _split(survived - course.k, rows - 1, course.k - 1) * comb(displaced, rows - 1)
        else:
            count = _split(survived, rows, course.k - 1) * comb(displaced + 1, rows)
        if count:
            ways[survived - rows] = count
    total = sum(ways.values())
    return part({pairs: count / total for pairs, count in ways.items()}) if ways else ()


def _split(total: int, rows: int, longest: int) -> int:
    """Ways to split survivals into rows of 1 to `longest`."""
    if not rows:
        return int(not total)
    signed = (
        (-1) ** over * comb(rows, over) * comb(total - longest * over - 1, rows - 1)
        for over in range(rows + 1)
        if total - longest * over >= rows
    )
    return sum(signed)


SeenVote = tuple[Sequence[str], str]
"""The order a judge saw, and the text it put first."""


def position_by_chance(panels: Sequence[Sequence[SeenVote]]) -> float | None:
    """How likely first places are to be as uneven over three positions if orders had nothing to do with them.

    The names of the texts change places within each panel, for all its judges at once, in all six ways: what
    balanced orders and judges who agree bring about stays as it was. None where position cannot show.
    """
    import numpy as np
    from scipy.stats import chi2

    parts = [_relabelled(panel) for panel in panels]
    middle = sum(map(len, panels)) / 3
    observed = sum(_at(order, first) for panel in panels for order, first in panel)
    covariance = np.zeros((2, 2))
    for each, times in Counter(parts).items():
        values = np.array([(value.real, value.imag) for value, _ in each])
        weights = np.array([p for _, p in each])
        off = values - weights @ values
        covariance += times * (off.T * weights) @ off
    if covariance.trace() < _FLAT:
        return None
    # Chance may move first places in one direction only.
    variances, directions = np.linalg.eigh(covariance)
    moved = variances > _FLAT * variances.sum()

    def uneven(sums: Sequence[complex]) -> NDArray[np.float64]:
        off = np.array([(value.real - middle, value.imag - middle) for value in sums])
        found: NDArray[np.float64] = ((off @ directions[:, moved]) ** 2 / variances[moved]).sum(
            axis=1
        )
        return found

    far = float(uneven([observed])[0])
    exact = distribution(parts)
    if exact is None:
        return float(chi2.sf(far, moved.sum()))
    as_far = uneven(list(exact)) >= far - _FLAT
    return min(1.0, float(np.array(list(exact.values()))[as_far].sum()))


def _at(order: Sequence[str], name: str) -> complex:
    """First place on the first position is 1, on the second 1j, on the third neither."""
    return (1 + 0j, 1j, 0j)[order.index(name)]


def _relabelled(panel: Sequence[SeenVote]) -> Part:
    chances: defaultdict[complex, float] = defaultdict(float)
    for way in zip(*(_renamed(tuple(order), first) for order, first in panel), strict=True):
        chances[sum(way, 0j)] += 1 / 6
    return part(chances)


@cache
def _renamed(order: tuple[str, ...], first: str) -> tuple[complex, ...]:
    """Where the first place goes if the texts change their names, in all six ways."""
    names = sorted(order)
    at = names.index(first)
    return tuple(_at(order, renamed[at]) for renamed in permutations(names))
