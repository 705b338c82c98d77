"""One candidate against the incumbent, look by look, until the rule decides."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Literal

from msgspec import Struct, field

from autoreason.artifacts.conditions import broken_guard
from autoreason.artifacts.keep_rule import (
    KeepRule,
    Noise,
    NoiseSums,
    effect_of,
    over_items,
    pairs_of,
)
from autoreason.artifacts.looks import Contender, Looker, Taken
from autoreason.artifacts.measurement import Files, LookOutcome, Measurement
from autoreason.artifacts.research_task import ResearchTask
from autoreason.artifacts.trial_events import Effect, TrialStatus
from autoreason.keys import sub_key

Ending = Literal["kept", "dropped", "failed", "guarded", "undecided"]
"""`undecided` after the last look, where judges are to decide."""


class LooksSoFar(Struct, frozen=True, kw_only=True):
    """What decided trials showed of the incumbent and of the noise."""

    incumbent: tuple[int, ...] = ()
    """Numbers of its looks."""
    others: NoiseSums = NoiseSums()
    """Of all but the incumbent."""
    survived: int = 0
    """Trials that were measured against the incumbent and not kept."""

    def noise(self, incumbent: Mapping[int, float]) -> Noise:
        """The noise, with the incumbent's looks."""
        return self.others.with_looks(incumbent.values()).noise

    def after_drop(self, race: RaceResult, *, same: bool) -> LooksSoFar:
        """After a candidate that was not kept; its looks at the incumbent count if that is still the same."""
        incumbent = {*self.incumbent, *race.incumbent} if same else self.incumbent
        others = self.others.with_looks(race.values.values()).with_pairs(race.pairs)
        return LooksSoFar(
            incumbent=tuple(sorted(incumbent)), others=others, survived=self.survived + same
        )

    def after_keep(self, former: Mapping[int, float], race: RaceResult) -> LooksSoFar:
        """After a candidate that was kept: its looks are the new incumbent's record."""
        others = self.others.with_looks(former.values()).with_pairs(race.pairs)
        return LooksSoFar(incumbent=tuple(race.looks), others=others)


class RaceResult(Struct, frozen=True, kw_only=True):
    """How a race ended and what it showed."""

    ending: Ending
    reason: str
    looks: dict[int, Measurement] = field(default_factory=dict)
    incumbent: tuple[int, ...] = ()
    """Numbers of the looks at the incumbent, whose record they belong to."""
    beside: int = 0
    """Looks at the incumbent for this race alone, because times are compared only side by side."""
    values: dict[int, float] = field(default_factory=dict)
    pairs: tuple[tuple[float, float], ...] = ()
    effect: Effect | None = None

    @property
    def measured(self) -> int:
        """Looks at the candidate that were taken for this race."""
        return sum(not each.repeated for each in self.looks.values())

    @property
    def status(self) -> TrialStatus:
        """As a trial that it decides."""
        return "dropped" if self.ending == "undecided" else self.ending


class Race:
    """The terms of every race of a job."""

    def __init__(self, looker: Looker, research: ResearchTask, rule: KeepRule) -> None:
        self._looker = looker
        self._research = research
        fixed = bool(research.items) and not research.per_look
        self._fixed = fixed
        self._rule = rule.on_fixed_set() if fixed else rule

    async def run(
        self,
        stage: str,
        files: Files,
        incumbent: Contender,
        known: LooksSoFar,
        most: int,
        *,
        taken: Taken,
        own_look: int | None = None,
    ) -> RaceResult:
        """Look at a candidate until it is decided, with at most so many evaluations.

        Looks that are `taken` already are not taken again.
        With `own_look` its only look has this number, and shares nothing with the incumbent's.
        """
        rule = self._rule
        plan = incumbent.numbers(rule.incumbent_looks)
        looks: dict[int, Measurement] = {}
        # Times drift with the machine: the incumbent is timed again next to every look.
        earlier = () if self._research.timed else known.incumbent
        other = {number: await self._looker.again(incumbent, number) for number in earlier}
        spent = 0
        effect: Effect | None = None
        for turn in range(rule.looks):
            needed = self._needed(plan, turn, other, known)
            spent += 1 + len(needed)
            if spent > most and effect:
                break
            for each in needed:
                other[each] = await self._look_at_incumbent(stage, turn, incumbent, each)
            # The incumbent's latest: looks it was kept with flatter it, and so do seeds on which it was chosen.
            latest = max(each for each in other if each not in looks)
            number = latest if own_look is None else own_look
            key = sub_key(stage, "look", turn)
            looks[number] = measurement = await self._looker.look_once(key, files, number, taken)
            spent -= measurement.repeated
            if ended := self._failure(measurement, looks, other):
                return self._result(*ended, looks, other, effect)
            effect, noise = self._effect(looks, other, known)
            if ended := self._decision(effect, noise, last=turn == rule.looks - 1):
                return self._result(*ended, looks, other, effect)
        assert effect is not None
        kept = (
            effect.value > self._research.tolerance
            and effect.value > rule.keep_last * effect.error
            # Equal numbers on few draws of items show nothing.
            and not (rule.drawn and effect.error == 0)
        )
        reason = f"{self._reason(effect, kept)}; no evaluations were left to look again"
        return self._result("kept" if kept else "dropped", reason, looks, other, effect)

    def _failure(
        self,
        measurement: Measurement,
        looks: Mapping[int, Measurement],
        other: Mapping[int, Measurement],
    ) -> tuple[Ending, str] | None:
        """How a race ends with a look that decides it whatever the difference is."""
        if self._looker.value(measurement) is None:
            return "failed", _why(measurement)
        if broken := broken_guard(self._research.guard, looks.values()):
            return "guarded", broken
        if not self._looker.values(other):
            return "dropped", "the incumbent gave no number to compare with"
        return None

    def _decision(self, effect: Effect, noise: Noise, *, last: bool) -> tuple[Ending, str] | None:
        """How a race ends by the rule; None where it goes on."""
        rule = self._rule
        decision = rule.decide(effect, noise, self._research.tolerance)
        if decision == "look":
            return None
        unclear = abs(effect.value) < rule.keep_later * effect.error
        if last and unclear and self._research.judge:
            return "undecided", "the metric cannot tell"
        kept = decision == "keep"
        return "kept" if kept else "dropped", self._reason(effect, kept)

    def _needed(
        self, plan: tuple[int, ...], turn: int, other: Mapping[int, Measurement], known: LooksSoFar
    ) -> list[int]:
        """Looks at the incumbent before this turn: until it has enough, and one that the candidate can share."""
        if self._research.timed:
            return [plan[turn]]
        noisy = known.noise(self._looker.values(other)).spread > 0
        needs = self._rule.incumbent_needs(turn + 1, known.survived, noisy=noisy)
        lacking = max(needs, turn + 1) - len(other)
        return [each for each in plan if each not in other][: max(0, lacking)]

    async def _look_at_incumbent(
        self, stage: str, turn: int, incumbent: Contender, number: int
    ) -> Measurement:
        if self._research.timed:
            return await self._looker.look(sub_key(stage, "beside", turn), incumbent.files, number)
        return await self._looker.again(incumbent, number)

    def _effect(
        self,
        looks: Mapping[int, Measurement],
        other: Mapping[int, Measurement],
        known: LooksSoFar,
    ) -> tuple[Effect, Noise]:
        mine, theirs = self._looker.values(looks), self._looker.values(other)
        pairs = pairs_of(mine, theirs)
        sums = known.others.with_looks(mine.values()).with_looks(theirs.values()).with_pairs(pairs)
        noise = sums.noise
        return effect_of(mine, theirs, noise, self._error_over_items(looks, other)), noise

    def _error_over_items(
        self, looks: Mapping[int, Measurement], other: Mapping[int, Measurement]
    ) -> float:
        """On a fixed set looking again does not help against the choice of its items."""
        shared = [each for each in looks if each in other]
        rows = [
            (self._looker.by_item(looks[each]), self._looker.by_item(other[each]))
            for each in shared
        ]
        if not self._fixed or not rows or any(not a or len(a) != len(b) for a, b in rows):
            return 0.0
        return over_items([[x - y for x, y in zip(a, b, strict=True)] for a, b in rows])

    def _reason(self, effect: Effect, kept: bool) -> str:
        looks = "1 look" if effect.looks == 1 else f"{effect.looks} looks"
        if effect.error == 0:
            if self._rule.drawn:
                ahead = "ahead" if effect.value > 0 else "not ahead"
                return f"{ahead} after {looks}, which did not differ"
            return f"{'better' if kept else 'not better'} after {looks}, without noise"
        return f"{effect.value / effect.error:+.1f} standard errors after {looks}"

    def _result(
        self,
        ending: Ending,
        reason: str,
        looks: dict[int, Measurement],
        other: Mapping[int, Measurement],
        effect: Effect | None,
    ) -> RaceResult:
        mine = self._looker.values(looks)
        return RaceResult(
            ending=ending,
            reason=reason,
            looks=looks,
            incumbent=() if self._research.timed else tuple(sorted(other)),
            beside=len(other) if self._research.timed else 0,
            values=mine,
            pairs=tuple(pairs_of(mine, self._looker.values(other))),
            effect=effect,
        )


def mean_metrics(looks: Mapping[int, Measurement]) -> dict[str, float]:
    """Means of every number the evaluator returned."""
    names = dict.fromkeys(name for each in looks.values() for name in each.metrics)
    return {
        name: fmean(each.metrics[name] for each in looks.values() if name in each.metrics)
        for name in names
    }


def _why(measurement: Measurement) -> str:
    words = {
        LookOutcome.TIMEOUT: "it took too long",
        LookOutcome.MEMORY: "it needed too much memory",
        LookOutcome.INVALID: "it has no valid number",
    }
    what = words.get(measurement.outcome, "it failed")
    return f"{what}: {measurement.detail}" if measurement.detail else what
