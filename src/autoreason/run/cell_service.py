"""Answers what comes of the cells of a suite, in whichever process they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache, cached_property, partial
from typing import Any

from msgspec import convert

from autoreason.errors import BudgetReached, Interruption, ProviderFailed, Stopped
from autoreason.exchange import OnSignal, Query
from autoreason.job_types import Lab
from autoreason.journal import Journal
from autoreason.journal.run_names import cell_name
from autoreason.models.budget import BudgetTracker
from autoreason.models.pool import ModelPool
from autoreason.run.cell_budget import open_budget, open_tracker
from autoreason.run.cell_services import CellServices
from autoreason.run.cells import LEFT_OUT, CellOutcome, CellRun, Executor, LocalExecutor
from autoreason.run.result import StopSwitch
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import CellQuery, CellResult, Suite, prepare_cell, suite_of
from autoreason.task import Task


class CellService:
    """Answers what comes of a cell, from its run."""

    def __init__(
        self,
        suite: Suite,
        settings: Settings,
        journal: Journal,
        executor: Executor,
        base: str = "",
    ) -> None:
        self._suite, self._settings = suite, settings
        self._journal, self._executor = journal, executor
        self._base = base
        self._known = _answers(journal, base) if base else {}
        self.run = ""
        """The suite's; known once it is started."""

    async def answer(self, query: Query[Any]) -> Any:
        """The result of a cell; raises what keeps it from ending."""
        assert isinstance(query, CellQuery)
        if known := self._known.get(query.key):
            return known
        task, settings = prepare_cell(self._suite, query, self._settings.seed)
        name = cell_name(self.run, query.cell.number)
        cell = CellRun(
            run=name,
            part=query.cell.part,
            task=task,
            settings=settings,
            prompts=self._suite.prompts,
            again=query.attempt > 0,
            seconds_left=self._clock.seconds_left if self._clock else None,
        )
        outcome = await self._executor.run(cell)
        if not outcome.result.finished and (interruption := _interruption(outcome)):
            raise interruption
        return outcome.result

    @cached_property
    def _clock(self) -> BudgetTracker | None:
        return open_tracker(self._journal, self._settings.budget, self.run)

    async def close(self) -> None:
        """Release what runs the cells."""
        await self._executor.close()


def _answers(journal: Journal, suite: str) -> Mapping[str, CellResult]:
    """What is recorded of the cells of a suite, by key."""
    return {
        key: convert(each.answer, CellResult)
        for key, each in journal.answers(suite).items()
        if each.kind == CellQuery.kind
    }


def _interruption(outcome: CellOutcome) -> Interruption | None:
    """Why the suite pauses where a cell did; None where the cell is left out instead."""
    result, reached = outcome
    if result.status == "budget":
        # At its own limit a cell is over; more would not be the same for all.
        return BudgetReached(f"all cells together: {reached}", reached.limit) if reached else None
    if result.status in LEFT_OUT:
        return None
    if result.status == "provider_failed":
        return ProviderFailed(f"{result.run}: {result.reason}")
    # All cells stop for the same reason.
    return Stopped(result.reason)


@asynccontextmanager
async def open_cells(
    task: Task,
    settings: Settings,
    journal: Journal,
    pool: ModelPool,
    switch: StopSwitch,
    on_signal: OnSignal | None,
    services: CellServices | None = None,
) -> AsyncIterator[CellService]:
    """The service of a suite's run; its processes end with it. `services` are those of cells in this process."""
    suite = suite_of(task)
    assert suite is not None
    terms = settings.job_as(Lab)
    budget_of = cache(partial(open_budget, journal, settings.budget))
    executor: Executor
    if terms.ray:
        from autoreason.run.ray_cells import RayExecutor

        executor = await RayExecutor.connect(suite, terms, journal, settings, switch)
    elif terms.workers:
        from autoreason.run.cell_messages import opening
        from autoreason.run.cell_workers import WorkerExecutor

        executor = WorkerExecutor(terms.workers, opening(journal, settings), switch, budget_of)
    else:
        services = services or CellServices()
        executor = LocalExecutor(journal, pool, switch, on_signal, budget_of, services)
    service = CellService(suite, settings, journal, executor, terms.base)
    try:
        yield service
    finally:
        await service.close()
