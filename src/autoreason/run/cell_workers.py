"""Cells in several processes of this machine; this one keeps the gate that all their calls pass."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress

import msgspec

from autoreason.errors import BudgetReached, InvalidInput, ProviderFailed
from autoreason.run.call_gate import CallGate, GateSession
from autoreason.run.cell_messages import (
    CellEnded,
    FromWorker,
    Message,
    Opening,
    StopCells,
    line,
    read_from_worker,
    start_cell,
)
from autoreason.run.cells import BudgetOf, CellOutcome, CellRun
from autoreason.run.result import StopSwitch

_LONGEST_LINE = 2**30
_POLL_SECONDS = 0.2
_MAX_DEATHS = 5
"""Processes that a cell may outlive before it is to blame."""


class _Died(Exception):
    """The process of a cell is gone."""


def read_outcome(ended: CellEnded) -> CellOutcome:
    """What came of a cell; raises why it could not be run."""
    if ended.result is None:
        raise InvalidInput(ended.refusal)
    reached = BudgetReached(ended.reached, ended.limit) if ended.reached else None
    return CellOutcome(ended.result, reached)


async def pass_stop_on(switch: StopSwitch, stop: Callable[[], object]) -> None:
    """Stop all workers once the switch is set, and those that are started later."""
    while True:
        # The switch is set from a handler of signals as well.
        if switch.stopped:
            stop()
        await asyncio.sleep(_POLL_SECONDS)


class _WorkerProcess:
    """One process, and the cells it runs."""

    def __init__(self, process: Process, opening: Opening, gate: CallGate) -> None:
        self._process = process
        self.cells: dict[str, asyncio.Future[CellEnded]] = {}
        self._session = GateSession(gate, self.send)
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

    async def run(self, cell: CellRun, *, limited: bool) -> CellEnded:
        """What came of a cell; raises `_Died` where the process is gone."""
        ended: asyncio.Future[CellEnded] = asyncio.get_running_loop().create_future()
        self.cells[cell.run] = ended
        self.send(start_cell(cell, limited=limited))
        try:
            return await ended
        finally:
            del self.cells[cell.run]

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with suppress(msgspec.DecodeError):
                while data := await self._process.stdout.readline():
                    self._take(read_from_worker(data))
        finally:
            # Else it would go on with the cells that another is sent.
            await self._kill()
            self._session.abandon()
            for ended in self.cells.values():
                if not ended.done():
                    ended.set_exception(_Died())

    def _take(self, message: FromWorker) -> None:
        if not isinstance(message, CellEnded):
            self._session.take(message)
        elif ended := self.cells.get(message.run):
            ended.set_result(message)

    async def close(self) -> None:
        """End the process and wait for it."""
        await self._kill()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _kill(self) -> None:
        if self._process.returncode is None:
            # `Process.kill` would wait for an ended process too, which only asyncio's watcher may.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()


class WorkerExecutor:
    """Runs cells in processes; one that dies is replaced, and its cells go on from the journal."""

    def __init__(
        self, number: int, opening: Opening, switch: StopSwitch, budget_of: BudgetOf
    ) -> None:
        self._number = number
        self._opening = opening
        self._switch = switch
        self._budget_of = budget_of
        self._gate = CallGate()
        self._workers: list[_WorkerProcess] = []
        self._starting = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def run(self, cell: CellRun) -> CellOutcome:
        """Run a cell in the process that has the fewest."""
        self._gate.budget = budget = self._budget_of(cell.suite)
        for _ in range(_MAX_DEATHS):
            worker = await self._least_loaded()
            try:
                return read_outcome(await worker.run(cell, limited=budget is not None))
            except _Died:
                continue
        raise ProviderFailed(f"{cell.run}: its process died {_MAX_DEATHS} times in a row")

    async def _least_loaded(self) -> _WorkerProcess:
        async with self._starting:
            # Another may die while one is started.
            while len(alive := [each for each in self._workers if each.alive]) < self._number:
                self._workers = [*alive, await self._start()]
            self._workers = alive
            self._watching = self._watching or asyncio.create_task(
                pass_stop_on(self._switch, self._stop)
            )
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
        return _WorkerProcess(process, self._opening, self._gate)

    def _stop(self) -> None:
        for worker in self._workers:
            worker.send(StopCells())

    async def close(self) -> None:
        """End all processes."""
        if self._watching:
            self._watching.cancel()
        for worker in self._workers:
            await worker.close()
