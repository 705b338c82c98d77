"""A cell of a suite is a run of its own: started, resumed or read, and paid from one budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import BudgetReached
from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Signal
from autoreason.journal import Journal
from autoreason.journal.run_names import suite_name
from autoreason.keys import sub_key
from autoreason.models.budget import BudgetTracker, SharedBudget
from autoreason.models.pool import ModelPool
from autoreason.prompts import PromptSet
from autoreason.run import driver
from autoreason.run.cell_budget import CellBudget
from autoreason.run.cell_measures import measure_cell
from autoreason.run.cell_services import CellServices
from autoreason.run.prepared import choose_prompts
from autoreason.run.record import recorded_result
from autoreason.run.result import StopSwitch
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import CellResult
from autoreason.task import Task

BudgetOf = Callable[[str], BudgetTracker | None]
"""The budget of all cells of a suite, by its run; None without limits."""
LEFT_OUT = ("panel_failed", "metric_failed")
"""How a cell may end without a result; all else that is not finished pauses the suite, which can be resumed."""


class CellRun(Struct, frozen=True, kw_only=True):
    """The run of a cell, with everything decided."""

    run: str
    part: str
    task: Task
    settings: Settings
    prompts: dict[str, str] = {}
    """Empty where it has the built-in ones."""
    again: bool = False
    """Whether it goes on though its panels failed."""
    seconds_left: float | None = None
    """Of the time for all cells, when it is sent."""

    @property
    def suite(self) -> str:
        """The run that it is a cell of."""
        return suite_name(self.run)


class CellOutcome(NamedTuple):
    """What came of a cell."""

    result: CellResult
    reached: BudgetReached | None = None
    """Why a call could not be paid from the budget of all cells."""


class Executor(Protocol):
    """Where cells run: in this process, in others of this machine, or elsewhere."""

    async def run(self, cell: CellRun) -> CellOutcome:
        """Run a cell to its end or a pause, whatever was done of it before."""
        ...

    async def close(self) -> None:
        """Release what it uses."""
        ...


class LocalExecutor:
    """Runs cells in this process, over one pool of models."""

    def __init__(
        self,
        journal: Journal,
        pool: ModelPool,
        switch: StopSwitch,
        on_signal: OnSignal | None,
        budget_of: BudgetOf,
        services: CellServices,
    ) -> None:
        self._journal, self._pool = journal, pool
        self._switch, self._on_signal = switch, on_signal
        self._budget_of, self._services = budget_of, services

    async def run(self, cell: CellRun) -> CellOutcome:
        """Drive the run of a cell."""
        signals = prefix_signals(self._on_signal, cell.part)
        whole = self._budget_of(cell.suite)
        budget = CellBudget(whole) if whole else None
        async with self._journal.lock_async(cell.run):
            result = await drive_cell(
                cell, self._journal, self._pool, self._switch, signals, budget, self._services
            )
        return CellOutcome(result, budget.reached if budget else None)

    async def close(self) -> None:
        """Close what cells share; journal and models are the suite's."""
        await self._services.close()


async def drive_cell(
    cell: CellRun,
    journal: Journal,
    pool: ModelPool,
    switch: StopSwitch,
    on_signal: OnSignal | None,
    budget: SharedBudget | None,
    services: CellServices,
) -> CellResult:
    """Start the run of a cell, which is locked; go on with it where it is there; read its end where it has one."""
    common: dict[str, Any] = {
        "journal": journal,
        "pool": pool,
        "switch": switch,
        "on_signal": on_signal,
        "shared_budget": budget,
        "service": services.of(cell.run, cell.task, cell.settings, journal),
        "locked": True,
    }
    if not journal.has(cell.run):
        prompts = PromptSet(cell.prompts) if cell.prompts else cell_prompts(cell.settings)
        result = await driver.start(
            cell.task, cell.settings, name=cell.run, prompts=prompts, **common
        )
    elif (row := journal.row(cell.run)).status in (*FINISHED, *(() if cell.again else LEFT_OUT)):
        result = recorded_result(row, journal.story(row.id), journal)
    else:
        result = await driver.resume(cell.run, **common)
    return measure_cell(result)


def cell_prompts(settings: Settings) -> PromptSet:
    """The prompts of a cell."""
    return choose_prompts(settings, writes=settings.job.writes or settings.job.steps_write)


def prefix_signals(on_signal: OnSignal | None, part: str) -> OnSignal | None:
    """Signals of a cell under keys that no other cell has."""
    if on_signal is None:
        return None

    def prefixed(signal: Signal) -> None:
        on_signal(replace(signal, key=sub_key(part, signal.key)))

    return prefixed
