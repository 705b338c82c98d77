"""`python -m autoreason.run.cell_worker`: runs the cells that a scheduler sends, over its own journal and models."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from autoreason.errors import AutoreasonError, RunLocked, WritingFailed
from autoreason.journal import Journal
from autoreason.models.pool import ModelPool
from autoreason.run.cell_budget import CellBudget
from autoreason.run.cell_messages import (
    CellEnded,
    FromWorker,
    Granted,
    Opening,
    Recall,
    StartCell,
    StopCells,
    ToWorker,
    line,
    read_cell,
    read_to_worker,
)
from autoreason.run.cell_services import CellServices
from autoreason.run.cells import drive_cell
from autoreason.run.gate_client import GateClient, RemoteBudget
from autoreason.run.result import StopSwitch

_LONGEST_LINE = 2**30
_PATIENCE = 60.0
"""Seconds; a worker whose scheduler was killed ends when it notices that."""
_PAUSE = 0.2


class CellWorker:
    """Runs cells side by side; what their calls need is granted by a gate."""

    def __init__(self, opening: Opening, gate: GateClient) -> None:
        self.journal = Journal.open(opening.journal, create=False)
        self._gate = gate
        self._pool = ModelPool(
            opening.base_url,
            allow_http=opening.allow_http,
            limiter=gate.limiter,
        )
        self._switch = StopSwitch()
        self.services = CellServices()
        self.running: dict[str, frozenset[str]] = {}
        """Runs of cells that are under way, and the calls that another process has left in flight."""

    @property
    def stopped(self) -> bool:
        """Whether it was stopped."""
        return self._switch.stopped

    def stop(self) -> None:
        """No new calls from now on."""
        self._switch.stop()

    def abandoned(self, run: str) -> frozenset[str]:
        """Calls that another process has left in flight and that are not answered yet."""
        keys = frozenset(each.key for each in self.journal.in_flight(run))
        return keys & self.running.get(run, keys)

    async def run_alone(self, message: StartCell, patience: float) -> CellEnded:
        """Run a cell once no other worker has it; the one before may live on for a while."""
        deadline = monotonic() + patience
        while True:
            try:
                return await self.run(message)
            except RunLocked:
                if monotonic() > deadline:
                    raise
                await asyncio.sleep(_PAUSE)

    async def run(self, message: StartCell) -> CellEnded:
        """Run a cell to its end or a pause."""
        remote = RemoteBudget(self._gate, message.run, message.seconds_left)
        budget = CellBudget(remote) if message.limited else None
        async with self.journal.lock_async(message.run):
            self.running[message.run] = self.abandoned(message.run)
            try:
                result = await drive_cell(
                    *(read_cell(message), self.journal, self._pool, self._switch, None, budget),
                    services=self.services,
                )
            finally:
                del self.running[message.run]
        reached = budget.reached if budget else None
        return CellEnded(
            run=message.run,
            result=result,
            reached=str(reached or ""),
            limit=reached.limit if reached else None,
        )


def _send(pipe: int, message: FromWorker) -> None:
    """Send at once: what was paid must be known to the scheduler before it is in the journal."""
    data = line(message)
    while data:
        data = data[os.write(pipe, data) :]


class _PipeWorker:
    """A worker whose scheduler is at the other end of a pipe."""

    def __init__(self, opening: Opening, send: Callable[[FromWorker], None]) -> None:
        self._send = send
        self._gate = GateClient(send)
        self._worker = CellWorker(opening, self._gate)
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: ToWorker) -> None:
        """Act on a message."""
        match message:
            case StartCell():
                task = asyncio.create_task(self._run(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case Granted() | Recall():
                self._gate.take(message)
            case StopCells():
                self._worker.stop()

    async def _run(self, message: StartCell) -> None:
        try:
            self._send(await self._worker.run_alone(message, _PATIENCE))
        except WritingFailed:
            # Its cells go on in the process that replaces this one, with a connection that works.
            os._exit(1)
        except AutoreasonError as error:
            self._send(CellEnded(run=message.run, refusal=str(error)))


def _take_pipes() -> tuple[BinaryIO, int]:
    """The pipes from and to the scheduler; models and rules of the user's own read nothing and print as errors do."""
    pipes = os.fdopen(os.dup(0), "rb", buffering=0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return pipes


async def _work() -> None:
    loop = asyncio.get_running_loop()
    commands, replies = _take_pipes()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), commands)
    opening = read_to_worker(await reader.readline())
    assert isinstance(opening, Opening)
    worker = _PipeWorker(opening, partial(_send, replies))
    while data := await reader.readline():
        worker.take(read_to_worker(data))


def main() -> None:
    """Work until the scheduler is gone; what is under way then is asked again, as after any kill."""
    # The scheduler, which the terminal interrupts too, says what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(_work())
    os._exit(0)


if __name__ == "__main__":
    main()
