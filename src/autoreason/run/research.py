"""The library's way to a better artifact: a task and an evaluator in, files and one claim out."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from msgspec.structs import asdict, replace

from autoreason.artifacts.acceptance import MIN_PAIRS, plan_budget
from autoreason.artifacts.artifact import EvaluationQuery, EvaluationService
from autoreason.artifacts.evaluator_check import CheckReport, check_evaluation, score_fault
from autoreason.artifacts.evaluators import CallerEvaluator, Evaluate, check_evaluate
from autoreason.artifacts.research_history import NoiseMeasured
from autoreason.artifacts.research_task import (
    EvaluationSource,
    digest_of,
    read_research_task,
    research_of,
)
from autoreason.artifacts.saved_evaluation import (
    count_openings,
    function_of,
    load_evaluation,
    save_evaluation,
)
from autoreason.errors import InvalidInput
from autoreason.events import AnyEvent
from autoreason.exchange import Model, Query, Request, Service
from autoreason.job_types import Research
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.run.prepared import ModelChoice, PreparedRun, R_co, job_in, prepare
from autoreason.run.record import first_requests
from autoreason.run.research_result import ResearchResult
from autoreason.run.services import LazyService
from autoreason.run.verbs import ResearchOptions, RunHooks, door
from autoreason.settings import DEFAULT_MODEL, Settings
from autoreason.studies.lab_suite import suite_of
from autoreason.task import Task


class PreparedMeasuring(PreparedRun[R_co], frozen=True, kw_only=True):
    """A run with an evaluator, which is saved when it starts."""

    _source: EvaluationSource | None = None
    """What measures; None where it was saved by an earlier run."""
    evaluate: Evaluate | None = None
    """The caller's function."""
    notes: tuple[str, ...] = ()
    """What a person should know before it starts, in sentences."""

    async def run_async(self, **hooks: Unpack[RunHooks]) -> R_co:
        return await PreparedRun.run_async(replace(self, task=await self._check_score()), **hooks)

    async def _open_service(
        self, journal: Journal, pool: ModelPool, hooks: RunHooks, exits: AsyncExitStack
    ) -> Service | None:
        evaluator, on_started = self._open(), hooks.get("on_started")
        if evaluator is None:
            return await super()._open_service(journal, pool, hooks, exits)

        def started(run: str) -> None:
            evaluator.run = run
            if on_started:
                on_started(run)

        hooks["on_started"] = started
        return EvaluationService(evaluator)

    def _open(self) -> CallerEvaluator | None:
        """The caller's function as an evaluator for one run: a prepared one may be run in several event loops."""
        if self.evaluate is None or self._source is None:
            return None
        return caller_evaluator(self.task, self.settings, self.evaluate, self._source)

    async def save_evaluator(self) -> None:
        await self._check_score()
        self._save()

    async def _check_score(self) -> Task:
        """Refuse an evaluator whose score the artifact could write; where that is not known, the task says so."""
        work = research_of(self.task)
        if work is None or not work.evaluate:
            return self.task
        code = b"".join(self._source.files.values()) if self._source else b""
        if function_of(work.evaluate) and not re.search(rb"\b(?:exec|eval|compile)\b", code):
            # A function is given texts, and runs none of them without one of these.
            return self.task
        self._save()
        unsafe = self.settings.job_as(Research).unsafe
        found = await score_fault(work, unsafe=unsafe, seed=self.settings.seed)
        if found.status == "FAILED":
            raise InvalidInput(f"{found.detail} (see `autoreason research check`)")
        unchecked = "" if found.status == "passed" else found.detail
        return replace(self.task, work=replace(work, unchecked=unchecked))

    def _save(self) -> None:
        """Save what measures; an evaluator that this machine cannot jail is refused before anything is written."""
        super()._save()
        if self._source is None:
            return
        is_research = research_of(self.task) is not None
        unsafe = is_research and self.settings.job_as(Research).unsafe
        if not self.evaluate and not unsafe:
            if function_of(self._source.evaluate):
                from autoreason.programs.sandbox.levels import require_level

                require_level()
            else:
                from autoreason.artifacts.command_jail import require_jail

                require_jail()
        save_evaluation(self._source)


class MeasuredStart(NamedTuple):
    noise: NoiseMeasured
    request: Request
    """The first one, with what was measured."""


class PreparedResearch(PreparedMeasuring[ResearchResult], frozen=True, kw_only=True):
    async def measure_start_async(self) -> MeasuredStart:
        """Measure the start as the run would; its evaluator is saved, no model is asked, no run recorded."""
        self._save()
        assert self.task.work is not None
        lazy, own = LazyService(self.task.work, self.settings, "dry run"), self._open()
        service = EvaluationService(own) if own else lazy
        found: list[AnyEvent] = []

        async def measure(query: Query[Any]) -> Any:
            return await service.answer(query) if isinstance(query, EvaluationQuery) else None

        try:
            requests = await first_requests(
                self.task, self.settings, self.prompts, measure, found.append
            )
        finally:
            await lazy.close()
        (noise,) = found
        assert isinstance(noise, NoiseMeasured)
        return MeasuredStart(noise, requests[0])

    async def check_async(
        self, on_evaluation: Callable[[int], None] = lambda _: None
    ) -> CheckReport:
        """Attack the evaluator, without any model; its evaluator is saved, no run recorded."""
        self._save()
        work = research_of(self.task)
        assert work is not None
        unsafe = self.settings.job_as(Research).unsafe
        return await check_evaluation(
            work, self._open(), unsafe=unsafe, seed=self.settings.seed, on_evaluation=on_evaluation
        )


@door()
def research(
    task: str | Path | Task, model: str | Model = DEFAULT_MODEL, **options: Unpack[ResearchOptions]
) -> PreparedResearch:
    r"""Improve an artifact against a number, and claim only what fresh evaluations show.

    Args:
        task: A research task as a file or as text, or a `Task` of a recorded run.
        model: Proposes changes, and judges where the task has judges.
        options: Such as `evaluate`, a function that measures, which runs in this process, without a jail;
            `evaluations`, `patience` and `budget`. `print(research.options())` lists all of them.

    Returns:
        The files, the patch that leads to them, and the gain with its interval.

    Raises:
        InvalidInput: Something cannot be used; nothing was written.
        UnusableStart: The artifact as it is has no number or breaks a guard; the run is recorded.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from pathlib import Path
        >>> from autoreason import research
        >>> from autoreason.testing import ScriptedModel
        >>> _ = Path("knob.txt").write_text("1\n")
        >>> reply = "HYPOTHESIS: more is better\nEXPECTED: +4\n\nknob.txt\n```\n5\n```\n"
        >>> result = research(
        ...     "---\nartifact: knob.txt\n---\nTurn the knob up.",
        ...     ScriptedModel({"author": reply}),
        ...     evaluate=lambda folder, seed, items: float((folder / "knob.txt").read_text()),
        ...     evaluations=20,
        ...     patience=2,
        ... )
        >>> result.files, result.gain.gain
        ({'knob.txt': '5\n'}, 4.0)
    """
    evaluate = options.get("evaluate")
    chosen, source, notes = _read(task, evaluate)
    job = job_in(Research, options)
    prepared = prepare(chosen, ModelChoice.writing(model, options), options, job)
    if warning := plan_budget(job.evaluations).warning():
        notes += (warning,)
    if options.get("judge_models") and (work := research_of(chosen)) and not work.judge:
        notes += ("the judge models are not asked: the task has no `judge`",)
    measure = evaluate if callable(evaluate) else None
    if measure:
        check_evaluate(measure)
    return PreparedResearch(**asdict(prepared), _source=source, evaluate=measure, notes=notes)


def caller_evaluator(
    task: Task, settings: Settings, evaluate: Evaluate, source: EvaluationSource, run: str = ""
) -> CallerEvaluator:
    research = research_of(task)
    assert research is not None
    source = replace(source, metric=research.metric)
    parallel = 1 if research.timed else settings.job_as(Research).parallel
    guards = tuple(research.guard)
    return CallerEvaluator(evaluate, source, parallel=parallel, run=run, guards=guards)


def caller_service(
    task: Task, settings: Settings, evaluate: Evaluate | None, run: str
) -> EvaluationService | None:
    """What measures a run that goes on; None where its own evaluator is saved, or it measures nothing."""
    research = research_of(task)
    if research is None or evaluate is None:
        return None
    source = load_evaluation(research.evaluation)
    return EvaluationService(caller_evaluator(task, settings, evaluate, source, run))


def check_function(run: str, task: Task, evaluate: Evaluate | None, verb: str = "resume") -> None:
    """Refuse a run, or a suite, whose function is missing, or that needs none."""
    suite = suite_of(task)
    tasks = [each.task for each in suite.tasks.values()] if suite else [task]
    needed = any(work and not work.evaluate for work in map(research_of, tasks))
    if evaluate and not needed:
        raise InvalidInput(f"run {run} needs no `evaluate`; leave it out")
    if needed and not evaluate:
        raise InvalidInput(
            f"run {run} is measured by a Python function, which is not recorded; go on from Python with "
            f'`autoreason.{verb}("{run}", evaluate=function)`'
        )


def _read(
    task: str | Path | Task, evaluate: Evaluate | str | None
) -> tuple[Task, EvaluationSource | None, tuple[str, ...]]:
    """The task, what measures it unless that is saved already, and what to say about it."""
    if isinstance(task, Task):
        return read_recorded(task, evaluate)
    command = evaluate if isinstance(evaluate, str) else None
    found = read_research_task(str(task), evaluate=command, caller_measures=callable(evaluate))
    source = found.evaluation
    if callable(evaluate):
        # What the task names is not used, so it is not what measured.
        source = replace(source, evaluate="", files={})
    task, notes = _measured_by(found.task, source), found.notes
    if (work := research_of(task)) and work.opened:
        times = "once" if work.opened == 1 else f"{work.opened} times"
        notes += (f"this sealed set was opened {times} before",)
    if work and 0 < work.sealed < MIN_PAIRS:
        notes += (f"fewer than {MIN_PAIRS} sealed items cannot show a gain; add some",)
    return task, source, notes


def read_recorded(
    task: Task, evaluate: Evaluate | str | None
) -> tuple[Task, EvaluationSource | None, tuple[str, ...]]:
    """A task that was read before, with the evaluator that was saved then, or a function."""
    work = research_of(task)
    if work is None:
        raise InvalidInput("the task has no artifact and no evaluator; give a research task")
    if isinstance(evaluate, str):
        raise InvalidInput("a Task has its own evaluator; give a function, or leave it out")
    if evaluate is None and not (work.evaluate and work.evaluation):
        raise InvalidInput("the task is measured by a function; give it as `evaluate`")
    source = EvaluationSource(evaluate="", metric=work.metric)
    if work.evaluation:
        source = load_evaluation(work.evaluation)
    elif work.items or work.sealed:
        raise InvalidInput("the items of this task are not saved here; read it from its file")
    if evaluate:
        source = replace(source, evaluate="", files={})
    return _measured_by(task, source), source, ()


def _measured_by(task: Task, source: EvaluationSource) -> Task:
    work, digest = research_of(task), digest_of(source)
    assert work is not None
    opened = count_openings(source.sealed) if source.sealed else 0
    work = replace(work, evaluate=source.evaluate, evaluation=digest, opened=opened)
    return replace(task, work=work)
