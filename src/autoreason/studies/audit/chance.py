"""What judges who rank at random would give, panel by panel and run by run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, exp, factorial, prod, sqrt
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from autoreason.stats.sums import Part, centred, distribution, part

Places = tuple[int, ...]
"""The place each candidate has on a ballot, from 0."""

_COUNTABLE = 3_000
_SAMPLE = 2_000
_FLAT = 1e-9


MANY_RUNS = 10
"""From so many on, runs are what is independent; with fewer, panels must do."""


def independent(by_run: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Values run by run and panel by panel, grouped by what is independent: runs where there are many, else panels."""
    runs_with_panels = [panels for panels in by_run if panels]
    if len(runs_with_panels) >= MANY_RUNS:
        return [[value for panel in panels for value in panel] for panels in runs_with_panels]
    return [list(panel) for panels in runs_with_panels for panel in panels]


class Agreement(NamedTuple):
    """How far the judges of a panel agree."""

    tau: float
    """Mean over any two judges."""
    w: float


class ByChance(NamedTuple):
    """How the agreement of judges who rank at random is distributed."""

    tau: Part
    w: Part


def agreement(rankings: Sequence[Sequence[str]]) -> Agreement | None:
    """Mean tau and Kendall's W of full rankings; None with fewer than two judges or texts."""
    if len(rankings) < 2 or len(rankings[0]) < 2:
        return None
    return _agreement_of_rankings(tuple(map(tuple, rankings)))


# Three judges of three texts can vote in 216 ways only.
@lru_cache(maxsize=4096)
def _agreement_of_rankings(rankings: tuple[tuple[str, ...], ...]) -> Agreement:
    names = sorted(rankings[0])
    return _agreement_of_places([tuple(map(ranking.index, names)) for ranking in rankings])


def _agreement_of_places(ballots: Sequence[Places]) -> Agreement:
    judges, things = len(ballots), len(ballots[0])
    score = 0
    for one, other in combinations(range(things), 2):
        first = sum(places[one] < places[other] for places in ballots)
        score += (2 * first - judges) ** 2 - judges
    sums = [sum(column) for column in zip(*ballots, strict=True)]
    middle = judges * (things - 1) / 2
    spread = sum((each - middle) ** 2 for each in sums)
    pairs = comb(things, 2) * judges * (judges - 1)
    return Agreement(score / pairs, 12 * spread / (judges**2 * (things**3 - things)))


@cache
def agreement_by_chance(judges: int, things: int) -> ByChance:
    """Exact for small panels; larger ones are sampled, always the same, with their exact mean and variance."""
    if comb(factorial(things) + judges - 2, judges - 1) <= _COUNTABLE:
        chances: tuple[defaultdict[complex, float], ...] = (defaultdict(float), defaultdict(float))
        for ballots, p in _all_panels(judges, things):
            for each, value in zip(chances, _agreement_of_places(ballots), strict=True):
                each[round(value, 9)] += p
        return ByChance(*map(part, chances))
    rng = Random(0)
    places = range(things)
    samples = [
        _agreement_of_places([tuple(rng.sample(places, things)) for _ in range(judges)])
        for _ in range(_SAMPLE)
    ]
    # Any two judges are independent even of a third, so variances of pairs add up.
    pairs = comb(judges, 2)
    of_tau = 2 * (2 * things + 5) / (9 * things * (things - 1)) / pairs
    of_w = ((judges - 1) / judges) ** 2 / (things - 1) / pairs
    taus, ws = zip(*samples, strict=True)
    return ByChance(centred(taus, 0.0, of_tau), centred(ws, 1 / judges, of_w))


def _all_panels(judges: int, things: int) -> Iterator[tuple[list[Places], float]]:
    """Every panel up to the names of the texts, which the first ballot may choose."""
    ballots = list(permutations(range(things)))
    for others in combinations_with_replacement(ballots, judges - 1):
        same = prod(factorial(times) for times in Counter(others).values())
        ways = factorial(judges - 1) // same
        yield [ballots[0], *others], ways / len(ballots) ** (judges - 1)


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
        return sum(
            one and other for one, other in zip(self.survived, self.survived[1:], strict=False)
        )


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
    parts = [_relabelled(panel) for panel in panels]
    centre = complex(*(sum(map(len, panels)) / 3,) * 2)
    observed = sum(sum((_at(o, first) for o, first in panel), 0j) for panel in panels) - centre
    uneven = _unevenness(parts)
    if uneven is None:
        return None
    exact = distribution(parts)
    if exact is not None:
        least = uneven(observed) - _FLAT
        return min(1.0, sum(p for at, p in exact.items() if uneven(at - centre) >= least))
    return uneven.tail(observed)


def _at(order: Sequence[str], name: str) -> complex:
    """First place on the first position is 1, on the second 1j, on the third neither."""
    return (1, 1j, 0)[order.index(name)]


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


class _Unevenness(NamedTuple):
    """The distance from equal shares, in units of what chance gives."""

    xx: float
    xy: float
    yy: float
    flat: bool
    """Chance moves first places in one direction only."""

    def __call__(self, off: complex) -> float:
        x, y = off.real, off.imag
        if self.flat:
            return (x * x + y * y) / (self.xx + self.yy)
        determinant = self.xx * self.yy - self.xy**2
        return (self.yy * x * x - 2 * self.xy * x * y + self.xx * y * y) / determinant

    def tail(self, off: complex) -> float:
        """By chi-square with two degrees of freedom, or one."""
        far = self(off)
        return 2 * NormalDist().cdf(-sqrt(far)) if self.flat else exp(-far / 2)


def _unevenness(parts: Sequence[Part]) -> _Unevenness | None:
    xx = xy = yy = 0.0
    for each, times in Counter(parts).items():
        middle = sum(value * p for value, p in each)
        for value, p in each:
            off = value - middle
            xx += times * p * off.real**2
            xy += times * p * off.real * off.imag
            yy += times * p * off.imag**2
    if xx + yy < _FLAT:
        return None
    return _Unevenness(xx, xy, yy, flat=xx * yy - xy**2 < _FLAT * (xx + yy) ** 2)
