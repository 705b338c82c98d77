"""Which changes are kept: a race of few evaluations against an incumbent whose record is a mean. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil, floor, hypot, inf, isfinite, pow, sqrt
from operator import mul
from statistics import NormalDist, fmean, stdev
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.artifact import Measurement
from autoreason.artifacts.research_task import ResearchTask
from autoreason.errors import InvalidInput
from autoreason.job_types import MIN_EVALUATIONS, Research, RuleName
from autoreason.stats.shares import student_t

ByEvaluation = Mapping[int, float]
"""By the number of the evaluation, higher is better; two artifacts' evaluations of one number share seed and items."""
KeepDecision = Literal["again", "keep", "drop"]
TrialEnd = Literal["kept", "dropped", "failed", "guarded", "undecided"]
"""`undecided` after the last evaluation, where judges are to decide."""
SHRINK_PAIRS = 6
"""A correlation shown by so many degrees of freedom is believed by half."""
_REPEATED = 2
"""Values that show how much evaluations differ."""


class KeepRule(Struct, frozen=True, kw_only=True):
    """When a candidate is dropped, kept, or evaluated again; thresholds are in standard errors."""

    evaluations: int = 3
    drop: float = -0.25
    keep_first: float = 2.3
    """After the first evaluation."""
    keep_later: float = 1.64
    keep_last: float = 0.0
    """After the last evaluation: ahead is enough, for a change that does nothing costs nothing."""
    incumbent_least: int = 3
    """Values that an incumbent has before any candidate is decided."""
    incumbent_ratio: float = 1
    """The incumbent is measured until it has so many times the candidate's evaluations."""
    incumbent_every: int = 2
    """And once more after so many trials that it survives: what stays long may have been lucky."""
    incumbent_most: int = 8
    """But no more than this."""
    step: float = 1.0
    """On a fixed set of items, the standard errors over its items that a gain must exceed."""
    drawn: bool = False
    """Items are drawn for each evaluation, so that equal numbers do not show that there is no noise."""

    def on_fixed_set(self) -> KeepRule:
        """The rule where every evaluation sees the same items, so that evaluating again does not help."""
        return replace(
            self,
            keep_first=max(self.keep_first, self.step),
            keep_later=max(self.keep_later, self.step),
            keep_last=max(self.keep_last, self.step),
        )

    def incumbent_needs(self, evaluations: int, survived: int = 0, *, noisy: bool = True) -> int:
        """The evaluations an incumbent must have before a candidate with so many is decided, after so many trials.

        Without noise a second evaluation shows that a new incumbent has none either.
        """
        if not noisy and not self.drawn:
            return min(self.incumbent_most, _REPEATED)
        needs = max(self.incumbent_least, ceil(self.incumbent_ratio * evaluations))
        return min(self.incumbent_most, needs + survived // self.incumbent_every)

    def decide(self, effect: Effect, noise: Noise, floor: float = 0.0) -> KeepDecision:
        """What becomes of a candidate; a gain that does not exceed the floor is none."""
        if effect.error == 0:
            if self.drawn and effect.evaluations < self.evaluations and effect.value >= 0:
                return "again"
            return "keep" if effect.value > floor else "drop"
        z = effect.value / effect.error
        if z < self.drop:
            return "drop"
        ahead = effect.value > floor
        if ahead and z > (self.keep_first if effect.evaluations == 1 else self.keep_later):
            return "keep"
        if effect.evaluations < self.evaluations and noise.spread:
            return "again"
        return "keep" if ahead and z > self.keep_last else "drop"


class Noise(Struct, frozen=True, kw_only=True):
    """How much evaluations of one artifact differ, and how alike two artifacts' evaluations with one seed are."""

    spread: float = 0.0
    """Standard deviation of one evaluation, pooled over every artifact that was measured more than once."""
    correlation: float = 0.0
    """Shrunken to 0 by how few pairs show it."""


class NoiseSums(Struct, frozen=True, kw_only=True):
    """What the noise is worked out from, in a form to which evaluations can be added."""

    squares: float = 0.0
    freedom: int = 0
    products: float = 0.0
    candidates: float = 0.0
    incumbents: float = 0.0
    pairs: int = 0

    def with_values(self, values: Collection[float]) -> NoiseSums:
        if len(values) < _REPEATED:
            return self
        return replace(
            self, squares=self.squares + _squares(values), freedom=self.freedom + len(values) - 1
        )

    def with_pairs(self, pairs: Collection[tuple[float, float]]) -> NoiseSums:
        """With a trial's pairs of evaluations: what both differ by on average says nothing about their seeds."""
        if len(pairs) < _REPEATED:
            return self
        first, second = (mean_of(column) for column in zip(*pairs, strict=True))
        return replace(
            self,
            products=self.products + sum((a - first) * (b - second) for a, b in pairs),
            candidates=self.candidates + sum((a - first) ** 2 for a, _ in pairs),
            incumbents=self.incumbents + sum((b - second) ** 2 for _, b in pairs),
            pairs=self.pairs + len(pairs) - 1,
        )

    @property
    def noise(self) -> Noise:
        size = sqrt(self.candidates * self.incumbents)
        shown = min(1.0, max(0.0, self.products / size)) if size else 0.0
        return Noise(
            spread=sqrt(self.squares / self.freedom) if self.freedom else 0.0,
            correlation=shown * self.pairs / (self.pairs + SHRINK_PAIRS),
        )


def measure_noise(
    repeated: Iterable[Sequence[float]], pairs: Iterable[Sequence[tuple[float, float]]] = ()
) -> Noise:
    """The noise, from each artifact's values, and from each trial's pairs of them (candidate, incumbent)."""
    sums = NoiseSums()
    for values in repeated:
        sums = sums.with_values(values)
    for trial in pairs:
        sums = sums.with_pairs(trial)
    return sums.noise


def mean_of(values: Iterable[float]) -> float:
    """The mean; of equal numbers that number itself, because rounding is not noise."""
    values = list(values)
    return values[0] if min(values) == max(values) else fmean(values)


def _squares(values: Collection[float]) -> float:
    mean = mean_of(values)
    return sum((value - mean) ** 2 for value in values)


def effect_of(
    candidate: ByEvaluation, incumbent: ByEvaluation, noise: Noise, over_items: float = 0.0
) -> Effect:
    """The candidate's mean over the incumbent's, less the luck of the evaluations that both share.

    The more alike evaluations of one number are, the more it is a difference of pairs; without correlation it is one of
    means. `over_items` is the standard error over the items of a fixed set, which evaluating again does not reduce.
    """
    shared = candidate.keys() & incumbent.keys()
    evaluations, against, pairs = len(candidate), len(incumbent), len(shared)
    record = mean_of(incumbent.values())
    value = mean_of(candidate.values()) - record
    weight = noise.correlation * pairs / evaluations
    variance = 1 / evaluations + 1 / against
    if pairs:
        # What the incumbent's shared evaluations say beyond its others is luck, of which the candidate has its part.
        value -= weight * (mean_of(incumbent[evaluation] for evaluation in shared) - record)
        variance -= 2 * weight / against + weight**2 * (1 / pairs - 1 / against)
    return Effect(
        value=value,
        error=hypot(noise.spread * sqrt(max(0.0, variance)), over_items),
        evaluations=evaluations,
        against=against,
    )


def pairs_of(candidate: ByEvaluation, incumbent: ByEvaluation) -> list[tuple[float, float]]:
    """The evaluations of both that share seed and items."""
    shared = sorted(candidate.keys() & incumbent.keys())
    return [(candidate[number], incumbent[number]) for number in shared]


def over_items(differences: Iterable[Sequence[float]]) -> float:
    """The standard error of a mean difference over the items of a fixed set, from each item's differences."""
    by_item = [mean_of(each) for each in zip(*differences, strict=True)]
    number = len(by_item)
    return sqrt(_squares(by_item) / (number - 1) / number) if number > 1 else 0.0


class Effect(Struct, frozen=True, kw_only=True):
    """A difference of two artifacts, positive where the first is better."""

    value: float
    error: float
    """Standard error."""
    evaluations: int
    against: int
    """Values at the other one."""


class Known(Struct, frozen=True, kw_only=True):
    """What decided trials showed of the incumbent and of the noise."""

    incumbent: tuple[int, ...] = ()
    """Numbers of its evaluations."""
    others: NoiseSums = NoiseSums()
    """Of all but the incumbent."""
    survived: int = 0
    """Trials that were measured against the incumbent and not kept."""

    def noise(self, incumbent: Mapping[int, float]) -> Noise:
        return self.others.with_values(incumbent.values()).noise

    def after_drop(self, race: RaceResult, *, same: bool) -> Known:
        """After a candidate that was not kept; its values of the incumbent count if that is still the same."""
        numbers = {*self.incumbent, *race.incumbent} if same else self.incumbent
        others = self.others.with_values(race.values.values()).with_pairs(race.pairs)
        return Known(incumbent=tuple(sorted(numbers)), others=others, survived=self.survived + same)

    def after_keep(self, former: Mapping[int, float], race: RaceResult) -> Known:
        """After a candidate that was kept: its values are the new incumbent's record."""
        others = self.others.with_values(former.values()).with_pairs(race.pairs)
        return Known(incumbent=tuple(race.measured), others=others)


class RaceResult(Struct, frozen=True, kw_only=True):
    ending: TrialEnd
    reason: str
    measured: dict[int, Measurement] = {}
    incumbent: tuple[int, ...] = ()
    """Numbers of the incumbent's evaluations, whose record they belong to."""
    beside: int = 0
    """Evaluations of the incumbent for this race alone, because times are compared only side by side."""
    values: dict[int, float] = {}
    pairs: tuple[tuple[float, float], ...] = ()
    effect: Effect | None = None


FINALISTS = 4
"""The start, the last incumbent and two in between."""
MIN_PAIRS = 6
"""Pairs that show a gain: six agree by chance once in sixty-four times, and with fewer even a result that collapses
in half of its evaluations may seem never to."""
_FEW = 40
"""Evaluations under which a run hardly finds what it could show."""
_NORMAL = NormalDist()
_SURE = 1.64
"""Standard deviations by which a number of idle changes is understated, to be right nineteen times in twenty."""
_TAIL, _MISSED = 0.025, 0.2
"""Of the interval on either side, and of gains that are there: nineteen intervals in twenty, four gains in five."""


class EndResult(Struct, frozen=True, kw_only=True):
    """The result against the start, on evaluations that decided nothing."""

    gain: float
    low: float
    high: float
    """95 %, two-sided; as the gain itself where nothing varies."""
    n: int
    """Pairs of evaluations."""
    least: float
    """The smallest gain that such a test shows four times in five."""
    deterministic: bool = False
    """Every evaluation of the run at either gave one number: no noise was seen, and nothing is tested."""

    @property
    def unseen(self) -> float:
        """The share of evaluations in which a result may collapse, and no pair show it once in forty times."""
        return 1.0 - pow(_TAIL, 1 / self.n)

    @property
    def shown(self) -> bool:
        return self.low > 0

    @property
    def worse(self) -> bool:
        """Whether the loss is more than chance, or a test that can show nothing found one."""
        return self.high < 0 or (not isfinite(self.low) and self.gain < 0)


def end_test(
    result: Sequence[float], start: Sequence[float], spread: float = 0.0, items: Sequence[int] = ()
) -> EndResult:
    """Compare evaluations pair by pair, higher being better, by Student's interval of their mean difference.

    `spread` is that of one evaluation as the run knows it. Where no pair differs from another although values do, the
    spread of values that share nothing stands in for that of the pairs, because few coarse numbers agree by chance.
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
        evaluations = (max(values) - min(values) for values in (result, start))
        if not spread and max(evaluations) <= tiny:
            return EndResult(gain=gain, low=gain, high=gain, n=n, least=0.0, deterministic=True)
        apart = sqrt(2) * max(spread, *map(stdev, (result, start)))
    reach = student_t(n - 1, _TAIL) * apart / sqrt(n)
    low, high = gain - reach, gain + reach
    if items:
        from autoreason.stats.resampling import permutation_test

        p_value = permutation_test(list(map(mul, weights, differences))).p_value
        if p_value is None or p_value > 2 * _TAIL:
            low, high = min(low, 0.0), max(high, 0.0)
    return EndResult(gain=gain, low=low, high=high, n=n, least=least_gain(n, apart))


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
    """Values at the start that measure the noise."""
    playoff: int
    """Values at each finalist; 0 where there is none."""
    end: int
    """Values at the result and as many at the start."""

    @property
    def reserved(self) -> int:
        return FINALISTS * self.playoff + 2 * self.end

    @property
    def search(self) -> int:
        """Evaluations for proposals, and for the incumbents they are compared with."""
        return self.evaluations - self.floor - self.reserved

    def least_gain(self, spread: float) -> float:
        """The smallest gain the end test shows four times in five, where evaluations with one seed are not alike."""
        return least_gain(self.end, sqrt(2) * spread)

    def warning(self) -> str:
        """What so few evaluations cannot show; empty where they are enough."""
        if self.evaluations >= _FEW:
            return ""
        return (
            f"{self.evaluations} evaluations leave {self.search} for proposals, and under noise the end "
            f"test can only show gains from {self.least_gain(1.0):.1f} times the spread of one evaluation on; "
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


def finalists(kept: Sequence[int]) -> tuple[int, ...]:
    """The trials that the playoff measures again: 0, which is the start, the last kept one and two in between."""
    line = (0, *kept)
    last = len(line) - 1
    return tuple(dict.fromkeys(line[round(last * at / (FINALISTS - 1))] for at in range(FINALISTS)))


class CorrectedEffects(Struct, frozen=True, kw_only=True):
    """Gains of kept changes without the luck they were kept for."""

    effects: tuple[float, ...]
    idle: int
    """At least so many of them do nothing or harm, in worlds in which no more than two in five proposals help.

    How many it is on average cannot be known: gains too small to be seen look like none.
    """


def correct_effects(kept: Sequence[Effect], gain: float) -> CorrectedEffects:
    """What the kept changes that led to the result are worth, given its gain in the end test.

    What they seemed to gain beyond that is selection, of which each has its part by how uncertain it was.
    """
    luck = max(0.0, sum(each.value for each in kept) - gain)
    errors = sum(each.error for each in kept)
    if not errors:
        return CorrectedEffects(effects=tuple(each.value for each in kept), idle=0)
    effects = tuple(each.value - luck * each.error / errors for each in kept)
    chances = [
        _NORMAL.cdf(-effect / each.error) if each.error else 0.0
        for effect, each in zip(effects, kept, strict=True)
    ]
    spread = sqrt(sum(chance * (1 - chance) for chance in chances))
    idle = max(0, floor(sum(chances) - _SURE * spread + 0.5))
    return CorrectedEffects(effects=effects, idle=idle)


def budget_plan(terms: Research) -> BudgetPlan:
    """How the evaluations are divided; the published greedy loop measures its start once and has no playoff."""
    plan = plan_budget(terms.evaluations)
    return plan if terms.rule != "greedy" else replace(plan, floor=1, playoff=0)


def keep_rule(name: RuleName, research: ResearchTask) -> KeepRule:
    """The rule of a run; the published greedy loop compares one evaluation with the number on record."""
    if name == "greedy":
        return KeepRule(evaluations=1, drop=0.0, incumbent_least=1, incumbent_most=1)
    rule = KeepRule(drawn=research.draws_items)
    return replace(rule, evaluations=research.repeats) if research.repeats else rule
