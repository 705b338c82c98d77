"""The end test, which is the only source of a claim, and the plan that reserves it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, isfinite, pow, sqrt
from operator import mul
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.stats.shares import student_t

if TYPE_CHECKING:
    from autoreason.artifacts.trial_events import Effect

FINALISTS = 4
"""The start, the last incumbent and two in between."""
MIN_PAIRS = 6
"""Pairs that show a gain: six agree by chance once in sixty-four times, and with fewer even a result that collapses
in half of its evaluations may seem never to."""
MIN_EVALUATIONS = 3 + 2 * MIN_PAIRS + 1
"""A noise floor, an end test, and one look at one candidate."""
_FEW = 40
"""Evaluations under which a run hardly finds what it could show."""
_NORMAL = NormalDist()
_SURE = 1.64
"""Standard deviations by which a number of idle keeps is understated, to be right nineteen times in twenty."""
_TAIL, _MISSED = 0.025, 0.2
"""Of the interval on either side, and of gains that are there: nineteen intervals in twenty, four gains in five."""


class EndResult(Struct, frozen=True, kw_only=True):
    """The result against the start, on looks that decided nothing."""

    gain: float
    low: float
    high: float
    """95 %, two-sided; as the gain itself where nothing varies."""
    n: int
    """Pairs of looks."""
    least: float
    """The smallest gain that such a test shows four times in five."""
    deterministic: bool = False
    """Every look of the run at either gave one number: no noise was seen, and nothing is tested."""

    @property
    def unseen(self) -> float:
        """The share of evaluations in which a result may collapse, and no pair show it once in forty times."""
        return 1.0 - pow(_TAIL, 1 / self.n)

    @property
    def shown(self) -> bool:
        """Whether the gain is more than chance."""
        return self.low > 0

    @property
    def worse(self) -> bool:
        """Whether the loss is more than chance, or a test that can show nothing found one."""
        return self.high < 0 or (not isfinite(self.low) and self.gain < 0)


def end_test(
    result: Sequence[float],
    start: Sequence[float],
    spread: float = 0.0,
    items: Sequence[int] = (),
) -> EndResult:
    """Compare looks pair by pair, higher being better, by Student's interval of their mean difference.

    `spread` is that of one look as the run knows it. Where no pair differs from another although looks do, the
    spread of looks that share nothing stands in for that of the pairs, because few coarse numbers agree by chance.
    `items` is how many sealed items each pair has, by which it counts; flipped signs must show the same then,
    because numbers of single items may be too coarse for Student. Fewer than six pairs show nothing.
    """
    differences = [one - other for one, other in zip(result, start, strict=True)]
    n = len(differences)
    weights = [each * n / sum(items) for each in items] or [1.0] * n
    gain = fmean(differences, weights)
    if n < MIN_PAIRS:
        return EndResult(gain=gain, low=-inf, high=inf, n=n, least=inf)
    squares = ((each - gain) ** 2 for each in differences)
    apart = sqrt(sum(map(mul, weights, squares)) / (n - 1))
    # Rounding is not noise.
    tiny = 1e-12 * max(map(abs, (*result, *start)))
    if apart <= tiny:
        looks = (max(values) - min(values) for values in (result, start))
        if not spread and max(looks) <= tiny:
            return EndResult(gain=gain, low=gain, high=gain, n=n, least=0.0, deterministic=True)
        apart = sqrt(2) * max(spread, *map(stdev, (result, start)))
    reach = student_t(n - 1, _TAIL) * apart / sqrt(n)
    low, high = gain - reach, gain + reach
    if items and not _is_beyond_flips(list(map(mul, weights, differences))):
        low, high = min(low, 0.0), max(high, 0.0)
    return EndResult(gain=gain, low=low, high=high, n=n, least=least_gain(n, apart))


def _is_beyond_flips(differences: Sequence[float]) -> bool:
    from autoreason.stats.resampling import permutation_test

    p_value = permutation_test(differences).p_value
    return p_value is not None and p_value <= 2 * _TAIL


def least_gain(pairs: int, apart: float) -> float:
    """The smallest gain that so many pairs, whose differences have this standard deviation, show four times in five."""
    if pairs < MIN_PAIRS:
        return inf
    quantiles = student_t(pairs - 1, _TAIL) + student_t(pairs - 1, _MISSED)
    return quantiles * apart / sqrt(pairs)


class BudgetPlan(Struct, frozen=True, kw_only=True):
    """What the evaluations of a run are for, fixed before the first proposal."""

    evaluations: int
    floor: int
    """Looks at the start that measure the noise."""
    playoff: int
    """Looks at each finalist; 0 is no playoff."""
    end: int
    """Looks at the result and as many at the start."""

    @property
    def reserved(self) -> int:
        """Evaluations of playoff and end test."""
        return FINALISTS * self.playoff + 2 * self.end

    @property
    def search(self) -> int:
        """Evaluations for proposals, and for the incumbents they are compared with."""
        return self.evaluations - self.floor - self.reserved

    def least_gain(self, spread: float) -> float:
        """The smallest gain the end test shows four times in five, where looks with one seed are not alike."""
        return least_gain(self.end, sqrt(2) * spread)

    def warning(self) -> str:
        """What so few evaluations cannot show; empty where they are enough."""
        if self.evaluations >= _FEW:
            return ""
        in_spreads = self.least_gain(1.0)
        return (
            f"{self.evaluations} evaluations leave {self.search} for proposals, and under noise the end "
            f"test can only show gains from {in_spreads:.1f} times the spread of one evaluation on; "
            f"give {_FEW} or more"
        )


def plan_budget(evaluations: int) -> BudgetPlan:
    """How so many evaluations are spent; small budgets have a smaller apparatus."""
    if evaluations < MIN_EVALUATIONS:
        raise InvalidInput(
            f"{evaluations} evaluations are too few to measure noise, a change and the result; "
            f"give {MIN_EVALUATIONS} or more"
        )
    small = evaluations < 100
    return BudgetPlan(
        evaluations=evaluations,
        floor=3 if small else 5,
        playoff=4 if evaluations >= 200 else 0,
        end=MIN_PAIRS if small else 8,
    )


def finalists(keeps: Sequence[int]) -> tuple[int, ...]:
    """The trials that the playoff measures again: 0, which is the start, the last keep and two in between."""
    line = (0, *keeps)
    last = len(line) - 1
    return tuple(
        dict.fromkeys(line[round(last * part / (FINALISTS - 1))] for part in range(FINALISTS))
    )


class CorrectedKeeps(Struct, frozen=True, kw_only=True):
    """Keeps without the luck they were kept for."""

    effects: tuple[float, ...]
    idle: int
    """At least so many of them do nothing or harm, in worlds in which no more than two in five proposals help.

    How many it is on average cannot be known: gains too small to be seen look like none.
    """


def correct_keeps(keeps: Sequence[Effect], gain: float) -> CorrectedKeeps:
    """What the keeps that led to the result are worth, given its gain in the end test.

    What they seemed to gain beyond that is selection, of which each has its part by how uncertain it was.
    """
    luck = max(0.0, sum(keep.value for keep in keeps) - gain)
    errors = sum(keep.error for keep in keeps)
    if not errors:
        return CorrectedKeeps(effects=tuple(keep.value for keep in keeps), idle=0)
    effects = tuple(keep.value - luck * keep.error / errors for keep in keeps)
    chances = [
        _NORMAL.cdf(-effect / keep.error) if keep.error else 0.0
        for effect, keep in zip(effects, keeps, strict=True)
    ]
    spread = sqrt(sum(chance * (1 - chance) for chance in chances))
    return CorrectedKeeps(effects=effects, idle=max(0, floor(sum(chances) - _SURE * spread + 0.5)))
