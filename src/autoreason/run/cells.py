"""A cell of a suite is a run of its own: started, resumed or read, and paid from one budget."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import BudgetReached
from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Reply, Signal
from autoreason.journal import Journal
from autoreason.keys import sub_key
from autoreason.models.budget import BudgetTracker, CostBound, Reservation, SharedBudget
from autoreason.models.pool import ModelPool
from autoreason.prompts import PromptSet
from autoreason.run import driver
from autoreason.run.cell_measures import measure_cell
from autoreason.run.kinds import job_class
from autoreason.run.prompt_choice import choose_prompts
from autoreason.run.result import StopSwitch, recorded_result
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import CellResult
from autoreason.task import Task

LEFT_OUT = ("panel_failed", "metric_failed")
"""How a cell may end without a result; all else that is not finished pauses the suite, which can be resumed."""


class CellRun(Struct, frozen=True, kw_only=True):
    """The run of a cell, with everything decided."""

    run: str
    part: str
    task: Task
    settings: Settings


class CellBudget:
    """The budget of all cells, as one of them draws on it."""

    def __init__(self, whole: BudgetTracker) -> None:
        self._whole = whole
        self._out: set[Reservation] = set()
        self.reached: BudgetReached | None = None
        """Why a call of this cell could not be paid."""

    async def reserve(self, upper: CostBound) -> Reservation:
        """Reserve a call's upper bound from what is left for all."""
        try:
            reservation = await self._whole.reserve(upper)
        except BudgetReached as reached:
            self.reached = reached
            raise
        self._out.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        """Pay for a reply."""
        self._out.remove(reservation)
        self._whole.settle(reservation, reply)

    def release(self, reservation: Reservation) -> None:
        """Give back all of it."""
        self._out.remove(reservation)
        self._whole.release(reservation)

    def release_all(self) -> None:
        """Give back what a process that died had reserved."""
        for reservation in tuple(self._out):
            self.release(reservation)


class Executor(Protocol):
    """Where cells run: in this process, in others of this machine, or elsewhere."""

    async def run(self, cell: CellRun, budget: CellBudget | None) -> CellResult:
        """Run a cell to its end or a pause, whatever was done of it before."""
        ...

    async def close(self) -> None:
        """Release what it uses."""
        ...


class LocalExecutor:
    """Runs cells in this process, over one pool of models."""

    def __init__(
        self, journal: Journal, pool: ModelPool, switch: StopSwitch, on_signal: OnSignal | None
    ) -> None:
        self._journal, self._pool = journal, pool
        self._switch, self._on_signal = switch, on_signal

    async def run(self, cell: CellRun, budget: CellBudget | None) -> CellResult:
        """Drive the run of a cell."""
        signals = prefix_signals(self._on_signal, cell.part)
        return await drive_cell(cell, self._journal, self._pool, self._switch, signals, budget)

    async def close(self) -> None:
        """Nothing: journal and models are the suite's."""


async def drive_cell(
    cell: CellRun,
    journal: Journal,
    pool: ModelPool,
    switch: StopSwitch,
    on_signal: OnSignal | None,
    budget: SharedBudget | None,
) -> CellResult:
    """Start the run of a cell; go on with it where it is there unfinished; read its end where it has one."""
    common: dict[str, Any] = {
        "journal": journal,
        "pool": pool,
        "switch": switch,
        "on_signal": on_signal,
        "shared_budget": budget,
    }
    if not journal.has(cell.run):
        prompts = cell_prompts(cell.settings)
        result = await driver.start(
            cell.task, cell.settings, name=cell.run, prompts=prompts, **common
        )
    elif (row := journal.row(cell.run)).status in (*FINISHED, *LEFT_OUT):
        result = recorded_result(row, journal.story(row.id), journal)
    else:
        result = await driver.resume(cell.run, **common)
    return measure_cell(result)


def cell_prompts(settings: Settings) -> PromptSet:
    """The prompts of a cell."""
    kind = job_class(settings)
    return choose_prompts(settings, writes=kind.writes or kind.parts_write)


def prefix_signals(on_signal: OnSignal | None, part: str) -> OnSignal | None:
    """Signals of a cell under keys that no other cell has."""
    if on_signal is None:
        return None

    def prefixed(signal: Signal) -> None:
        on_signal(replace(signal, key=sub_key(part, signal.key)))

    return prefixed
