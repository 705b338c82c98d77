"""A worker: runs the cells it is sent side by side, over its own journal, models and leases.

`python -m autoreason.run.cell_worker` is one, whose cells come through a pipe.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import BinaryIO

import msgspec
from msgspec import Struct

from autoreason.errors import AutoreasonError, JournalError, RunLocked, WritingFailed
from autoreason.events import RunStarted
from autoreason.journal import Journal, codec
from autoreason.models.pool import ModelPool
from autoreason.run.cells import CellBudget, CellRun, CellServices, drive_cell
from autoreason.run.leases import Leases
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget
from autoreason.studies.lab.lab_suite import CellResult

STOP = b"stop\n"
"""A line in place of a cell: no new calls, but replies on their way are still taken in."""
LONGEST_LINE = 2**30
_PATIENCE = 600.0
"""Seconds to wait for a process that has a run; one that was lost with its machine may live on for a while."""
_PAUSE = 0.2
_WATCH_SECONDS = 1.0


class Opening(Struct, frozen=True, kw_only=True):
    """What a worker is started with."""

    worker: str
    """Its name, under which it is locked in the journal while it lives."""
    suite: str
    budget: Budget
    """Of all cells of the suite."""
    journal: str
    """Where it goes, nobody else reads the password of a server."""
    base_url: dict[str, str] | str | None
    allow_http: bool


class StartCell(Struct, frozen=True, kw_only=True):
    """A cell to run, or to go on with."""

    run: str
    started: str
    """Its task, settings and prompts, as the journal writes them."""
    again: bool
    seconds_left: float | None


class CellEnded(Struct, frozen=True, kw_only=True):
    """A cell ended or paused, or could not be run for a reason."""

    run: str
    result: CellResult | None = None
    refusal: str = ""
    reached: str = ""
    """Why a call could not be paid from the budget of all cells."""
    limit: str | None = None


def start_cell(cell: CellRun) -> StartCell:
    """A cell as it is sent to a worker."""
    started = RunStarted(task=cell.task, settings=cell.settings, prompts=cell.prompts, version="")
    return StartCell(
        run=cell.run,
        started=codec.write(started),
        again=cell.again,
        seconds_left=cell.seconds_left,
    )


def _read_cell(sent: StartCell) -> CellRun:
    started = codec.read_event(sent.started)
    assert isinstance(started, RunStarted)
    return CellRun(
        run=sent.run,
        part="",
        task=started.task,
        settings=started.settings,
        prompts=started.prompts,
        again=sent.again,
    )


@asynccontextmanager
async def lock_when_free(
    journal: Journal, run: str, patience: float = _PATIENCE
) -> AsyncIterator[None]:
    """Lock a run, or the name of a worker, once no other process has it."""
    deadline = monotonic() + patience
    while True:
        lock = journal.lock_async(run)
        try:
            await lock.__aenter__()
            break
        except RunLocked:
            if monotonic() > deadline:
                raise
            await asyncio.sleep(_PAUSE)
    try:
        yield
    finally:
        await lock.__aexit__(*sys.exc_info())


class CellWorker:
    """Runs cells of one suite. What their calls need is leased, while a process drives the suite."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self.journal = Journal.open(opening.journal, create=False)
        self._exits = ExitStack()
        self._exits.enter_context(self.journal.lock(opening.worker))
        self._leases = Leases(self.journal, opening.worker)
        self._pool = ModelPool(
            opening.base_url, allow_http=opening.allow_http, limiter=self._leases.limiter
        )
        self._switch = StopSwitch()
        self._services = CellServices()
        self._watching = asyncio.create_task(self._watch())

    def stop(self) -> None:
        """No new calls from now on."""
        self._switch.stop()

    async def run(self, sent: StartCell) -> CellEnded:
        """Run a cell to its end or a pause, from where another worker left it."""
        try:
            async with lock_when_free(self.journal, sent.run):
                return await self._run(sent)
        except WritingFailed:
            # Its cells go on in the process that replaces this one, with a connection that works.
            os._exit(1)
        except AutoreasonError as error:
            return CellEnded(run=sent.run, refusal=str(error))

    async def _run(self, sent: StartCell) -> CellEnded:
        suite, whole = self._opening.suite, self._opening.budget
        budget = None
        if whole != Budget():
            budget = CellBudget(self._leases.budget(suite, whole, sent.seconds_left))
        result = await drive_cell(
            *(_read_cell(sent), self.journal, self._pool, self._switch, None, budget),
            services=self._services,
        )
        reached = budget.reached if budget else None
        return CellEnded(
            run=sent.run,
            result=result,
            reached=str(reached or ""),
            limit=reached.limit if reached else None,
        )

    async def _watch(self) -> None:
        """Ask for nothing while no process drives the suite: it was killed, or lost the journal."""
        while True:
            with suppress(JournalError):
                owner = await asyncio.to_thread(self.journal.lock_owner, self._opening.suite)
                self._leases.allow(owner is not None)
            await asyncio.sleep(_WATCH_SECONDS)


def _take_pipes() -> tuple[BinaryIO, int]:
    """The pipes from and to the scheduler; models and rules of the user's own read nothing and print as errors do."""
    pipes = os.fdopen(os.dup(0), "rb", buffering=0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return pipes


async def _work() -> None:
    commands, replies = _take_pipes()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), commands
    )
    worker = CellWorker(msgspec.json.decode(await reader.readline(), type=Opening))
    tasks: set[asyncio.Task[None]] = set()

    async def run(sent: StartCell) -> None:
        data = msgspec.json.encode(await worker.run(sent)) + b"\n"
        while data:
            data = data[os.write(replies, data) :]

    while data := await reader.readline():
        if data == STOP:
            worker.stop()
            continue
        task = asyncio.create_task(run(msgspec.json.decode(data, type=StartCell)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def main() -> None:
    """Work until the scheduler is gone; what is under way then is asked again, as after any kill."""
    # The scheduler, which the terminal interrupts too, says what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.new_event_loop().run_until_complete(_work())
    os._exit(0)


if __name__ == "__main__":
    main()
