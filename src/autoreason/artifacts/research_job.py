"""A research run: the noise floor, the search, a playoff, and the test that is claimed."""

from __future__ import annotations

from dataclasses import fields
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts import artifact, artifact_search, research_history
from autoreason.artifacts.acceptance import Known, budget_plan, finalists, keep_rule
from autoreason.artifacts.proposer import ResearchContext
from autoreason.artifacts.research_task import broken_guard, research_of, value_within
from autoreason.errors import InvalidInput, UnusableStart
from autoreason.events import JobFinished
from autoreason.exchange import Query
from autoreason.job_types import Research
from autoreason.jobs.context import JobContext, draw
from autoreason.jobs.job import Job, Plans
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.judges import JUDGE_PROMPTS, PANEL_SETTINGS, seat_calls

_CALLS = 2
"""Calls of a proposal: the first reply, and the second of one that was sent back."""
_TRIALS_PER_PANEL = 5
"""On average over simulated worlds: the metric cannot decide one trial in five."""


class ResearchJob(Job):
    """Improves an artifact against an evaluator, and tests the result on evaluations that chose nothing."""

    summary = "an artifact improved against a number"
    common_prompts = ()
    prompts = ("system", "task", "proposer", "fix", *JUDGE_PROMPTS)
    used_settings = PANEL_SETTINGS

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self.context = ResearchContext(
            **{each.name: getattr(self.context, each.name) for each in fields(JobContext)}
        )
        self._research = research = self.context.research
        self._terms = self.settings.job_as(Research)
        self._plan = budget_plan(self._terms)
        self._measurer = artifact_search.Measurer(self.context, research)
        self._search = artifact_search.ArtifactSearch(self.context, self._terms, self._measurer)

    @classmethod
    def sample_answer(cls, task: Task, query: Query[Any]) -> Any:
        """An evaluation that is short of the target and breaks no guard."""
        research = research_of(task)
        if isinstance(query, artifact.EvaluationQuery) and research:
            metrics = {name: value_within(each) for name, each in research.guard.items()}
            value = 0.0 if research.target is None else research.target - research.sign
            outcome = artifact.EvaluationOutcome.OK
            return artifact.Measurement(outcome=outcome, value=value, metrics=metrics)
        return 0 if isinstance(query, artifact.OrderQuery) else super().sample_answer(task, query)

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        if research_of(task) is None:
            raise InvalidInput(f"{settings.job.name} needs an artifact; use `autoreason research`")

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """Calls: from patience without a kept change to a proposal for every evaluation that is not reserved."""
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
        panels = high["author"] // _CALLS // keep_rule(rule, research).evaluations
        calls = seat_calls(settings)
        judges = likely["author"] // _TRIALS_PER_PANEL * settings.panel_judges
        most = panels * settings.panel_judges
        return (
            low,
            {**likely, "judge": judges * calls.usual},
            {**high, "judge": most * calls.most},
        )

    async def run(self) -> JobFinished:
        try:
            reason = await self._search.run(await self._measure_start())
        finally:
            await self._measurer.close()
        return await self._end(reason)

    async def conclude(self, reason: str) -> JobFinished | None:
        """The end test of what was kept until a limit or a stop; None where nothing was, and so nothing is opened."""
        if not research_history.ResearchHistory(self.story).kept:
            return None
        self.emit(research_history.SearchCut(reason=reason))
        return await self._end(reason)

    async def _end(self, reason: str) -> JobFinished:
        """Playoff and end test; they need the record alone, so that it does not matter what ended the search."""
        history = research_history.ResearchHistory(self.story)
        trial = await self._choose(history)
        if trial:
            await self._test(trial, history.files_of(trial))
        return self.finish(reason, origin=research_history.name_trial(trial))

    def accept(self, reason: str) -> JobFinished | None:
        """End with the incumbent as it is: nothing is tested, so nothing is claimed."""
        trial = research_history.ResearchHistory(self.story).result
        if not trial:
            return None
        finished = JobFinished(status="accepted", reason=reason, origin=f"trial {trial}")
        self.emit(finished)
        return finished

    async def _measure_start(self) -> artifact_search.SearchState:
        start = artifact_search.Contender(0, self._research.files)
        floor = self._plan.floor
        rule = keep_rule(self._terms.rule, self._research)
        numbers = start.numbers(max(floor, rule.incumbent_most))[:floor]
        work = (self._measurer.measure_incumbent(start, each) for each in numbers)
        measured = await artifact_search.in_order(work)
        values = self._measurer.values(dict(zip(numbers, measured, strict=True)))
        for each in measured:
            if self._measurer.value(each) is None:
                # What the caller measures with is out of a check's reach.
                see = " and see `autoreason research check`" if self._research.evaluate else ""
                raise UnusableStart(
                    f"the evaluator gave no number for the artifact as it is ({each.outcome}"
                    f"{f': {each.detail}' if each.detail else ''}); correct it{see}"
                )
        if broken := broken_guard(self._research.guard, measured):
            raise UnusableStart(f"the artifact as it is breaks a guard: {broken}; change one")
        start.charged.update(numbers)
        known = Known(incumbent=numbers)
        if self._research.timed:
            # The incumbent is timed anew in every race, so what its first evaluations show of the noise counts here.
            known = replace(known, others=known.others.with_values(values.values()))
        self.emit(
            research_history.NoiseMeasured(
                values=tuple(each.value or 0.0 for each in measured),
                spread=known.noise(values).spread,
                seconds=fmean(each.seconds for each in measured),
                level=measured[0].level,
                drawn=self._research.draws_items,
            )
        )
        return artifact_search.SearchState(start, len(numbers), known)

    async def _choose(self, history: research_history.ResearchHistory) -> int:
        """The trial that was kept last; after a long search the best of four, on fresh evaluations."""
        kept = [trial.number for trial in history.kept]
        if not kept:
            return 0
        if not self._plan.playoff or not history.spread:
            return kept[-1]
        chosen = finalists(kept)
        times, research = self._plan.playoff, self._research
        measured = [
            await self._measurer.measure_finally(f"playoff/{each}", history.files_of(each), times)
            for each in chosen
        ]
        known = [[each.value for each in found if each.value is not None] for found in measured]
        means = tuple(fmean(values) if values else None for values in known)
        broken = [broken_guard(research.guard, found) for found in measured]

        def rank(place: int) -> tuple[bool, bool, float, int]:
            # Of equals the later one, which was kept over the others.
            mean = means[place]
            return not broken[place], mean is not None, research.sign * (mean or 0.0), place

        best = max(range(len(chosen)), key=rank)
        self.emit(
            research_history.FinalistsMeasured(
                trials=chosen,
                means=means,
                evaluations=times,
                chosen=chosen[best],
                broken={each: why for each, why in zip(chosen, broken, strict=True) if why},
            )
        )
        return chosen[best]

    async def _test(self, trial: int, result: artifact.Files) -> None:
        """Measure the result and the start on evaluations that decided nothing."""
        sealed, times = self._research.sealed, self._plan.end
        # In groups of nearly the same size, drawn at random: one evaluation for each.
        order = list(range(sealed))
        draw(self.settings.seed, "sealed").shuffle(order)
        groups = [tuple(sorted(order[each::times])) for each in range(min(times, sealed))]
        measured = [
            await self._measurer.measure_finally(f"end/{name}", files, times, groups)
            for name, files in (("result", result), ("start", self._research.files))
        ]
        values = [tuple(each.value for each in found) for found in measured]
        opened = max(each.opened for found in measured for each in found)
        self.emit(
            research_history.EndTested(
                trial=trial,
                result=values[0],
                start=values[1],
                sealed=bool(sealed),
                opened=opened or self._research.opened + 1 if sealed else 0,
                broken=broken_guard(self._research.guard, measured[0]),
            )
        )
