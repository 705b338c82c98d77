"""Answers what comes of the cells of a suite, in whichever process they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from msgspec import convert

from autoreason.errors import BudgetReached, Interruption, ProviderFailed, Stopped
from autoreason.exchange import OnSignal, Query
from autoreason.jobs.job import read_options
from autoreason.journal import Journal
from autoreason.journal.run_names import cell_name
from autoreason.models.budget import BudgetTracker
from autoreason.models.pool import ModelPool
from autoreason.models.prices import rates
from autoreason.run.cells import LEFT_OUT, CellBudget, CellRun, Executor, LocalExecutor
from autoreason.run.result import StopSwitch
from autoreason.run.working_time import working_time
from autoreason.settings import Budget, Settings
from autoreason.studies.lab.lab_job import LabTerms
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
        self._tracker: BudgetTracker | None = None
        self.run = ""
        """The suite's; known once it is started."""

    async def answer(self, query: Query[Any]) -> Any:
        """The result of a cell; raises what keeps it from ending."""
        assert isinstance(query, CellQuery)
        if known := self._known.get(query.key):
            return known
        task, settings = prepare_cell(self._suite, query, self._settings.seed)
        name = cell_name(self.run, query.cell.number)
        cell = CellRun(run=name, part=query.cell.part, task=task, settings=settings)
        budget = CellBudget(self._whole()) if self._settings.budget != Budget() else None
        result = await self._executor.run(cell, budget)
        if not result.finished and (interruption := _interruption(result, budget)):
            raise interruption
        return result

    def _whole(self) -> BudgetTracker:
        """The budget of all cells, with what earlier processes have spent of it."""
        if self._tracker is None:
            before = working_time(self.run, journal=self._journal).seconds
            started = monotonic()
            self._tracker = BudgetTracker(
                self._settings.budget, lambda: before + monotonic() - started
            )
            for suite in filter(None, (self._base, self.run)):
                self._carry(self._tracker, suite)
        return self._tracker

    def _carry(self, tracker: BudgetTracker, suite: str) -> None:
        for row in self._journal.cells(suite):
            if not (row.spent.unmetered or row.spent.unpriced):
                tracker.carry_spent(row.spent)
                continue
            # What is not reported counts as the most that it could have been.
            for request, reply in self._journal.replies(row.id).values():
                most = rates(request.model, batch=self._settings.batch)
                tracker.carry(reply, tracker.bound(request, most))

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


def _interruption(result: CellResult, budget: CellBudget | None) -> Interruption | None:
    """Why the suite pauses where a cell did; None where the cell is left out instead."""
    if result.status == "budget":
        reached = budget.reached if budget else None
        # At its own limit a cell is over; more would not be the same for all.
        return BudgetReached(f"all cells together: {reached}", reached.limit) if reached else None
    if result.status in LEFT_OUT:
        return None
    kind = ProviderFailed if result.status == "provider_failed" else Stopped
    return kind(f"{result.run}: {result.reason}")


@asynccontextmanager
async def open_cells(
    task: Task,
    settings: Settings,
    journal: Journal,
    pool: ModelPool,
    switch: StopSwitch,
    on_signal: OnSignal | None,
) -> AsyncIterator[CellService]:
    """The service of a suite's run; its processes end with it."""
    suite = suite_of(task)
    assert suite is not None
    terms = read_options(settings, LabTerms)
    executor: Executor
    if terms.workers:
        from autoreason.run.cell_workers import WorkerExecutor

        executor = WorkerExecutor(terms.workers, journal, settings, switch)
    else:
        executor = LocalExecutor(journal, pool, switch, on_signal)
    service = CellService(suite, settings, journal, executor, terms.base)
    try:
        yield service
    finally:
        await service.close()
