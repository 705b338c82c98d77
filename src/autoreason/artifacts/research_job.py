"""The loop: proposals side by side, decided one after another, then a playoff and the test that is claimed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace as changed

from autoreason.artifacts.artifact import changes_between
from autoreason.artifacts.end_test import MIN_EVALUATIONS, BudgetPlan, finalists, plan_budget
from autoreason.artifacts.guards import broken_guard, value_within
from autoreason.artifacts.keep_rule import KeepRule, mean_of
from autoreason.artifacts.looks import Contender, Looker, in_order, split_sealed
from autoreason.artifacts.measurement import Files, LookOutcome, LookQuery, Measurement
from autoreason.artifacts.normal_form import fingerprint
from autoreason.artifacts.order import OrderQuery
from autoreason.artifacts.proposer import MadeProposal, Proposer, View
from autoreason.artifacts.race import LooksSoFar, Race, RaceResult, mean_metrics
from autoreason.artifacts.refusals import nothing_tried
from autoreason.artifacts.research_context import ResearchContext, over_artifact
from autoreason.artifacts.research_history import ResearchHistory
from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.artifacts.trial_events import (
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    TrialDecided,
    TrialStatus,
)
from autoreason.errors import Interruption, InvalidInput, UnusableStart
from autoreason.events import AnyEvent, JobFinished, PanelDecided
from autoreason.exchange import Query
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job, Plans, read_options
from autoreason.jobs.tasks import cancel
from autoreason.keys import sub_key
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.judges import MAX_REQUESTS_PER_SEAT
from autoreason.tournament.panel import Panel
from autoreason.tournament.panel_size import PanelSize

A = TypeVar("A")
RuleName = Literal["race", "greedy", "independent"]
_CALLS = 2
"""Calls of a proposal: the first reply, and the second of one that was sent back."""
_TRIALS_PER_PANEL = 5
"""On average over simulated worlds: the metric cannot decide one trial in five."""


class ResearchTerms(Struct, frozen=True, kw_only=True):
    """How a research run works."""

    evaluations: Annotated[int, Meta(ge=MIN_EVALUATIONS, le=100_000)] = 200
    """Evaluations in all: noise floor, races, playoff and end test."""
    rule: RuleName = "race"
    """`race`; or a rival: `greedy` keeps what beats the record in one look, `independent` proposes from the start."""
    parallel: Annotated[int, Meta(ge=1, le=64)] = 1
    """Proposals and looks under way at once."""
    patience: Annotated[int, Meta(ge=1, le=10_000)] = 25
    """Proposals in a row without a keep that end the search."""
    unsafe: bool = False
    """Evaluators may be run without a jail where there is none."""
    unchecked: bool = False
    """Begin even where the artifact could write its own score."""
    rivals: tuple[RuleName, ...] = ()
    """Rules that are compared with `rule`, each with as many evaluations."""
    repeats: Annotated[int, Meta(ge=1, le=100)] = 1
    """Runs by each rule, where rules are compared."""

    @property
    def rules(self) -> tuple[RuleName, ...]:
        """The rule, and those it is compared with."""
        return (self.rule, *self.rivals)


@dataclass(frozen=True)
class _State:
    """What is known after so many decisions: a fold over them."""

    incumbent: Contender
    spent: int
    """Evaluations, those of the noise floor included."""
    known: LooksSoFar
    decided: int = 0
    """Trials that are decided."""
    idle: int = 0
    """Trials in a row without a keep."""
    kept: tuple[Contender, ...] = ()


@dataclass
class _TrialUnderWay:
    most: int
    """Evaluations it may take."""
    decided: int | None = None
    """The decision that ended it."""
    earlier: int = 0
    """Evaluations of races against incumbents that were replaced meanwhile."""


class Research(Job):
    """Improves an artifact against an evaluator, and tests the result on looks that chose nothing."""

    summary = "an artifact improved against a number"
    writes = "files"
    common_prompts = ()
    prompts = ("system", "task", "proposer", "fix", "judge", "ballot_again")

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self.context: ResearchContext = over_artifact(self.context)
        self._research = research = self.context.research
        self._terms = read_options(self.settings, ResearchTerms)
        self._plan = budget_plan(self._terms)
        self._rule = keep_rule(self._terms.rule, research)
        self._looker = Looker(self.context, research)
        self._race = Race(self._looker, research, self._rule)
        self._proposer = Proposer(self.context, research)
        self._states: list[_State] = []
        """By the number of decisions before."""
        self._ledger: list[TrialDecided] = []
        self._tried = {fingerprint(research.files): (0, "it is the start")}
        """What became of artifacts, by their fingerprint, with the number of trials decided by then."""
        self._trials: list[_TrialUnderWay] = []
        self._tasks: set[asyncio.Task[None]] = set()
        """Those that run, and those that failed."""
        self._moved = asyncio.Event()

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Check the terms."""
        read_options(settings, ResearchTerms)

    @classmethod
    def sample_answer(cls, task: Task, query: Query[Any]) -> Any:
        """A look that is short of the target and breaks no guard."""
        research = research_of(task)
        if isinstance(query, LookQuery) and research:
            metrics = {name: value_within(each) for name, each in research.guard.items()}
            short = -1 if research.better == "higher" else 1
            value = 0.0 if research.target is None else research.target + short
            return Measurement(outcome=LookOutcome.OK, value=value, metrics=metrics)
        return 0 if isinstance(query, OrderQuery) else super().sample_answer(task, query)

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """There must be an artifact and an evaluator."""
        if research_of(task) is None:
            raise InvalidInput(
                f"{settings.strategy} needs an artifact and an evaluator; use `autoreason research`"
            )

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """Calls: from patience without a keep to a proposal for every evaluation that is not reserved."""
        terms = read_options(settings, ResearchTerms)
        plan = budget_plan(terms)
        free = max(0, terms.evaluations - plan.floor - plan.reserved)
        low = min(free, terms.patience)
        return {"author": low}, {"author": max(low, free // 2)}, {"author": _CALLS * free}

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        """With the judges of what the metric cannot decide, where the task wants them."""
        research = research_of(task)
        if research is None or not research.judge:
            return plans
        low, likely, high = plans
        rules = read_options(settings, ResearchTerms).rules
        panels = high["author"] // _CALLS // min(keep_rule(each, research).looks for each in rules)
        judges = {"judge": likely["author"] // _TRIALS_PER_PANEL * settings.judges}
        most = {"judge": panels * settings.judges * MAX_REQUESTS_PER_SEAT}
        return low, {**likely, **judges}, {**high, **most}

    async def run(self) -> JobFinished:
        """From the noise floor to the end test."""
        try:
            self._states.append(await self._measure_start())
            reason = await self._search()
        finally:
            await cancel(self._tasks)
            await self._looker.close()
        result = await self._choose()
        if result.trial:
            await self._test(result)
        return self.finish(reason, origin=f"trial {result.trial}" if result.trial else "the start")

    def accept(self, reason: str) -> JobFinished | None:
        """End with the incumbent as it is: nothing is tested, so nothing is claimed."""
        trial = ResearchHistory(self.story).result
        if not trial:
            return None
        finished = JobFinished(status="accepted", reason=reason, origin=f"trial {trial}")
        self.emit(finished)
        return finished

    # The noise floor.

    async def _measure_start(self) -> _State:
        start = Contender(0, self._research.files)
        numbers = start.numbers(max(self._plan.floor, self._rule.incumbent_looks))[
            : self._plan.floor
        ]
        measured = await in_order(self._looker.again(start, number) for number in numbers)
        looks = dict(zip(numbers, measured, strict=True))
        values = self._looker.values(looks)
        for each in measured:
            if self._looker.value(each) is None:
                raise UnusableStart(
                    f"the evaluator gave no number for the artifact as it is ({each.outcome}"
                    f"{f': {each.detail}' if each.detail else ''}); "
                    "correct it and see `autoreason research check`"
                )
        if broken := broken_guard(self._research.guard, measured):
            raise UnusableStart(
                f"the artifact as it is breaks a guard: {broken}; change one of them"
            )
        start.charged.update(numbers)
        known = LooksSoFar(incumbent=numbers)
        if self._research.timed:
            # The incumbent is timed anew in every race, so what its first looks show of the noise counts here.
            known = changed(known, others=known.others.with_looks(values.values()))
        self.emit(
            NoiseMeasured(
                values=tuple(each.value or 0.0 for each in measured),
                metrics=tuple(each.metrics for each in measured),
                spread=known.noise(values).spread,
                seconds=fmean(each.seconds for each in measured),
                level=measured[0].level,
                drawn=self._research.draws_items,
            )
        )
        return _State(start, len(numbers), known)

    # The search.

    async def _search(self) -> str:
        """Start proposals until nothing more may be started; why it ended."""
        width = 1 if self._research.timed else self._terms.parallel
        step = 0
        while True:
            await self._until(lambda: self._under_way(len(self._states) - 1) < width)
            order = await self._ask(OrderQuery(key=f"step/{step}"))
            await self._until_decided(order)
            most, reason = self._next_trial(order)
            if most:
                self._start_trial(len(self._trials) + 1, self._states[order], most)
            elif not self._under_way(order):
                return reason
            else:
                await self._until_decided(order + 1)
            step += 1

    async def _ask(self, query: Query[A]) -> A:
        try:
            return await self.context.ask(query)
        except Interruption:
            # What is under way is paid for and gets recorded.
            await asyncio.gather(*self._tasks, return_exceptions=True)
            raise

    def _under_way(self, order: int) -> int:
        """Trials that were under way after so many decisions."""
        return len(self._trials) - self._states[order].decided

    def _next_trial(self, order: int) -> tuple[int, str]:
        """The evaluations that another trial may take; where there is to be none, why."""
        state = self._states[order]
        if state.idle >= self._terms.patience:
            return 0, f"{count(self._terms.patience, 'proposal')} in a row brought no keep"
        target = self._research.target
        if target is not None and self._reached(state, target):
            already = "" if state.kept else " by the start"
            return 0, f"the target of {target:g} is reached{already}"
        open_trials = (
            each for each in reversed(self._trials) if each.decided is None or each.decided >= order
        )
        taken = sum(each.most for each in islice(open_trials, self._under_way(order)))
        left = self._terms.evaluations - self._plan.reserved - state.spent - taken
        if left < self._least(state):
            return 0, f"{count(self._terms.evaluations, 'evaluation')} used"
        return min(left, self._rule.looks + self._rule.incumbent_looks), ""

    def _least(self, state: _State) -> int:
        """Evaluations that a race needs: a look, and those that the incumbent lacks."""
        if self._research.timed:
            return 2
        noisy = state.known.noise(self._incumbent_values(state)).spread > 0
        needed = self._rule.incumbent_needs(1, state.known.survived, noisy=noisy)
        return 1 + max(0, needed - len(state.known.incumbent))

    def _reached(self, state: _State, target: float) -> bool:
        values = self._incumbent_values(state)
        sign = 1 if self._research.better == "higher" else -1
        return mean_of(values.values()) >= sign * target

    def _incumbent_values(self, state: _State) -> dict[int, float]:
        looks = state.incumbent.looks
        return self._looker.values({number: looks[number] for number in state.known.incumbent})

    def _start_trial(self, number: int, state: _State, most: int) -> None:
        task = asyncio.create_task(self._run_trial(number, state, most))
        task.add_done_callback(self._end_trial)
        self._tasks.add(task)
        self._trials.append(_TrialUnderWay(most))

    def _end_trial(self, task: asyncio.Task[None]) -> None:
        """Forget a task that did its work; an error is for those who wait."""
        if not task.cancelled() and not task.exception():
            self._tasks.discard(task)
        self._moved.set()

    async def _run_trial(self, number: int, state: _State, most: int) -> None:
        """Propose, race and decide; again where another trial was kept meanwhile."""
        made = await self._proposer.propose(self._view(number, state))
        stage, again = f"trial/{number}", 0
        taken: dict[int, Measurement] = {}
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
                    own_look=number if self._terms.rule == "greedy" else None,
                    taken=taken,
                )
                if race.ending == "undecided":
                    race = await self._let_judges_decide(stage, race, made.files, state, events)
            order = await self.context.ask(OrderQuery(key=sub_key(stage, "decision"), decides=True))
            await self._until_decided(order)
            now = self._states[order]
            outdated = race and race.ending == "kept" and now.incumbent is not state.incumbent
            if race is None or not outdated:
                self._trials[number - 1].decided = order
                self._decide(now, state, number, made, race, events)
                return
            cost = self._charge(race, state.incumbent)
            most -= cost
            self._trials[number - 1].earlier += cost
            self._append(replace(now, spent=now.spent + cost))
            again += 1
            stage, state = f"trial/{number}/again/{again}", now
            taken |= race.looks
            if self._terms.rule != "independent":
                before, made = made, self._proposer.apply_again(made, now.incumbent.files)
                if made.files != before.files:
                    taken = {}

    def _view(self, number: int, state: _State) -> View:
        if self._terms.rule == "independent":
            return View(
                number, self._research.files, 0, (), nothing_tried, self._summary(self._states[0])
            )

        def tried(mark: str) -> str | None:
            place, what = self._tried.get(mark, (0, None))
            return what if place <= state.decided else None

        return View(
            number=number,
            files=state.incumbent.files,
            incumbent=state.incumbent.trial,
            ledger=self._ledger[: state.decided],
            tried=tried,
            summary=self._summary(state),
        )

    def _summary(self, state: _State) -> str:
        """The incumbent's mean and the noise, in a sentence for the proposer."""
        research = self._research
        values = self._incumbent_values(state)
        mean = fmean(values.values()) * (1 if research.better == "higher" else -1)
        spread = state.known.noise(values).spread
        so_far = " so far" if self._rule.drawn else ""
        noise = (
            f"one evaluation varies by {spread:.3g}"
            if spread
            else f"evaluations do not vary{so_far}"
        )
        return f"{research.metric} is {mean:.6g} ({research.better} is better); {noise}"

    def _charge(self, race: RaceResult, incumbent: Contender) -> int:
        """Evaluations of a race: its own looks, and those at the incumbent that no decision was charged for."""
        new = set(race.incumbent) - incumbent.charged
        incumbent.charged |= new
        return race.measured + len(new) + race.beside

    def _decide(
        self,
        now: _State,
        state: _State,
        number: int,
        made: MadeProposal,
        race: RaceResult | None,
        events: list[AnyEvent],
    ) -> None:
        """Emit what became of a trial and move on to the next state."""
        same = now.incumbent is state.incumbent
        cost = self._charge(race, state.incumbent) if race else 0
        trial = self._decided_trial(state, number, made, race, cost)
        for event in events:
            self.emit(event)
        self.emit(trial)
        self._ledger.append(trial)
        if made.files is not None:
            what = f"trial {number}, {trial.status}: {trial.reason}"
            self._tried.setdefault(fingerprint(made.files), (len(self._ledger), what))
        after = replace(
            now,
            spent=now.spent + cost,
            decided=now.decided + 1,
            idle=0 if trial.status == "kept" else now.idle + 1,
        )
        if race is None:
            self._append(after)
        elif trial.status == "kept":
            assert made.files is not None
            kept = Contender(
                number, made.files, tuple(race.looks), dict(race.looks), charged=set(race.looks)
            )
            known = now.known.after_keep(self._incumbent_values(now), race)
            self._append(replace(after, incumbent=kept, kept=(*now.kept, kept), known=known))
        else:
            self._append(replace(after, known=now.known.after_drop(race, same=same)))

    def _decided_trial(
        self, state: _State, number: int, made: MadeProposal, race: RaceResult | None, cost: int
    ) -> TrialDecided:
        """What became of a trial."""
        if race is None:
            status: TrialStatus = "refused" if made.files is None else "dropped"
            reason = (
                made.reason
                or "it was measured against an earlier incumbent, and no evaluations were left"
            )
        else:
            status, reason = race.status, race.reason
        looks, record = (race.looks, race.incumbent) if race else ({}, ())
        known = {number: state.incumbent.looks[number].value for number in record}
        last = list(looks.values())[-1] if looks else None
        return TrialDecided(
            number=number,
            incumbent=state.incumbent.trial,
            by=made.by,
            hypothesis=made.hypothesis,
            expected=made.expected,
            status=status,
            reason=reason,
            guidance=made.guidance,
            changes=changes_between(state.incumbent.files, made.files) if made.files else {},
            values=tuple(each.value for each in looks.values() if each.value is not None),
            seeds=tuple(looks),
            record={number: value for number, value in known.items() if value is not None},
            metrics=mean_metrics(looks),
            outcome=last.outcome if last else None,
            effect=race.effect if race else None,
            evaluations=cost + self._trials[number - 1].earlier,
            shared=max((each.shared for each in looks.values()), default=0),
            tail=last.tail if last else "",
        )

    def _append(self, state: _State) -> None:
        self._states.append(state)
        self._moved.set()

    async def _until_decided(self, decisions: int) -> None:
        await self._until(lambda: len(self._states) > decisions)

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait for a decision; where none can come any more, raise what keeps it from coming."""
        while not condition():
            failed = [task for task in self._tasks if task.done()]
            for task in failed:
                # One that was cancelled raises that here.
                error = task.exception()
                if error and (
                    len(failed) == len(self._tasks) or not isinstance(error, Interruption)
                ):
                    raise error
            self._moved.clear()
            await self._moved.wait()

    async def _let_judges_decide(
        self, stage: str, race: RaceResult, files: Files, state: _State, events: list[AnyEvent]
    ) -> RaceResult:
        """A blind panel between two artifacts that the metric cannot tell apart; a tie is the incumbent's."""
        context = replace(self.context, emit=events.append, preference=self._research.judge)
        texts = {
            "A": differing(state.incumbent.files, files),
            "B": differing(files, state.incumbent.files),
        }
        verdict = await Panel(context, stage, texts, PanelSize(start=self.settings.judges)).run()
        events.append(PanelDecided(stage=stage, verdict=verdict))
        if verdict is None:
            return changed(
                race, ending="dropped", reason="the metric cannot tell, and too few judges voted"
            )
        kept = verdict.winner == "B" and not verdict.tied
        first, second = ("it", "B"), ("the incumbent", "A")
        (name, slot), (_, other) = (first, second) if kept else (second, first)
        points = f"{verdict.scores[slot]} points to {verdict.scores[other]}"
        judges = "judges are divided" if verdict.tied else f"judges prefer {name}, {points}"
        reason = f"the metric cannot tell; {judges}"
        return changed(race, ending="kept" if kept else "dropped", reason=reason)

    # What is delivered, and what is claimed.

    async def _choose(self) -> Contender:
        """The last incumbent; after a long search the best of four, on fresh looks."""
        last = self._states[-1]
        start = self._states[0].incumbent
        if not last.kept:
            return start
        noise = last.known.noise(self._incumbent_values(last))
        if not self._plan.playoff or not noise.spread:
            return last.incumbent
        by_trial = {each.trial: each for each in (start, *last.kept)}
        chosen = [by_trial[trial] for trial in finalists([each.trial for each in last.kept])]
        measured = [
            await self._looker.fresh(f"playoff/{each.trial}", each.files, self._plan.playoff)
            for each in chosen
        ]
        means = [_mean([self._looker.value(each) for each in looks]) for looks in measured]
        guard = self._research.guard
        broken = [broken_guard(guard, looks) for looks in measured]
        # Of equals the later one, which was kept over the others.
        best = max(
            range(len(chosen)),
            key=lambda place: (
                not broken[place],
                means[place] is not None,
                means[place] or 0.0,
                place,
            ),
        )
        self.emit(
            FinalistsMeasured(
                trials=tuple(each.trial for each in chosen),
                means=tuple(_mean([each.value for each in looks]) for looks in measured),
                looks=self._plan.playoff,
                chosen=chosen[best].trial,
                broken={each.trial: why for each, why in zip(chosen, broken, strict=True) if why},
            )
        )
        return chosen[best]

    async def _test(self, result: Contender) -> None:
        """Measure the result and the start on looks that decided nothing."""
        sealed = self._research.sealed
        measured: list[list[Measurement]] = []
        for name, files in (("result", result.files), ("start", self._research.files)):
            stage = f"end/{name}"
            if sealed:
                groups = split_sealed(sealed, self._plan.end, self.settings.seed)
                measured.append(await self._looker.sealed(stage, files, groups))
            else:
                measured.append(await self._looker.fresh(stage, files, self._plan.end))
        values = [tuple(each.value for each in looks) for looks in measured]
        known = [each.opened for looks in measured for each in looks]
        self.emit(
            EndTested(
                trial=result.trial,
                result=values[0],
                start=values[1],
                sealed=bool(sealed),
                opened=max(known, default=0) or self._research.opened + 1 if sealed else 0,
                broken=broken_guard(self._research.guard, measured[0]),
            )
        )


def differing(files: Files, other: Files) -> str:
    """What of an artifact is not in another, for judges: file by file."""
    changed_files = {path: text for path, text in files.items() if other.get(path) != text}
    if len(changed_files) == 1:
        (text,) = changed_files.values()
        return text
    return "\n\n".join(f"{path}\n\n{text}" for path, text in changed_files.items()) or "(empty)"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def budget_plan(terms: ResearchTerms) -> BudgetPlan:
    """How the evaluations are divided; the published greedy loop measures its start once and has no playoff."""
    plan = plan_budget(terms.evaluations)
    return plan if terms.rule != "greedy" else changed(plan, floor=1, playoff=0)


def keep_rule(name: RuleName, research: ResearchTask) -> KeepRule:
    """The rule of a run; the published greedy loop compares one look with the number on record."""
    if name == "greedy":
        return KeepRule(looks=1, drop=0.0, incumbent_least=1, incumbent_ratio=1, incumbent_looks=1)
    rule = KeepRule(drawn=research.draws_items)
    return changed(rule, looks=research.looks) if research.looks else rule
