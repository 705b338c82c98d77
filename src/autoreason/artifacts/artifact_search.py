"""The search: proposals side by side, each raced against the incumbent, decided one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from autoreason.artifacts.acceptance import (
    Effect,
    KeepRule,
    Known,
    Noise,
    RaceResult,
    TrialEnd,
    budget_plan,
    effect_of,
    keep_rule,
    mean_of,
    over_items,
    pairs_of,
)
from autoreason.artifacts.artifact import (
    Evaluation,
    EvaluationOutcome,
    EvaluationQuery,
    Files,
    FinalEvaluationQuery,
    KnownEvaluationQuery,
    Measurement,
    OrderQuery,
    as_text,
    changes_between,
    fingerprint,
)
from autoreason.artifacts.proposer import MadeProposal, ProposalInput, Proposer, ResearchContext
from autoreason.artifacts.research_history import TrialDecided, TrialStatus, figure
from autoreason.artifacts.research_task import ResearchTask, broken_guard
from autoreason.errors import Interruption
from autoreason.events import AnyEvent, PanelDecided
from autoreason.job_types import Research
from autoreason.jobs.context import JobContext, cancel, draw, use_in_order
from autoreason.keys import sub_key
from autoreason.report.numbers import count
from autoreason.tournament.panel import Panel
from autoreason.tournament.voting import PanelSize

A = TypeVar("A")
Taken = dict[int, asyncio.Task[Measurement]]
"""Evaluations of one artifact by number, also those under way."""
_LAST_NUMBER = 1_000_000
"""Evaluations of the playoff and the end test are numbered from here, so that they share no seed with others."""
_REMEMBERED = 4
"""Artifacts whose evaluations are remembered, for each trial that may be under way."""
_WHY = {
    EvaluationOutcome.TIMEOUT: "it took too long",
    EvaluationOutcome.MEMORY: "it needed too much memory",
    EvaluationOutcome.INVALID: "it has no valid number",
}


@dataclass
class Contender:
    """An artifact, the trial it comes from, and the measurements that decided about it, by number."""

    trial: int
    """0 is the start."""
    files: Files
    carried: tuple[int, ...] = ()
    """Evaluations it was kept with, which it shares with the incumbent before it."""
    measured: dict[int, Measurement] = field(default_factory=dict)
    under_way: Taken = field(default_factory=dict)
    charged: set[int] = field(default_factory=set)
    """Evaluations that decisions were charged for: one that several trials share is paid for once."""

    def numbers(self, most: int) -> tuple[int, ...]:
        fresh = (self.trial * most + each for each in range(most))
        return (*self.carried, *fresh)[:most]


class Measurer:
    """Makes the evaluations of one job: which seed and items each has, and that none is made twice."""

    def __init__(self, context: JobContext, research: ResearchTask) -> None:
        self._context = context
        self._research = research
        self._shared: set[asyncio.Task[Measurement]] = set()

    async def measure(self, key: str, files: Files, number: int) -> Measurement:
        """Evaluate an artifact; evaluations of one number share seed and items."""
        query = EvaluationQuery(key=key, evaluation=self._evaluation(files, number))
        return await self._context.ask(query)

    async def measure_once(self, key: str, files: Files, number: int, taken: Taken) -> Measurement:
        """The same, unless the evaluation is among those that were made: then what that one shows."""
        if number in taken:
            known = await asyncio.shield(taken[number])
            evaluation = self._evaluation(files, number)
            query = KnownEvaluationQuery(key=key, evaluation=evaluation, known=known)
            return await self._context.ask(query)
        self._begin(self.measure(key, files, number), number, taken)
        return await asyncio.shield(taken[number])

    async def measure_incumbent(self, contender: Contender, number: int) -> Measurement:
        """An evaluation of an incumbent, made once for all who compare themselves with it."""
        if number not in contender.measured:
            if number not in contender.under_way:
                name = f"incumbent/{contender.trial}" if contender.trial else "start"
                key = sub_key(name, "evaluation", number)
                self._begin(self.measure(key, contender.files, number), number, contender.under_way)
            contender.measured[number] = await asyncio.shield(contender.under_way[number])
        return contender.measured[number]

    def _begin(self, work: Coroutine[Any, Any, Measurement], number: int, taken: Taken) -> None:
        """Begin what several may wait for: one of them that is cancelled must not end it."""
        taken[number] = task = asyncio.ensure_future(work)
        self._shared.add(task)
        task.add_done_callback(self._shared.discard)

    async def close(self) -> None:
        """End the evaluations that all who waited for them have left."""
        await cancel(self._shared)

    async def measure_finally(
        self, stage: str, files: Files, times: int, sealed: Sequence[tuple[int, ...]] = ()
    ) -> list[Measurement]:
        """Evaluations whose seeds and items decided nothing before, or one on each group of sealed items.

        All artifacts of one stage share them.
        """
        first = _LAST_NUMBER if stage.startswith("playoff") else 2 * _LAST_NUMBER

        async def measure(each: int) -> Measurement:
            key, items = sub_key(stage, "evaluation", each), sealed[each] if sealed else None
            evaluation = self._evaluation(files, first + each, items)
            return await self._context.ask(FinalEvaluationQuery(key=key, evaluation=evaluation))

        return await in_order(map(measure, range(len(sealed) or times)))

    def value(self, measurement: Measurement) -> float | None:
        """Its number, higher is better; None where there is none."""
        if measurement.outcome is not EvaluationOutcome.OK or measurement.value is None:
            return None
        return self._research.sign * measurement.value

    def values(self, measured: Mapping[int, Measurement]) -> dict[int, float]:
        """The numbers of those that have one."""
        found = {number: self.value(each) for number, each in measured.items()}
        return {number: value for number, value in found.items() if value is not None}

    def _evaluation(
        self, files: Files, number: int, sealed: tuple[int, ...] | None = None
    ) -> Evaluation:
        seed, research = self._context.settings.seed, self._research
        items = tuple(range(research.items)) if sealed is None else sealed
        if sealed is None and research.draws_items:
            # Drawn anew every time where there are more than one takes.
            drawn = draw(seed, f"items/{number}").sample(items, research.per_evaluation)
            items = tuple(sorted(drawn))
        return Evaluation(
            files=files,
            seed=draw(seed, f"look/{number}").getrandbits(31),
            items=items,
            sealed=sealed is not None,
        )


async def in_order(work: Iterable[Coroutine[Any, Any, Measurement]]) -> list[Measurement]:
    results: list[Measurement] = []
    await use_in_order(list(work), results.append)
    return results


class Race:
    """One candidate against the incumbent, evaluation by evaluation, until the rule decides."""

    def __init__(self, measurer: Measurer, research: ResearchTask, rule: KeepRule) -> None:
        self._measurer = measurer
        self._research = research
        self._fixed = bool(research.items) and not research.per_evaluation
        self._rule = rule.on_fixed_set() if self._fixed else rule

    async def run(
        self,
        stage: str,
        files: Files,
        incumbent: Contender,
        known: Known,
        most: int,
        *,
        taken: Taken,
        own_number: int | None = None,
    ) -> RaceResult:
        """Evaluate a candidate until it is decided, with at most so many evaluations.

        Those that are `taken` already are not made again.
        With `own_number` its only evaluation has this number, and shares nothing with the incumbent's.
        """
        rule, measurer, timed = self._rule, self._measurer, self._research.timed
        plan = incumbent.numbers(rule.incumbent_most)
        mine: dict[int, Measurement] = {}
        # Times drift with the machine: the incumbent is timed again next to every evaluation.
        earlier = () if timed else known.incumbent
        other = {number: await measurer.measure_incumbent(incumbent, number) for number in earlier}
        spent = 0
        effect: Effect | None = None
        ended: tuple[TrialEnd, str] | None = None
        for turn in range(rule.evaluations):
            needed = self._needed(plan, turn, other, known)
            spent += 1 + len(needed)
            if spent > most and effect:
                break
            for each in needed:
                other[each] = (
                    await measurer.measure(sub_key(stage, "beside", turn), incumbent.files, each)
                    if timed
                    else await measurer.measure_incumbent(incumbent, each)
                )
            # The incumbent's latest: those it was kept with flatter it, and so do seeds on which it was chosen.
            latest = max(each for each in other if each not in mine)
            number = latest if own_number is None else own_number
            key = sub_key(stage, "evaluation", turn)
            mine[number] = found = await measurer.measure_once(key, files, number, taken)
            spent -= found.repeated
            if ended := self._failure(found, mine, other):
                break
            effect, noise = self._effect(mine, other, known)
            if ended := self._decision(effect, noise, last=turn == rule.evaluations - 1):
                break
        values = measurer.values(mine)
        ending, reason = ended or self._without_more(effect)
        return RaceResult(
            ending=ending,
            reason=reason,
            measured=mine,
            incumbent=() if timed else tuple(sorted(other)),
            beside=len(other) if timed else 0,
            values=values,
            pairs=tuple(pairs_of(values, measurer.values(other))),
            effect=effect,
        )

    def _failure(
        self, found: Measurement, mine: Mapping[int, Measurement], other: Mapping[int, Measurement]
    ) -> tuple[TrialEnd, str] | None:
        """How a race ends with an evaluation that decides it whatever the difference is."""
        if self._measurer.value(found) is None:
            parts = filter(None, (_WHY.get(found.outcome), found.detail))
            return "failed", ": ".join(parts) or "it gave no number"
        if broken := broken_guard(self._research.guard, mine.values()):
            return "guarded", broken
        if not self._measurer.values(other):
            return "dropped", "the incumbent gave no number to compare with"
        return None

    def _decision(self, effect: Effect, noise: Noise, *, last: bool) -> tuple[TrialEnd, str] | None:
        """How a race ends by the rule; None where it goes on."""
        decision = self._rule.decide(effect, noise, self._research.tolerance)
        if decision == "again":
            return None
        unclear = abs(effect.value) < self._rule.keep_later * effect.error
        if last and unclear and self._research.judge:
            return "undecided", "the metric cannot tell"
        kept = decision == "keep"
        return "kept" if kept else "dropped", self._reason(effect, kept)

    def _without_more(self, effect: Effect | None) -> tuple[TrialEnd, str]:
        """How a race ends for which no evaluations are left."""
        assert effect is not None
        kept = (
            effect.value > self._research.tolerance
            and effect.value > self._rule.keep_last * effect.error
            # Equal numbers on few draws of items show nothing.
            and not (self._rule.drawn and effect.error == 0)
        )
        reason = f"{self._reason(effect, kept)}; no evaluations were left for more"
        return "kept" if kept else "dropped", reason

    def _needed(
        self, plan: tuple[int, ...], turn: int, other: Mapping[int, Measurement], known: Known
    ) -> list[int]:
        """The incumbent's evaluations before this turn: until it has enough, and one that the candidate can share."""
        if self._research.timed:
            return [plan[turn]]
        noisy = known.noise(self._measurer.values(other)).spread > 0
        needs = self._rule.incumbent_needs(turn + 1, known.survived, noisy=noisy)
        lacking = max(needs, turn + 1) - len(other)
        return [each for each in plan if each not in other][: max(0, lacking)]

    def _effect(
        self, mine: Mapping[int, Measurement], other: Mapping[int, Measurement], known: Known
    ) -> tuple[Effect, Noise]:
        own, theirs = self._measurer.values(mine), self._measurer.values(other)
        sums = known.others.with_values(own.values()).with_values(theirs.values())
        noise = sums.with_pairs(pairs_of(own, theirs)).noise
        # On a fixed set evaluating again does not help against the choice of its items.
        rows = [(mine[each].by_item, other[each].by_item) for each in mine if each in other]
        error = 0.0
        if self._fixed and rows and all(a and len(a) == len(b) for a, b in rows):
            sign = self._research.sign
            apart = ([sign * (x - y) for x, y in zip(*row, strict=True)] for row in rows)
            error = over_items(apart)
        return effect_of(own, theirs, noise, error), noise

    def _reason(self, effect: Effect, kept: bool) -> str:
        after = f"after {count(effect.evaluations, 'evaluation')}"
        if effect.error:
            return f"{effect.value / effect.error:+.1f} standard errors {after}"
        if self._rule.drawn:
            return f"{'ahead' if effect.value > 0 else 'not ahead'} {after}, which did not differ"
        return f"{'better' if kept else 'not better'} {after}, without noise"


@dataclass(frozen=True)
class SearchState:
    """What is known after so many decisions: a fold over them."""

    incumbent: Contender
    spent: int
    """Evaluations, those of the noise floor included."""
    known: Known
    decided: int = 0
    idle: int = 0
    """Trials in a row of which none was kept."""

    def values(self, measurer: Measurer) -> dict[int, float]:
        measured = self.incumbent.measured
        return measurer.values({number: measured[number] for number in self.known.incumbent})

    def spread(self, measurer: Measurer) -> float:
        """How much one evaluation varies, as far as it is known."""
        return self.known.noise(self.values(measurer)).spread


@dataclass
class _TrialUnderWay:
    most: int
    decided: int | None = None
    earlier: int = 0
    """Evaluations of races against incumbents that were replaced meanwhile."""


class ArtifactSearch:
    """Proposes, measures and decides until nothing more may be started."""

    def __init__(self, context: ResearchContext, terms: Research, measurer: Measurer) -> None:
        self._context, self._terms, self._measurer = context, terms, measurer
        self._research = research = context.research
        self._rule = keep_rule(terms.rule, research)
        self._race = Race(measurer, research, self._rule)
        self._proposer = Proposer(context)
        self.states: list[SearchState] = []
        """By the number of decisions before."""
        self._ledger: list[TrialDecided] = []
        self._tried = {fingerprint(research.files): (0, "it is the start")}
        """What became of artifacts, by their fingerprint, with the number of trials decided by then."""
        self._taken: dict[object, Taken] = {}
        """Evaluations of late: two trials may propose the same side by side."""
        self._trials: list[_TrialUnderWay] = []
        self._tasks: set[asyncio.Task[None]] = set()
        """Those that run, and those that failed."""
        self._moved = asyncio.Event()

    async def run(self, start: SearchState) -> str:
        """Search from the noise floor on until nothing more may be started; why it ended."""
        self.states.append(start)
        width = 1 if self._research.timed else self._terms.parallel
        step = 0
        try:
            while True:
                await self._until(lambda: self._under_way(len(self.states) - 1) < width)
                try:
                    order = await self._context.ask(OrderQuery(key=f"step/{step}"))
                except Interruption:
                    # What is under way is paid for and gets recorded.
                    await asyncio.gather(*self._tasks, return_exceptions=True)
                    raise
                await self._until_decided(order)
                most, reason = self._next_trial(order)
                if most:
                    number = len(self._trials) + 1
                    task = asyncio.create_task(self._run_trial(number, self.states[order], most))
                    task.add_done_callback(self._end_trial)
                    self._tasks.add(task)
                    self._trials.append(_TrialUnderWay(most))
                elif not self._under_way(order):
                    return reason
                else:
                    await self._until_decided(order + 1)
                step += 1
        finally:
            await cancel(self._tasks)

    def _under_way(self, order: int) -> int:
        return len(self._trials) - self.states[order].decided

    def _next_trial(self, order: int) -> tuple[int, str]:
        """The evaluations that another trial may take; where there is to be none, why."""
        state, terms, target = self.states[order], self._terms, self._research.target
        if state.idle >= terms.patience:
            return 0, f"of {count(terms.patience, 'proposal')} in a row none was kept"
        mean = mean_of(state.values(self._measurer).values())
        if target is not None and mean >= self._research.sign * target:
            already = "" if state.incumbent.trial else " by the start"
            return 0, f"the target of {target:g} is reached{already}"
        open_trials = (t for t in reversed(self._trials) if t.decided is None or t.decided >= order)
        taken = sum(each.most for each in islice(open_trials, self._under_way(order)))
        left = terms.evaluations - budget_plan(terms).reserved - state.spent - taken
        if left < self._least(state):
            return 0, f"{count(terms.evaluations, 'evaluation')} used"
        return min(left, self._rule.evaluations + self._rule.incumbent_most), ""

    def _least(self, state: SearchState) -> int:
        """Evaluations that a race needs: one, and those that the incumbent lacks."""
        if self._research.timed:
            return 2
        noisy = state.spread(self._measurer) > 0
        needed = self._rule.incumbent_needs(1, state.known.survived, noisy=noisy)
        return 1 + max(0, needed - len(state.known.incumbent))

    def _end_trial(self, task: asyncio.Task[None]) -> None:
        """Forget a task that did its work; an error is for those who wait."""
        if not task.cancelled() and not task.exception():
            self._tasks.discard(task)
        self._moved.set()

    async def _run_trial(self, number: int, state: SearchState, most: int) -> None:
        """Propose, race and decide; again where another trial was kept meanwhile."""
        made = await self._proposer.propose(self._view(number, state))
        stage, again, begun = f"trial/{number}", 0, state.decided
        while True:
            events: list[AnyEvent] = []
            race = None
            if made.files is not None and most >= self._least(state):
                race = await self._race.run(
                    stage,
                    made.files,
                    state.incumbent,
                    state.known,
                    most,
                    # The published loop compares each number with the record, whatever its seed.
                    own_number=number if self._terms.rule == "greedy" else None,
                    taken=self._evaluations_of(number, made.files),
                )
                if race.ending == "undecided":
                    race = await self._let_judges_decide(stage, race, made.files, state, events)
            decision = OrderQuery(key=sub_key(stage, "decision"), decides=True)
            order = await self._context.ask(decision)
            await self._until_decided(order)
            now = self.states[order]
            cost = self._charge(race, state.incumbent) if race else 0
            if before := self._tried_since(begun, made, now):
                race, made = None, changed(made, files=None, reason=before)
            outdated = race and race.ending == "kept" and now.incumbent is not state.incumbent
            if not outdated:
                self._trials[number - 1].decided = order
                self._decide(now, state, number, made, race, cost, events)
                return
            most -= cost
            self._trials[number - 1].earlier += cost
            self._append(replace(now, spent=now.spent + cost))
            again += 1
            stage, state = f"trial/{number}/again/{again}", now
            if self._terms.rule != "independent":
                made = self._proposer.apply_again(made, now.incumbent.files)

    def _evaluations_of(self, number: int, files: Files) -> Taken:
        """Evaluations of an artifact that were made or are under way, by this trial or by one beside it."""
        # Independent trials are not distinguished by what they propose.
        alone = self._terms.rule == "independent"
        taken = self._taken.setdefault(number if alone else frozenset(files.items()), {})
        if len(self._taken) > _REMEMBERED * self._terms.parallel:
            del self._taken[next(iter(self._taken))]
        return taken

    def _tried_since(self, begun: int, made: MadeProposal, now: SearchState) -> str:
        """Why a trial is refused after all: the same artifact was decided since it began; empty where none was."""
        if made.files is None or self._terms.rule == "independent":
            return ""
        place, what = self._tried.get(fingerprint(made.files), (0, ""))
        return f"it was tried before: {what}" if begun < place <= now.decided else ""

    def _view(self, number: int, state: SearchState) -> ProposalInput:
        if self._terms.rule == "independent":
            state = self.states[0]

        def tried(mark: str) -> str | None:
            place, what = self._tried.get(mark, (0, None))
            return what if place <= state.decided else None

        research, spread = self._research, state.spread(self._measurer)
        mean = mean_of(state.values(self._measurer).values()) * research.sign
        noise = f"varies by {spread:.3g}" if spread else "has not varied so far"
        return ProposalInput(
            number=number,
            files=state.incumbent.files,
            ledger=self._ledger[: state.decided],
            tried=tried,
            summary=f"{research.metric} is {figure(mean)} ({research.better} is better); "
            f"one evaluation {noise}",
        )

    def _charge(self, race: RaceResult, incumbent: Contender) -> int:
        """Evaluations of a race: its own, and those of the incumbent that no decision was charged for."""
        new = set(race.incumbent) - incumbent.charged
        incumbent.charged |= new
        own = sum(not each.repeated for each in race.measured.values())
        return own + len(new) + race.beside

    def _decide(
        self,
        now: SearchState,
        state: SearchState,
        number: int,
        made: MadeProposal,
        race: RaceResult | None,
        cost: int,
        events: list[AnyEvent],
    ) -> None:
        """Emit what became of a trial and move on to the next state."""
        trial = self._decided_trial(state, number, made, race, cost)
        for event in (*events, trial):
            self._context.emit(event)
        self._ledger.append(trial)
        if made.files is not None:
            what = f"trial {number}, {trial.status}: {trial.reason}"
            self._tried.setdefault(fingerprint(made.files), (len(self._ledger), what))
        kept = trial.status == "kept"
        after = replace(
            now, spent=now.spent + cost, decided=now.decided + 1, idle=0 if kept else now.idle + 1
        )
        if race and kept:
            assert made.files is not None
            numbers = tuple(race.measured)
            new = Contender(number, made.files, numbers, dict(race.measured), charged=set(numbers))
            known = now.known.after_keep(now.values(self._measurer), race)
            after = replace(after, incumbent=new, known=known)
        elif race:
            same = now.incumbent is state.incumbent
            after = replace(after, known=now.known.after_drop(race, same=same))
        self._append(after)

    def _decided_trial(
        self,
        state: SearchState,
        number: int,
        made: MadeProposal,
        race: RaceResult | None,
        cost: int,
    ) -> TrialDecided:
        if race is None:
            status: TrialStatus = "refused" if made.files is None else "dropped"
            reason = made.reason or "its incumbent was replaced, and no evaluations were left"
        else:
            assert race.ending != "undecided"
            status, reason = race.ending, race.reason
        measured, record = (race.measured, race.incumbent) if race else ({}, ())
        known = {number: state.incumbent.measured[number].value for number in record}
        found = list(measured.values())
        return TrialDecided(
            number=number,
            incumbent=state.incumbent.trial,
            by=made.by,
            hypothesis=made.hypothesis,
            expected=made.expected,
            status=status,
            reason=reason,
            changes=changes_between(state.incumbent.files, made.files) if made.files else {},
            values=tuple(each.value for each in found if each.value is not None),
            seeds=tuple(measured),
            record={number: value for number, value in known.items() if value is not None},
            effect=race.effect if race else None,
            evaluations=cost + self._trials[number - 1].earlier,
            shared=max((each.shared for each in found), default=0),
            tail=found[-1].tail if found else "",
        )

    def _append(self, state: SearchState) -> None:
        self.states.append(state)
        self._moved.set()

    async def _until_decided(self, decisions: int) -> None:
        await self._until(lambda: len(self.states) > decisions)

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait for a decision; where none can come any more, raise what keeps it from coming."""
        while not condition():
            failed = [task for task in self._tasks if task.done()]
            for task in failed:
                # One that was cancelled raises that here.
                error = task.exception()
                if error and ({*failed} == self._tasks or not isinstance(error, Interruption)):
                    raise error
            self._moved.clear()
            await self._moved.wait()

    async def _let_judges_decide(
        self, stage: str, race: RaceResult, files: Files, state: SearchState, events: list[AnyEvent]
    ) -> RaceResult:
        """A blind panel between two artifacts that the metric cannot tell apart; a tie is the incumbent's."""
        context = replace(self._context, emit=events.append, preference=self._research.judge)
        incumbent = state.incumbent.files
        texts = {"A": differing(incumbent, files), "B": differing(files, incumbent)}
        size = PanelSize(self._context.settings.panel_judges)
        verdict = await Panel(context, stage, texts, size).run()
        events.append(PanelDecided(stage=stage, verdict=verdict))
        if verdict is None:
            return changed(race, ending="dropped", reason="neither the metric nor judges can tell")
        kept = verdict.winner == "B" and not verdict.tied
        name, slots = ("it", "BA") if kept else ("the incumbent", "AB")
        points = " points to ".join(str(verdict.scores[slot]) for slot in slots)
        judges = "judges are divided" if verdict.tied else f"judges prefer {name}, {points}"
        reason = f"the metric cannot tell; {judges}"
        return changed(race, ending="kept" if kept else "dropped", reason=reason)


def differing(files: Files, other: Files) -> str:
    """What of an artifact is not in another, for judges."""
    own = {path: text for path, text in files.items() if other.get(path) != text}
    return as_text(own) or "(empty)"
