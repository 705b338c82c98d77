"""Going on with a run that paused or was killed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Unpack

from msgspec.structs import asdict, replace

from autoreason.artifacts.research_task import research_of
from autoreason.errors import InvalidInput
from autoreason.exchange import Service
from autoreason.journal.run_names import refuse_cell
from autoreason.prompts import PromptSet
from autoreason.run import driver
from autoreason.run.model_choice import ModelChoice, change_servers
from autoreason.run.parameters import RecordedRun, ResumeOptions, check_arguments
from autoreason.run.preflight import check
from autoreason.run.prepared import use_pool
from autoreason.run.record import name_and_journal, task_and_settings, use_journal
from autoreason.run.reports import reported_result
from autoreason.run.result import Result, StopSwitch
from autoreason.run.sync import wait_for
from autoreason.run.verdict_storage import store_verdict
from autoreason.settings import Budget, Settings, read_budget
from autoreason.task import Task

if TYPE_CHECKING:
    from autoreason.artifacts.evaluator.caller import Evaluate

_CHANGES = ("passes", "max_tokens")
"""Settings that a run may go on with another value of."""


def resume(run: RecordedRun, **options: Unpack[ResumeOptions]) -> Result:
    """Go on with a run that paused or was killed; what is recorded is not asked for again.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        options: See `ResumeOptions`: what is different from here on, and who follows the run.

    Returns:
        As of the function that started it; calls, tokens and cost are those of the whole run.

    Raises:
        UnknownRun: No run has that name.
        RunLocked: Another process is driving the run.
        InvalidInput: The run is finished, or it cannot go on under these settings.
        ReplayMismatch: The record cannot be run again, such as after a change of its strategy.
        JournalError: The journal cannot be read or written.

    Example:
        >>> from autoreason import Budget, refine, resume
        >>> paused = refine("Explain tides.", "echo/echo", playoff=0, confirmation=0, budget=Budget(calls=2))
        >>> resume(paused.run, budget=Budget(calls=99), passes=1).status
        'capped'
    """
    return wait_for(lambda: resume_async(run, **options), "resume")


async def resume_async(run: RecordedRun, **options: Unpack[ResumeOptions]) -> Result:
    """Like `resume`, in an event loop."""
    check_arguments(resume, options, run=run)
    name, place = name_and_journal(run, options.get("journal"))
    choice = ModelChoice()
    async with AsyncExitStack() as exits:
        journal = exits.enter_context(use_journal(place))
        run = journal.find(name).id
        refuse_cell(run, "resume")
        # First of all: what another process still changes cannot be checked.
        await exits.enter_async_context(journal.lock_async(run))
        story = journal.story(run)
        task, before = task_and_settings(run, story)
        driver.check_unfinished(run, story)
        settings = resumed_settings(before, options, choice)
        if before.strategy == "lab":
            _check_suite(before, settings, options)
            _check_evaluate(run, task, options.get("evaluate"))
        pool = use_pool(options.get("pool"), settings, choice.objects, exits)
        switch = options.get("stop_switch") or StopSwitch()
        service: Service | None
        await check(task, settings, pool, PromptSet(story.prompts))
        if before.strategy == "lab":
            from autoreason.run.cell_service import open_cells
            from autoreason.run.cell_services import CellServices

            services = CellServices(options.get("evaluate"))
            signals = options.get("on_signal")
            cells = open_cells(task, settings, journal, pool, switch, signals, services)
            service = cell_service = await exits.enter_async_context(cells)
            cell_service.run = run
        else:
            service = _caller_service(task, settings, options.get("evaluate"), run)
        if on_ready := options.get("on_ready"):
            on_ready()
        if on_started := options.get("on_started"):
            on_started(run)
        result = await driver.resume(
            run,
            journal=journal,
            changes=_difference(before, settings),
            pool=pool,
            on_event=options.get("on_event"),
            on_signal=options.get("on_signal"),
            switch=switch,
            service=service,
            locked=True,
        )
        store_verdict(result, options.get("on_warning"))
        return reported_result(result, journal)


def _check_suite(before: Settings, settings: Settings, options: Mapping[str, Any]) -> None:
    """Refuse what the arms of a suite decided before its first call."""
    if settings.models != before.models:
        raise InvalidInput("a suite goes on with its own models; leave other ones out")
    if settings.batch != before.batch:
        raise InvalidInput("a suite is asked as it was begun; leave `batch` out")
    for name in _CHANGES:
        if options.get(name) is not None:
            raise InvalidInput(f"the arms of a suite have their own `{name}`; leave it out")


def _check_evaluate(run: str, task: Task, evaluate: Evaluate | None) -> None:
    """Refuse a suite whose function is missing, or that needs none."""
    from autoreason.run.research import needs_function
    from autoreason.studies.lab.lab_suite import suite_of

    suite = suite_of(task)
    works = [research_of(each.task) for each in suite.tasks.values()] if suite else []
    if evaluate and not any(work and not work.evaluate for work in works):
        raise InvalidInput(f"run {run} needs no `evaluate`; leave it out")
    if not evaluate and any(work and not work.evaluate for work in works):
        raise InvalidInput(needs_function(run))


def _caller_service(
    task: Task, settings: Settings, evaluate: Evaluate | None, run: str
) -> Service | None:
    """What measures research by a function of the caller; None where nothing does."""
    if evaluate is None and research_of(task) is None:
        return None
    from autoreason.run.research import caller_service

    return caller_service(task, settings, evaluate, run)


def resumed_settings(
    before: Settings, options: Mapping[str, Any], choice: ModelChoice | None = None
) -> Settings:
    """The settings of a run from here on."""
    models = (choice or ModelChoice()).change(before.models, options)
    plain = {name: options.get(name) for name in _CHANGES}
    return replace(
        before,
        budget=change_budget(before.budget, options.get("budget")),
        models=models,
        batch=before.batch or bool(options.get("batch")),
        **change_servers(before, models, options),
        **{name: value for name, value in plain.items() if value is not None},
    )


def change_budget(before: Budget, budget: Budget | Mapping[str, Any] | None) -> Budget:
    """Limits that are not set stay as they were."""
    limits = asdict(read_budget(budget)) if budget else {}
    return replace(before, **{name: value for name, value in limits.items() if value is not None})


def _difference(before: Settings, after: Settings) -> dict[str, Any]:
    names = Settings.__struct_fields__
    changes = {name: getattr(after, name) for name in names}
    return {name: value for name, value in changes.items() if value != getattr(before, name)}
