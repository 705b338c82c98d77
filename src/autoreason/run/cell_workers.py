"""Cells in several processes of this machine, paid from one budget that this process keeps."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process

from autoreason.errors import BudgetReached, InvalidInput, ProviderFailed
from autoreason.journal import Journal
from autoreason.models.budget import CostBound, Reservation
from autoreason.paths import ServerUrl
from autoreason.run.cell_messages import (
    CellEnded,
    FromWorker,
    Granted,
    Message,
    Opening,
    Release,
    Reserve,
    Settle,
    StopCells,
    line,
    read_from_worker,
    start_cell,
)
from autoreason.run.cells import CellBudget, CellRun
from autoreason.run.result import StopSwitch
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import CellResult

_LONGEST_LINE = 2**30
_POLL_SECONDS = 0.2
_MAX_DEATHS = 5
"""Processes that a cell may outlive before it is to blame."""


class _Died(Exception):
    """The process of a cell is gone."""


class _Sent:
    """A cell that is with a process."""

    def __init__(self, budget: CellBudget | None) -> None:
        self.budget = budget
        self.result: asyncio.Future[CellResult] = asyncio.get_running_loop().create_future()
        self.reserved: dict[int, Reservation] = {}
        self.asking: dict[int, asyncio.Task[None]] = {}


class _WorkerProcess:
    """One process, and the cells it runs."""

    def __init__(self, process: Process, opening: Opening) -> None:
        self._process = process
        self.cells: dict[str, _Sent] = {}
        self.send(opening)
        self._reading = asyncio.create_task(self._read())

    @property
    def alive(self) -> bool:
        """Whether it can be sent a cell."""
        return not self._reading.done()

    def send(self, message: Message) -> None:
        """Send a message; one to a process that is gone is lost with it."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(line(message))

    async def run(self, cell: CellRun, budget: CellBudget | None) -> CellResult:
        """The result of a cell; raises `_Died` where the process is gone."""
        sent = self.cells[cell.run] = _Sent(budget)
        self.send(start_cell(cell, limited=budget is not None))
        try:
            return await sent.result
        finally:
            del self.cells[cell.run]

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while data := await self._process.stdout.readline():
                self._take(read_from_worker(data))
        finally:
            for sent in self.cells.values():
                for task in sent.asking.values():
                    task.cancel()
                if sent.budget:
                    sent.budget.release_all()
                if not sent.result.done():
                    sent.result.set_exception(_Died())

    def _take(self, message: FromWorker) -> None:
        sent = self.cells.get(message.run)
        if sent is None:
            return
        match message:
            case CellEnded(result=None):
                sent.result.set_exception(InvalidInput(message.refusal))
            case CellEnded(result=CellResult() as result):
                sent.result.set_result(result)
            case Reserve():
                asking = asyncio.create_task(self._reserve(sent, message))
                sent.asking[message.number] = asking
            case Settle() if sent.budget:
                sent.budget.settle(sent.reserved.pop(message.number), message.reply)
            case Release() if sent.budget:
                if message.number in sent.reserved:
                    sent.budget.release(sent.reserved.pop(message.number))
                elif asking_now := sent.asking.get(message.number):
                    asking_now.cancel()

    async def _reserve(self, sent: _Sent, message: Reserve) -> None:
        assert sent.budget is not None
        run, number = message.run, message.number
        try:
            upper = CostBound(1, message.tokens, message.cost)
            sent.reserved[number] = await sent.budget.reserve(upper)
            self.send(Granted(run=run, number=number))
        except BudgetReached as reached:
            self.send(Granted(run=run, number=number, refusal=str(reached), limit=reached.limit))
        finally:
            del sent.asking[number]

    async def close(self) -> None:
        """End the process and wait for it."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        await asyncio.gather(self._reading, return_exceptions=True)


class WorkerExecutor:
    """Runs cells in processes; one that dies is replaced, and its cells go on from the journal."""

    def __init__(
        self, number: int, journal: Journal, settings: Settings, switch: StopSwitch
    ) -> None:
        self._number = number
        self._switch = switch
        place = journal.place
        self._opening = Opening(
            # Through a pipe, where nobody else reads its password.
            journal=place.url if isinstance(place, ServerUrl) else str(place),
            base_url=settings.base_url,
            allow_http=settings.allow_http,
        )
        self._workers: list[_WorkerProcess] = []
        self._starting = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def run(self, cell: CellRun, budget: CellBudget | None) -> CellResult:
        """Run a cell in the process that has the fewest."""
        for _ in range(_MAX_DEATHS):
            worker = await self._least_loaded()
            try:
                return await worker.run(cell, budget)
            except _Died:
                continue
        raise ProviderFailed(f"{cell.run}: its process died {_MAX_DEATHS} times in a row")

    async def _least_loaded(self) -> _WorkerProcess:
        async with self._starting:
            self._workers = [each for each in self._workers if each.alive]
            while len(self._workers) < self._number:
                self._workers.append(await self._start())
            self._watching = self._watching or asyncio.create_task(self._watch())
            return min(self._workers, key=lambda each: len(each.cells))

    async def _start(self) -> _WorkerProcess:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "autoreason.run.cell_worker",
            stdin=PIPE,
            stdout=PIPE,
            limit=_LONGEST_LINE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return _WorkerProcess(process, self._opening)

    async def _watch(self) -> None:
        """Pass a stop on."""
        # The switch is set from a handler of signals as well.
        while not self._switch.stopped:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        for worker in self._workers:
            worker.send(StopCells())

    async def close(self) -> None:
        """End all processes."""
        if self._watching:
            self._watching.cancel()
        for worker in self._workers:
            await worker.close()
