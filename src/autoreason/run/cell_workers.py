"""Cells in workers, on this machine or on others: started, replaced when they die, and counted in the journal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import Protocol
from uuid import uuid4

import msgspec

from autoreason.errors import AutoreasonError, BudgetReached, InvalidInput, ProviderFailed
from autoreason.journal import Journal
from autoreason.journal.leases import Rows
from autoreason.models.budget import CostBound
from autoreason.paths import ServerUrl
from autoreason.run.cell_worker import (
    LONGEST_LINE,
    STOP,
    CellEnded,
    Opening,
    StartCell,
    lock_when_free,
    start_cell,
)
from autoreason.run.cells import CellOutcome, CellRun, usage, usage_by_cell
from autoreason.run.leases import BASE, Lease, as_row, total
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget, Settings

_POLL_SECONDS = 0.2
_MAX_DEATHS = 20
"""Workers that a cell may outlive before it is to blame."""
_END_PATIENCE = 5.0


class WorkerDied(Exception):
    """A worker is gone, or cannot be reached any more."""


class Worker(Protocol):
    """A process that runs cells."""

    async def run(self, cell: StartCell) -> CellEnded:
        """What came of a cell; raises `WorkerDied`."""
        ...

    def stop(self) -> None:
        """Let it make no new calls."""
        ...

    async def close(self) -> None:
        """End it at once."""
        ...


class Machines(Protocol):
    """Where workers are."""

    def wanted(self) -> int:
        """How many there should be now."""
        ...

    async def start(self, opening: Opening) -> Worker:
        """Another worker."""
        ...

    async def close(self) -> None:
        """Release what is not needed any more."""
        ...


class ThisMachine:
    """Workers are processes of this machine."""

    def __init__(self, number: int) -> None:
        self._number = number

    def wanted(self) -> int:
        """As many as a person asked for."""
        return self._number

    async def start(self, opening: Opening) -> Worker:
        """Another process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "autoreason.run.cell_worker",
            stdin=PIPE,
            stdout=PIPE,
            limit=LONGEST_LINE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return _WorkerProcess(process, opening)

    async def close(self) -> None:
        """Nothing to release."""


class _WorkerProcess:
    def __init__(self, process: Process, opening: Opening) -> None:
        self._process = process
        self._cells: dict[str, asyncio.Future[CellEnded]] = {}
        self._send(msgspec.json.encode(opening) + b"\n")
        self._reading = asyncio.create_task(self._read())

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(line)

    async def run(self, cell: StartCell) -> CellEnded:
        if self._reading.done():
            raise WorkerDied
        ended = self._cells[cell.run] = asyncio.get_running_loop().create_future()
        self._send(msgspec.json.encode(cell) + b"\n")
        try:
            return await ended
        finally:
            del self._cells[cell.run]

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with suppress(msgspec.DecodeError):
                while data := await self._process.stdout.readline():
                    message = read_ended(data)
                    if ended := self._cells.get(message.run):
                        ended.set_result(message)
        finally:
            # Else it would go on with the cells that another is sent.
            await self._kill()
            for ended in self._cells.values():
                if not ended.done():
                    ended.set_exception(WorkerDied())

    def stop(self) -> None:
        self._send(STOP)

    async def close(self) -> None:
        await self._kill()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _kill(self) -> None:
        if self._process.returncode is None:
            # `Process.kill` would wait for an ended process too, which only asyncio's watcher may.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()


read_ended = msgspec.json.Decoder(CellEnded).decode


class _Started:
    """A worker, and the cells it was ever sent."""

    def __init__(self, name: str, worker: Worker) -> None:
        self.name, self.worker = name, worker
        self.load = 0
        self.cells: set[str] = set()
        self.burial: asyncio.Task[None] | None = None


class WorkerExecutor:
    """Runs cells in workers; one that dies is replaced, and its cells go on from the journal."""

    def __init__(
        self, machines: Machines, journal: Journal, settings: Settings, switch: StopSwitch
    ) -> None:
        self._machines, self._journal = machines, journal
        self._settings, self._switch = settings, switch
        self._table = journal.open_leases()
        self._suite = ""
        self._counted: dict[str, CostBound] = {}
        """What cells have used that workers do not say themselves."""
        self._workers: list[_Started] = []
        self._starting = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def run(self, cell: CellRun) -> CellOutcome:
        """Run a cell in the worker that has the fewest."""
        for _ in range(_MAX_DEATHS):
            started = await self._least_loaded(cell.suite)
            started.load += 1
            started.cells.add(cell.run)
            try:
                ended = await started.worker.run(start_cell(cell))
            except WorkerDied:
                if started.burial is None:
                    self._workers.remove(started)
                    started.burial = asyncio.create_task(self._bury(started))
                await asyncio.shield(started.burial)
                continue
            finally:
                started.load -= 1
            if ended.result is None:
                raise InvalidInput(ended.refusal)
            reached = BudgetReached(ended.reached, ended.limit) if ended.reached else None
            return CellOutcome(ended.result, reached)
        raise ProviderFailed(f"{cell.run}: its worker died {_MAX_DEATHS} times")

    async def _least_loaded(self, suite: str) -> _Started:
        async with self._starting:
            if not self._suite:
                await self._open(suite)
            while len(self._workers) < self._machines.wanted():
                opening = self._opening(suite)
                worker = await self._machines.start(opening)
                self._workers.append(_Started(opening.worker, worker))
            return min(self._workers, key=lambda each: each.load)

    def _opening(self, suite: str) -> Opening:
        place, settings = self._journal.place, self._settings
        return Opening(
            worker=f"worker-{uuid4().hex[:12]}",
            suite=suite,
            budget=settings.budget,
            journal=place.url if isinstance(place, ServerUrl) else str(place),
            base_url=settings.base_url,
            allow_http=settings.allow_http,
        )

    async def _open(self, suite: str) -> None:
        """Count what was used before, when the workers of a process that was killed are gone."""
        for account, holder in await self._table.holders():
            if account == suite and holder != BASE:
                async with lock_when_free(self._journal, holder):
                    pass
        self._suite = suite
        await self._clear()
        budget = self._settings.budget
        if budget != Budget():
            found = await asyncio.to_thread(usage_by_cell, self._journal, budget, suite)
            await self._count(found)
        self._watching = asyncio.create_task(self._pass_stop_on())

    async def _pass_stop_on(self) -> None:
        while True:
            # The switch is set from a handler of signals as well, and workers may be started later.
            for each in self._workers if self._switch.stopped else ():
                each.worker.stop()
            await asyncio.sleep(_POLL_SECONDS)

    async def _bury(self, dead: _Started) -> None:
        """Let the journal say what the cells of a dead worker have used; nobody else goes on with them before."""
        await dead.worker.close()
        async with lock_when_free(self._journal, dead.name):
            journal, budget = self._journal, self._settings.budget

            def read() -> dict[str, CostBound]:
                return {run: usage(journal, budget, run, journal.spent(run)) for run in dead.cells}

            found = await asyncio.to_thread(read) if budget != Budget() else {}
            await self._count(found, dead.name)

    async def _count(self, found: dict[str, CostBound], dead: str = BASE) -> None:
        self._counted |= found
        used = total(self._counted.values())

        def decide(rows: Rows, _now: float) -> None:
            rows[self._suite].pop(dead, None)
            rows[self._suite][BASE] = as_row(Lease(used, used))

        await self._table.update([self._suite], decide)

    async def _clear(self) -> None:
        """Remove all rows of this suite, of workers that are gone, and of what nobody shares any more."""
        found = await self._table.holders()
        alive = await asyncio.to_thread(self._journal.locked_runs)

        def decide(rows: Rows, _now: float) -> None:
            for account, held in rows.items():
                # Those of another suite are the matter of its own process.
                if account in alive and account != self._suite:
                    continue
                for account_, holder in found:
                    if account_ == account and holder not in alive:
                        held.pop(holder, None) if holder != BASE else None
                if held.keys() <= {BASE}:
                    held.clear()

        await self._table.update({account for account, _ in found}, decide)

    async def close(self) -> None:
        """End all workers."""
        if self._watching:
            self._watching.cancel()
        for each in self._workers:
            await each.worker.close()
        await self._machines.close()
        # A journal that cannot be reached any more is no reason to fail here.
        with suppress(AutoreasonError):
            for each in self._workers:
                async with lock_when_free(self._journal, each.name, _END_PATIENCE):
                    pass
            if self._suite:
                await self._clear()
            self._table.close()
