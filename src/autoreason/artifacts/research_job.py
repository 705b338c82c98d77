"""A research run: the noise floor, the search, a playoff, and the test that is claimed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.artifact_search import ArtifactSearch, SearchState
from autoreason.artifacts.conditions import broken_guard, value_within
from autoreason.artifacts.end_test import finalists
from autoreason.artifacts.looks import Contender, Looker, in_order, split_sealed
from autoreason.artifacts.measurement import Files, LookOutcome, LookQuery, Measurement
from autoreason.artifacts.order import OrderQuery
from autoreason.artifacts.race import LooksSoFar
from autoreason.artifacts.research_context import ResearchContext, over_artifact
from autoreason.artifacts.research_history import ResearchHistory
from autoreason.artifacts.research_task import research_of
from autoreason.artifacts.research_terms import budget_plan, keep_rule
from autoreason.artifacts.trial_events import EndTested, FinalistsMeasured, NoiseMeasured, SearchCut
from autoreason.errors import InvalidInput, UnusableStart
from autoreason.events import JobFinished
from autoreason.exchange import Query
from autoreason.job_types import Research
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Job, Plans
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.judges import JUDGE_PROMPTS, PANEL_SETTINGS, seat_calls

_CALLS = 2
"""Calls of a proposal: the first reply, and the second of one that was sent back."""
_TRIALS_PER_PANEL = 5
"""On average over simulated worlds: the metric cannot decide one trial in five."""


class ResearchJob(Job):
    """Improves an artifact against an evaluator, and tests the result on looks that chose nothing."""

    summary = "an artifact improved against a number"
    common_prompts = ()
    prompts = ("system", "task", "proposer", "fix", *JUDGE_PROMPTS)
    used_settings = PANEL_SETTINGS

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self.context: ResearchContext = over_artifact(self.context)
        self._research = research = self.context.research
        self._terms = self.settings.job_as(Research)
        self._plan = budget_plan(self._terms)
        self._looker = Looker(self.context, research)
        self._search = ArtifactSearch(self.context, self._terms, self._looker)

    @classmethod
    def sample_answer(cls, task: Task, query: Query[Any]) -> Any:
        """A look that is short of the target and breaks no guard."""
        research = research_of(task)
        if isinstance(query, LookQuery) and research:
            metrics = {name: value_within(each) for name, each in research.guard.items()}
            value = 0.0 if research.target is None else research.target - research.sign
            return Measurement(outcome=LookOutcome.OK, value=value, metrics=metrics)
        return 0 if isinstance(query, OrderQuery) else super().sample_answer(task, query)

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        """There must be an artifact and an evaluator."""
        if research_of(task) is None:
            raise InvalidInput(
                f"{settings.job.name} needs an artifact and an evaluator; use `autoreason research`"
            )

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """Calls: from patience without a keep to a proposal for every evaluation that is not reserved."""
        terms = settings.job_as(Research)
        free = max(0, budget_plan(terms).search)
        low = min(free, terms.patience)
        return {"author": low}, {"author": max(low, free // 2)}, {"author": _CALLS * free}

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        """With the judges of what the metric cannot decide, where the task wants them."""
        research = research_of(task)
        if research is None or not research.judge:
            return plans
        low, likely, high = plans
        rule = settings.job_as(Research).rule
        panels = high["author"] // _CALLS // keep_rule(rule, research).looks
        calls = seat_calls(settings)
        judges = likely["author"] // _TRIALS_PER_PANEL * settings.judges
        most = panels * settings.judges
        return (
            low,
            {**likely, "judge": judges * calls.usual},
            {**high, "judge": most * calls.most},
        )

    async def run(self) -> JobFinished:
        """From the noise floor to the end test."""
        try:
            reason = await self._search.run(await self._measure_start())
        finally:
            await self._looker.close()
        return await self._end(reason)

    async def conclude(self, reason: str) -> JobFinished | None:
        """The end test of what was kept until a limit or a stop; None where nothing was, and so nothing is opened."""
        if not ResearchHistory(self.story).kept:
            return None
        self.emit(SearchCut(reason=reason))
        return await self._end(reason)

    async def _end(self, reason: str) -> JobFinished:
        """Playoff and end test; they need the record alone, so that it does not matter what ended the search."""
        history = ResearchHistory(self.story)
        trial = await self._choose(history)
        if trial:
            await self._test(trial, history.files_of(trial))
        return self.finish(reason, origin=f"trial {trial}" if trial else "the start")

    def accept(self, reason: str) -> JobFinished | None:
        """End with the incumbent as it is: nothing is tested, so nothing is claimed."""
        trial = ResearchHistory(self.story).result
        if not trial:
            return None
        finished = JobFinished(status="accepted", reason=reason, origin=f"trial {trial}")
        self.emit(finished)
        return finished

    async def _measure_start(self) -> SearchState:
        """The noise floor."""
        start = Contender(0, self._research.files)
        floor = self._plan.floor
        rule = keep_rule(self._terms.rule, self._research)
        numbers = start.numbers(max(floor, rule.incumbent_looks))[:floor]
        measured = await in_order(self._looker.again(start, number) for number in numbers)
        looks = dict(zip(numbers, measured, strict=True))
        values = self._looker.values(looks)
        for each in measured:
            if self._looker.value(each) is None:
                # What the caller measures with is out of a check's reach.
                see = " and see `autoreason research check`" if self._research.evaluate else ""
                raise UnusableStart(
                    f"the evaluator gave no number for the artifact as it is ({each.outcome}"
                    f"{f': {each.detail}' if each.detail else ''}); correct it{see}"
                )
        if broken := broken_guard(self._research.guard, measured):
            raise UnusableStart(
                f"the artifact as it is breaks a guard: {broken}; change one of them"
            )
        start.charged.update(numbers)
        known = LooksSoFar(incumbent=numbers)
        if self._research.timed:
            # The incumbent is timed anew in every race, so what its first looks show of the noise counts here.
            known = replace(known, others=known.others.with_looks(values.values()))
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
        return SearchState(start, len(numbers), known)

    async def _choose(self, history: ResearchHistory) -> int:
        """The trial that was kept last; after a long search the best of four, on fresh looks."""
        kept = [trial.number for trial in history.kept]
        if not kept:
            return 0
        if not self._plan.playoff or not history.spread:
            return kept[-1]
        chosen = finalists(kept)
        measured = [
            await self._looker.fresh(f"playoff/{each}", history.files_of(each), self._plan.playoff)
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
                trials=chosen,
                means=tuple(_mean([each.value for each in looks]) for looks in measured),
                looks=self._plan.playoff,
                chosen=chosen[best],
                broken={each: why for each, why in zip(chosen, broken, strict=True) if why},
            )
        )
        return chosen[best]

    async def _test(self, trial: int, result: Files) -> None:
        """Measure the result and the start on looks that decided nothing."""
        sealed = self._research.sealed
        measured: list[list[Measurement]] = []
        for name, files in (("result", result), ("start", self._research.files)):
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
                trial=trial,
                result=values[0],
                start=values[1],
                sealed=bool(sealed),
                opened=max(known, default=0) or self._research.opened + 1 if sealed else 0,
                broken=broken_guard(self._research.guard, measured[0]),
            )
        )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
