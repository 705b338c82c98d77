"""`python -m autoreason.run.cell_worker`: runs the cells that a scheduler sends, over its own journal and models."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from msgspec.structs import replace

from autoreason.errors import AutoreasonError, BudgetReached
from autoreason.exchange import Reply
from autoreason.journal import Journal
from autoreason.models.budget import CostBound, Reservation
from autoreason.models.pool import ModelPool
from autoreason.run.cell_messages import (
    CellEnded,
    FromWorker,
    Granted,
    Opening,
    Release,
    Reserve,
    Settle,
    StartCell,
    StopCells,
    ToWorker,
    line,
    read_cell,
    read_to_worker,
)
from autoreason.run.cells import drive_cell
from autoreason.run.result import StopSwitch

_LONGEST_LINE = 2**30
_OUT = 1


def _send(message: FromWorker) -> None:
    """Send at once: what was paid must be known to the scheduler before it is in the journal."""
    data = line(message)
    while data:
        data = data[os.write(_OUT, data) :]


class _RemoteBudget:
    """The budget of all cells, which the scheduler keeps."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._waiting: dict[int, asyncio.Future[Reservation]] = {}
        self._numbers: dict[Reservation, int] = {}
        self._last = 0

    async def reserve(self, upper: CostBound) -> Reservation:
        """Ask for a reservation and wait for it."""
        self._last = number = self._last + 1
        granted: asyncio.Future[Reservation] = asyncio.get_running_loop().create_future()
        self._waiting[number] = granted
        _send(Reserve(run=self._run, number=number, tokens=upper.tokens, cost=upper.cost))
        try:
            reservation = await granted
        except asyncio.CancelledError:
            _send(Release(run=self._run, number=number))
            raise
        self._numbers[reservation] = number
        return reservation

    def answer(self, message: Granted) -> None:
        """What the scheduler says of a reservation."""
        waiting = self._waiting.pop(message.number)
        if waiting.done():
            return
        if message.refusal:
            waiting.set_exception(BudgetReached(message.refusal, message.limit))
        else:
            waiting.set_result(Reservation(CostBound(1, 0, None)))

    def settle(self, reservation: Reservation, reply: Reply) -> None:
        """Pay for a reply."""
        small = replace(reply, text="", reasoning="")
        _send(Settle(run=self._run, number=self._numbers.pop(reservation), reply=small))

    def release(self, reservation: Reservation) -> None:
        """Give back all of it."""
        _send(Release(run=self._run, number=self._numbers.pop(reservation)))


class _Worker:
    """Cells side by side, as the scheduler sends them."""

    def __init__(self, journal: Journal, pool: ModelPool) -> None:
        self._journal, self._pool = journal, pool
        self._switch = StopSwitch()
        self._budgets: dict[str, _RemoteBudget] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, message: ToWorker) -> None:
        """Act on a message."""
        match message:
            case StartCell():
                task = asyncio.create_task(self._run(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case Granted():
                self._budgets[message.run].answer(message)
            case StopCells():
                self._switch.stop()

    async def _run(self, message: StartCell) -> None:
        budget = self._budgets[message.run] = _RemoteBudget(message.run)
        shared = budget if message.limited else None
        try:
            result = await drive_cell(
                read_cell(message), self._journal, self._pool, self._switch, None, shared
            )
        except AutoreasonError as error:
            _send(CellEnded(run=message.run, refusal=str(error)))
        else:
            _send(CellEnded(run=message.run, result=result))


async def _work() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    opening = read_to_worker(await reader.readline())
    assert isinstance(opening, Opening)
    pool = ModelPool(opening.base_url, allow_http=opening.allow_http)
    worker = _Worker(Journal.open(opening.journal, create=False), pool)
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
