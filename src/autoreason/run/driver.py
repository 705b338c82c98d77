"""One run from start to end: created or resumed, driven, and left in a state that can be resumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from time import monotonic
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import (
    BudgetReached,
    Interruption,
    InvalidInput,
    ReplayMismatch,
    Stopped,
    StrategyError,
    WritingFailed,
)
from autoreason.events import (
    FINISHED,
    LIFECYCLE,
    AnyEvent,
    Delivered,
    JobFinished,
    Recovery,
    RunPaused,
    RunResumed,
    RunStarted,
)
from autoreason.exchange import Service
from autoreason.jobs.context import JobContext, run_while_waiting
from autoreason.jobs.job import Job, build_job, run_job
from autoreason.journal import Journal, RecordedAnswer, RecordedCall
from autoreason.journal.codec import check_event
from autoreason.journal.run_names import is_cell, owning_run
from autoreason.models.budget import BudgetTracker, SharedBudget
from autoreason.models.pool import ModelPool
from autoreason.models.providers import rates
from autoreason.prompts import PromptSet, built_in
from autoreason.report.numbers import listed
from autoreason.run.asker import ACCEPTED, Asker
from autoreason.run.record import (
    EventRecorder,
    Memory,
    cut_of,
    recorded_result,
    rerun,
    task_and_settings,
    working_time,
)
from autoreason.run.result import Result, StopSwitch, raised_limits
from autoreason.run.verbs import RunHooks
from autoreason.settings import Settings
from autoreason.story import Story, build_story
from autoreason.strategies import job_class
from autoreason.task import Task
from autoreason.version import __version__

NO_HOOKS: RunHooks = {}
End = Delivered | JobFinished | RunPaused


async def start(
    task: Task,
    settings: Settings,
    journal: Journal,
    hooks: RunHooks = NO_HOOKS,
    *,
    prompts: PromptSet | None = None,
    forked_from: str | None = None,
    service: Service | None = None,
    name: str | None = None,
    shared_budget: SharedBudget | None = None,
    locked: bool = False,
) -> Result:
    """Start a run, whose name may be locked already, and drive it until it ends or pauses."""
    kind = job_class(settings.job)
    prompts = prompts or built_in(writes=settings.job.writes or settings.job.steps_write)
    names = kind.prompt_names()
    if names and task.knowledge:
        names = (*names, "knowledge")
    prompts = prompts.only(names).with_small()
    started = RunStarted(
        task=task,
        settings=settings,
        prompts=prompts.sources,
        version=__version__,
        forked_from=forked_from,
    )
    if not locked:
        # What a cell is given was read with its suite.
        check_event(started)
    run = name or journal.new_run_id()
    # Locked before anybody can find it and go on with it.
    async with nullcontext() if locked else journal.lock_async(run):
        await journal.begin_run(task.title, __version__, started, run, at_once=not locked)
        async with _naming(run):
            if on_started := hooks.get("on_started"):
                on_started(run)
            if on_event := hooks.get("on_event"):
                on_event(started)
            drive = _Drive(run, journal, hooks, task, settings, prompts, forked_from)
            return await drive.go(service, shared_budget)


async def resume(
    run: str,
    journal: Journal,
    hooks: RunHooks = NO_HOOKS,
    *,
    changes: Mapping[str, Any] | None = None,
    service: Service | None = None,
    shared_budget: SharedBudget | None = None,
    locked: bool = False,
) -> Result:
    """Resume a run, which may be locked already, where it was left; what is recorded is not asked again."""
    async with _naming(run), nullcontext() if locked else journal.lock_async(run):
        recorded = [item.event for item in journal.events(run)]
        story = build_story(recorded)
        check_unfinished(run, story)
        task, settings = task_and_settings(run, story)
        changed, recovery = replace(settings, **(changes or {})), _recover(story)
        resumed = RunResumed(settings=changed, recovery=recovery)
        check_event(resumed)
        emitted = [event for event in recorded if not isinstance(event, LIFECYCLE)]
        prompts = PromptSet(story.prompts)
        replies, answers = journal.replies(run), journal.answers(run)
        memory = Memory(replies, answers)
        rerun_result = await rerun(task, changed, prompts, emitted, memory, recovery)
        if rerun_result.difference and changes:
            names = listed([f"`{name}`" for name in changes])
            raise InvalidInput(
                f"run {run} cannot go on with these changes of {names} "
                f"({rerun_result.difference}); leave them out, or fork the run"
            )
        if rerun_result.difference:
            raise ReplayMismatch(
                f"run {run} cannot go on: {rerun_result.difference}; {rerun_result.likely_cause}; "
                f"put it back as it was, or go on from its text with `autoreason fork {run}`"
            )
        # A stop that came too late was meant for the process that drove the run before.
        journal.take_command(run, kinds=["stop"])
        journal.append(run, resumed)
        journal.set_status(run, "running")
        if on_event := hooks.get("on_event"):
            on_event(recorded[0])
            on_event(resumed)
        drive = _Drive(
            *(run, journal, hooks, task, changed, prompts, story.forked_from),
            *(recovery, emitted, replies, answers),
        )
        return await drive.go(service, shared_budget)


def check_unfinished(run: str, story: Story) -> None:
    if story.status in FINISHED:
        fix = f"`autoreason show {run}` shows its result"
        if story.incumbents or cut_of(story.others):
            fix = f"`autoreason fork {run}` goes on from its result"
        why: str = story.status
        if story.delivered and story.delivered.ended_by == "budget":
            why = "another round did not fit its limits"
            fix = f"`autoreason fork {run}{raised_limits(story)}` goes on from its result with more"
        raise InvalidInput(f"run {run} is finished ({why}); {fix}")


@asynccontextmanager
async def _naming(run: str) -> AsyncIterator[None]:
    """Say how to go on with a run, or the suite it is a cell of, where nothing can be written any more."""
    try:
        yield
    except WritingFailed as error:
        said, command = str(error), f"`autoreason resume {owning_run(run)}`"
        if command in said:
            raise
        then = " with" if said.endswith("resume") else "; then go on with"
        raise WritingFailed(f"{said}{then} {command}") from error


def _recover(story: Story) -> Recovery:
    """What keeps the run from failing again on the same record once it is resumed."""
    before = story.recovery
    if story.status == "panel_failed":
        again = story.closing_review is not None or not story.passes
        last = story.passes[-1].number if story.passes else 0
        return replace(before, failed_panels=before.failed_panels + again, forgiven=last)
    failed = 0 if story.draft else story.failed_drafts
    return replace(before, redrafts=max(before.redrafts, failed))


class _Drive(Struct, frozen=True):
    run: str
    journal: Journal
    hooks: RunHooks
    task: Task
    settings: Settings
    prompts: PromptSet
    forked_from: str | None
    recovery: Recovery = Recovery()
    recorded: Sequence[AnyEvent] = ()
    replies: Mapping[str, RecordedCall] = {}
    answers: Mapping[str, RecordedAnswer] = {}

    async def go(self, service: Service | None, shared_budget: SharedBudget | None) -> Result:
        async with AsyncExitStack() as exits:
            if (pool := self.hooks.get("pool")) is None:
                pool = ModelPool.of(self.settings)
                exits.push_async_callback(pool.close)
            budget_tracker = self._track_budget(shared_budget or pool.budget)
            if service is None and self.task.work:
                from autoreason.run.services import LazyService

                lazy = LazyService(self.task.work, self.settings, self.run)
                exits.push_async_callback(lazy.close)
                service = lazy
            asker = Asker(
                self.run,
                self.journal,
                Memory(self.replies, self.answers),
                pool,
                budget_tracker,
                self.hooks.get("stop_switch") or StopSwitch(),
                self.hooks.get("on_signal"),
                service,
                cut_of(self.recorded),
            )
            append = partial(self.journal.append, self.run)
            emit = EventRecorder(self.recorded, append, self.hooks.get("on_event"))
            context = JobContext.open(
                self.task, self.settings, self.prompts, asker, emit, self.recovery
            )
            job = build_job(job_class(self.settings.job), context)
            watcher = asyncio.create_task(asker.watch())
            try:
                await self._run_job(job, asker)
            finally:
                watcher.cancel()
                await self.journal.flush()
        # The events of a job say nothing of where its run comes from.
        job.story.forked_from = self.forked_from
        return recorded_result(self.journal.row(self.run), job.story, self.journal)

    def _track_budget(self, shared: SharedBudget | None) -> BudgetTracker:
        """The budget that is left; what earlier processes spent counts."""
        limited = self.settings.budget.seconds is not None
        before = working_time(self.run, journal=self.journal).seconds if limited else 0.0
        started = monotonic()
        budget_tracker = BudgetTracker(
            self.settings.budget, lambda: before + monotonic() - started, shared
        )
        for _, _, request, reply in self.replies.values():
            most = rates(request.model, batch=self.settings.batch)
            budget_tracker.carry(reply, budget_tracker.bound(request, most))
        return budget_tracker

    async def _run_job(self, job: Job, asker: Asker) -> None:
        if self.settings.job.is_tournament:
            run_while_waiting(partial(self.prompts.compile, ("critic", "reviser", "judge")))
        try:
            try:
                end: End = await run_job(job)
            except (BudgetReached, Stopped) as reached:
                # A suite goes on with its cells: less of the work would not be the same for all.
                if asker.accepted or is_cell(self.run):
                    raise
                concluded = await job.conclude(str(reached))
                if concluded is None:
                    raise
                end = concluded
        except Interruption as interruption:
            # Whatever interrupted the run, a person who accepted the text has decided.
            if asker.accepted:
                end = job.accept(ACCEPTED) or RunPaused(
                    status=Stopped.status, reason="there was no text yet to accept"
                )
            else:
                end = RunPaused(
                    status=interruption.status, reason=str(interruption), limit=interruption.limit
                )
        except InvalidInput as failure:
            self._pause(RunPaused(status=Stopped.status, reason=str(failure)))
            if not isinstance(failure, StrategyError):
                raise
            raise StrategyError(
                f"{failure}, then go on with `autoreason resume {owning_run(self.run)}`"
            ) from failure
        if isinstance(end, RunPaused):
            self._pause(end)
            job.story.apply(end)
        else:
            self.journal.set_status(self.run, end.status)
        if job.story.title != self.task.title:
            self.journal.set_title(self.run, job.story.title)
        self.journal.take_command(self.run)

    def _pause(self, paused: RunPaused) -> None:
        self.journal.append(self.run, paused)
        if on_event := self.hooks.get("on_event"):
            on_event(paused)
        self.journal.set_status(self.run, paused.status)
