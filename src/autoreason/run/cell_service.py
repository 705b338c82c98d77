"""Answers what comes of the cells of a suite, in whichever process they run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from msgspec import convert

from autoreason.errors import BudgetReached, InvalidInput, ProviderFailed, Stopped
from autoreason.exchange import OnSignal, Query
from autoreason.job_types import Lab
from autoreason.journal import Journal
from autoreason.journal.run_names import cell_name
from autoreason.models.pool import ModelPool
from autoreason.run.cells import (
    LEFT_OUT,
    CellRun,
    CellServices,
    Executor,
    LocalExecutor,
    open_budget,
)
from autoreason.run.result import StopSwitch
from autoreason.settings import Settings
from autoreason.studies.lab_suite import CellQuery, CellResult, Suite, prepare_cell, suite_of
from autoreason.task import Task


class CellService:
    """Answers what comes of a cell, from its run."""

    def __init__(
        self, suite: Suite, settings: Settings, journal: Journal, executor: Executor, base: str
    ) -> None:
        self._suite, self._settings, self._executor = suite, settings, executor
        # What is recorded of the suite that this one adds to.
        self._known = {
            key: convert(each.answer, CellResult)
            for key, each in (journal.answers(base) if base else {}).items()
            if each.kind == CellQuery.kind
        }
        self.run = ""
        """The suite's; known once it is started."""

    async def answer(self, query: Query[Any]) -> Any:
        """The result of a cell; raises what keeps it from ending."""
        assert isinstance(query, CellQuery)
        if known := self._known.get(query.key):
            return known
        task, settings = prepare_cell(self._suite, query, self._settings.seed)
        cell = CellRun(
            run=cell_name(self.run, query.cell.number),
            part=query.cell.part,
            task=task,
            settings=settings,
            prompts=self._suite.prompts,
            again=query.attempt > 0,
        )
        outcome = await self._executor.run(cell)
        if not (result := outcome.result):
            raise InvalidInput(outcome.refusal)
        if result.finished or result.status in LEFT_OUT:
            return result
        if result.status == "provider_failed":
            raise ProviderFailed(f"{result.run}: {result.reason}")
        if result.status != "budget":
            # All cells stop for the same reason.
            raise Stopped(result.reason)
        if outcome.reached:
            raise BudgetReached(f"all cells together: {outcome.reached}", outcome.limit)
        # At its own limit a cell is over; more would not be the same for all.
        return result


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
    executor: Executor
    if terms.ray:
        from autoreason.run.ray_cells import RayExecutor

        executor = await RayExecutor.connect(suite, terms, journal, settings, switch)
    elif terms.workers:
        from autoreason.run.workers import WorkerExecutor

        executor = WorkerExecutor(terms, journal, settings, switch)
    else:
        budget_of = cache(partial(open_budget, journal, settings.budget))
        services = services or CellServices()
        executor = LocalExecutor(journal, pool, switch, on_signal, budget_of, services)
    try:
        yield CellService(suite, settings, journal, executor, terms.base)
    finally:
        await executor.close()
