"""The search: proposals side by side, each raced against the incumbent, decided one after another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from msgspec.structs import replace as changed

from autoreason.artifacts.artifact import changes_between
from autoreason.artifacts.keep_rule import mean_of
from autoreason.artifacts.looks import Contender, Looker, Taken
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.normal_form import fingerprint
from autoreason.artifacts.order import OrderQuery
from autoreason.artifacts.proposer import MadeProposal, Proposer, View
from autoreason.artifacts.race import LooksSoFar, Race, RaceResult, mean_metrics
from autoreason.artifacts.research_context import ResearchContext
from autoreason.artifacts.research_statements import figure
from autoreason.artifacts.research_terms import budget_plan, keep_rule
from autoreason.artifacts.trial_events import TrialDecided, TrialStatus
from autoreason.errors import Interruption
from autoreason.events import AnyEvent, PanelDecided
from autoreason.exchange import Query
from autoreason.job_types import Research
from autoreason.jobs.context import cancel
from autoreason.keys import sub_key
from autoreason.report.numbers import count
from autoreason.tournament.panel import Panel
from autoreason.tournament.voting import PanelSize

A = TypeVar("A")
_REMEMBERED = 4
"""Artifacts whose looks are remembered, for each trial that may be under way."""


@dataclass(frozen=True)
class SearchState:
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

    def values(self, looker: Looker) -> dict[int, float]:
        """The incumbent's record."""
        looks = self.incumbent.looks
        return looker.values({number: looks[number] for number in self.known.incumbent})

    def spread(self, looker: Looker) -> float:
        """How much one look varies, as far as it is known."""
        return self.known.noise(self.values(looker)).spread


@dataclass
class _TrialUnderWay:
    most: int
    """Evaluations it may take."""
    decided: int | None = None
    """The decision that ended it."""
    earlier: int = 0
    """Evaluations of races against incumbents that were replaced meanwhile."""


class ArtifactSearch:
    """Proposes, measures and decides until nothing more may be started."""

    def __init__(self, context: ResearchContext, terms: Research, looker: Looker) -> None:
        self._context, self._terms, self._looker = context, terms, looker
        self._research = research = context.research
        self._rule = keep_rule(terms.rule, research)
        self._race = Race(looker, research, self._rule)
        self._proposer = Proposer(context, research)
        self.states: list[SearchState] = []
        """By the number of decisions before."""
        self._ledger: list[TrialDecided] = []
        self._tried = {fingerprint(research.files): (0, "it is the start")}
        """What became of artifacts, by their fingerprint, with the number of trials decided by then."""
        self._taken: dict[object, Taken] = {}
        """Looks at artifacts of late: two trials may propose the same side by side."""
        self._trials: list[_TrialUnderWay] = []
        self._tasks: set[asyncio.Task[None]] = set()
        """Those that run, and those that failed."""
        self._moved = asyncio.Event()

    async def run(self, start: SearchState) -> str:
        """Search from the noise floor on; why it ended."""
        self.states.append(start)
        try:
            return await self._search()
        finally:
            await cancel(self._tasks)

    async def _search(self) -> str:
        """Start proposals until nothing more may be started; why it ended."""
        width = 1 if self._research.timed else self._terms.parallel
        step = 0
        while True:
            await self._until(lambda: self._under_way(len(self.states) - 1) < width)
            order = await self._ask(OrderQuery(key=f"step/{step}"))
            await self._until_decided(order)
            most, reason = self._next_trial(order)
            if most:
                self._start_trial(len(self._trials) + 1, self.states[order], most)
            elif not self._under_way(order):
                return reason
            else:
                await self._until_decided(order + 1)
            step += 1

    async def _ask(self, query: Query[A]) -> A:
        try:
            return await self._context.ask(query)
        except Interruption:
            # What is under way is paid for and gets recorded.
            await asyncio.gather(*self._tasks, return_exceptions=True)
            raise

    def _under_way(self, order: int) -> int:
        """Trials that were under way after so many decisions."""
        return len(self._trials) - self.states[order].decided

    def _next_trial(self, order: int) -> tuple[int, str]:
        """The evaluations that another trial may take; where there is to be none, why."""
        state = self.states[order]
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
        left = self._terms.evaluations - budget_plan(self._terms).reserved - state.spent - taken
        if left < self._least(state):
            return 0, f"{count(self._terms.evaluations, 'evaluation')} used"
        return min(left, self._rule.looks + self._rule.incumbent_looks), ""

    def _least(self, state: SearchState) -> int:
        """Evaluations that a race needs: a look, and those that the incumbent lacks."""
        if self._research.timed:
            return 2
        noisy = state.spread(self._looker) > 0
        needed = self._rule.incumbent_needs(1, state.known.survived, noisy=noisy)
        return 1 + max(0, needed - len(state.known.incumbent))

    def _reached(self, state: SearchState, target: float) -> bool:
        return mean_of(state.values(self._looker).values()) >= self._research.sign * target

    def _start_trial(self, number: int, state: SearchState, most: int) -> None:
        task = asyncio.create_task(self._run_trial(number, state, most))
        task.add_done_callback(self._end_trial)
        self._tasks.add(task)
        self._trials.append(_TrialUnderWay(most))

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
                    own_look=number if self._terms.rule == "greedy" else None,
                    taken=self._looks_at(number, made.files),
                )
                if race.ending == "undecided":
                    race = await self._let_judges_decide(stage, race, made.files, state, events)
            order = await self._context.ask(
                OrderQuery(key=sub_key(stage, "decision"), decides=True)
            )
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

    def _looks_at(self, number: int, files: Files) -> Taken:
        """Looks at an artifact that were taken or are under way, by this trial or by one beside it."""
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

    def _view(self, number: int, state: SearchState) -> View:
        if self._terms.rule == "independent":
            state = self.states[0]

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

    def _summary(self, state: SearchState) -> str:
        """The incumbent's mean and the noise, in a sentence for the proposer."""
        research = self._research
        values = state.values(self._looker).values()
        mean = mean_of(values) * research.sign
        spread = state.spread(self._looker)
        noise = (
            f"one evaluation varies by {spread:.3g}"
            if spread
            else "evaluations have not varied so far"
        )
        return f"{research.metric} is {figure(mean)} ({research.better} is better); {noise}"

    def _charge(self, race: RaceResult, incumbent: Contender) -> int:
        """Evaluations of a race: its own looks, and those at the incumbent that no decision was charged for."""
        new = set(race.incumbent) - incumbent.charged
        incumbent.charged |= new
        return race.measured + len(new) + race.beside

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
        same = now.incumbent is state.incumbent
        trial = self._decided_trial(state, number, made, race, cost)
        for event in events:
            self._context.emit(event)
        self._context.emit(trial)
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
            known = now.known.after_keep(now.values(self._looker), race)
            self._append(replace(after, incumbent=kept, kept=(*now.kept, kept), known=known))
        else:
            self._append(replace(after, known=now.known.after_drop(race, same=same)))

    def _decided_trial(
        self,
        state: SearchState,
        number: int,
        made: MadeProposal,
        race: RaceResult | None,
        cost: int,
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
                if error and (
                    len(failed) == len(self._tasks) or not isinstance(error, Interruption)
                ):
                    raise error
            self._moved.clear()
            await self._moved.wait()

    async def _let_judges_decide(
        self, stage: str, race: RaceResult, files: Files, state: SearchState, events: list[AnyEvent]
    ) -> RaceResult:
        """A blind panel between two artifacts that the metric cannot tell apart; a tie is the incumbent's."""
        context = replace(self._context, emit=events.append, preference=self._research.judge)
        texts = {
            "A": differing(state.incumbent.files, files),
            "B": differing(files, state.incumbent.files),
        }
        verdict = await Panel(
            context, stage, texts, PanelSize(start=self._context.settings.judges)
        ).run()
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


def differing(files: Files, other: Files) -> str:
    """What of an artifact is not in another, for judges: file by file."""
    changed_files = {path: text for path, text in files.items() if other.get(path) != text}
    if len(changed_files) == 1:
        (text,) = changed_files.values()
        return text
    return "\n\n".join(f"{path}\n\n{text}" for path, text in changed_files.items()) or "(empty)"
