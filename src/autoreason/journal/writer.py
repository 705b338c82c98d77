"""What can be written to a journal, and the thread that writes: it commits everything queued at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from autoreason.errors import (
    AutoreasonError,
    InvalidInput,
    JournalError,
    ReplayMismatch,
    UnknownRun,
    WritingFailed,
)
from autoreason.exchange import GuidanceQuery, Request
from autoreason.journal import codec, sql
from autoreason.journal.codec import CommandKind, Question, RunCommand, answer_row, question_row
from autoreason.journal.store import Change, Connection, DbRow, Repeat, Store, closed_error

if TYPE_CHECKING:
    import asyncio


T = TypeVar("T")
GUIDE: tuple[CommandKind, ...] = ("guide",)
_LINGER = 0.02
"""Seconds to wait for more work before writing what no caller waits for."""
_IDLE_CHECK = 2.0
"""Seconds after which an idle connection is checked, whether it was lost, and with it the locks of runs."""
_LARGE, _MANY, _GATHER = 16, 4, 0.012
"""Changes in a batch, or runs in the second before, from which many are under way: seconds to wait for more then."""


@dataclass(slots=True, eq=False)
class _Work:
    run: str
    change: Change[Any]
    waiter: asyncio.Future[Any] | None = None
    ready: threading.Event | None = None
    result: Any = None
    error: AutoreasonError | None = None

    @property
    def awaited(self) -> bool:
        return self.waiter is not None or self.ready is not None


class Writer:
    def __init__(self, connection: Connection, store: Store) -> None:
        self._connection = connection
        self._store = store
        self._queue: list[_Work] = []
        self._hurry = False
        """A caller waits for work in the queue."""
        self._closed = False
        self._gathers = False
        """The last batch was large."""
        self._second, self._touched, self._many = 0, set[str](), False
        """Runs that are noted as written to in this second, which is enough; whether they were many in the last."""
        self._bell = threading.Condition(threading.Lock())
        self._failure: AutoreasonError | None = None
        # A daemon: a program that ends by an exception must not hang here.
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def send(self, run: str, change: Change[Any]) -> None:
        """Write it soon, and no later than anything sent after it."""
        self._put(_Work(run, change))

    async def commit(self, run: str, change: Change[T]) -> T:
        """Write it and wait, without blocking, until it is on the disk."""
        import asyncio

        waiter: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(_Work(run, change, waiter))
        return await waiter

    def commit_now(self, run: str, change: Change[T]) -> T:
        """Write it and block until it is on the disk."""
        work = _Work(run, change, ready=threading.Event())
        self._put(work)
        assert work.ready is not None
        work.ready.wait()
        if work.error:
            raise work.error
        result: T = work.result
        return result

    def close(self) -> None:
        """Write what is queued and end; raises if anything that no caller waited for was not written."""
        with self._bell:
            self._closed = self._hurry = True
            self._bell.notify()
        self._thread.join()
        if self._failure:
            raise _copy(self._failure)

    def _put(self, work: _Work) -> None:
        with self._bell:
            if self._closed:
                raise closed_error(self._store.place)
            first = not self._queue
            hastens = work.awaited and not self._hurry
            self._queue.append(work)
            self._hurry = self._hurry or hastens
            # Waking the thread for every item would cost more than the writing.
            if first or hastens:
                self._bell.notify()

    def _write(self) -> None:
        running = True
        while running:
            batch, running = self._next_batch()
            if batch or self._connection.lost:
                self._commit(batch)
                self._wake(batch)
        with suppress(self._store.Error):
            self._connection.close()

    def _next_batch(self) -> tuple[list[_Work], bool]:
        """Everything queued, and whether more may come."""
        with self._bell:
            if not self._bell.wait_for(lambda: self._queue or self._closed, timeout=_IDLE_CHECK):
                return [], True
            self._bell.wait_for(lambda: self._hurry, timeout=_LINGER)
            if self._gathers:
                self._bell.wait_for(lambda: self._closed, timeout=_GATHER)
            self._gathers = len(self._queue) >= _LARGE or self._many
            batch, self._queue = self._queue, []
            self._hurry = self._closed
            return batch, not self._closed

    def _commit(self, batch: list[_Work]) -> None:
        try:
            while not self._try(batch):
                pass
        except self._store.Error as error:
            self._fail(batch, WritingFailed(str(self._store.explain(error))))
        except AutoreasonError as error:
            self._fail(batch, WritingFailed(str(error)))
        except Exception as error:
            # A bug must reach the waiters, too: they would wait for ever.
            self._fail(batch, WritingFailed(f"cannot write to {self._store.place}: {error!r}"))

    def _try(self, batch: list[_Work]) -> bool:
        """Whether it is written; else it can be tried again."""
        try:
            self._apply(batch)
        except Repeat:
            return False
        except self._store.Error as error:
            return self._connection.recover(error)
        return True

    def _apply(self, batch: list[_Work]) -> None:
        connection = self._connection
        connection.begin()
        for work in batch:
            work.error = None
            try:
                work.result = connection.apply(work.change)
            except AutoreasonError as error:
                work.error = error
        runs = {work.run for work in batch if work.run and work.error is None}
        second = int(monotonic())
        if second != self._second:
            self._second, self._touched, self._many = second, set(), len(self._touched) >= _MANY
        if written := runs - self._touched if len(batch) >= _LARGE else runs:
            connection.touch(codec.now(), written)
        connection.commit()
        self._touched |= runs

    def _fail(self, batch: list[_Work], error: WritingFailed) -> None:
        with suppress(self._store.Error):
            self._connection.roll_back()
        for work in batch:
            work.error = _copy(error)

    def _wake(self, batch: list[_Work]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[_Work]] = {}
        for work in batch:
            if not work.awaited:
                self._failure = self._failure or work.error
            elif self._failure and not work.error:
                # It is written, but something before it was not, and a caller must learn of that.
                work.error = _copy(self._failure)
            if work.waiter is not None:
                loops.setdefault(work.waiter.get_loop(), []).append(work)
            elif work.ready is not None:
                work.ready.set()
        for loop, works in loops.items():
            # A closed loop has no waiters.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._settle, works)

    def _settle(self, works: list[_Work]) -> None:
        for work in works:
            assert work.waiter is not None
            if work.waiter.done():
                # Cancelled meanwhile: if it was not written, another caller must learn of it.
                self._failure = self._failure or work.error
            elif work.error is not None:
                work.waiter.set_exception(work.error)
            else:
                work.waiter.set_result(work.result)


def _copy(error: AutoreasonError) -> AutoreasonError:
    """The same error for another caller: one exception cannot be raised in two places."""
    return type(error)(*error.args)


# Changes, each a function that is run in the writer's transaction.


def begin_run(row: DbRow, first_event: DbRow) -> Change[None]:

    def change(connection: Connection) -> None:
        try:
            connection.execute(sql.INSERT_RUN, row)
        except connection.IntegrityError:
            raise InvalidInput(f"run {row[0]} exists already; choose another name") from None
        # There may have been another of this name.
        connection.forget(row[0])
        add_event(first_event)(connection)

    return change


def delete_run(run: str) -> Change[None]:

    def change(connection: Connection) -> None:
        for statement in sql.DELETE_RUN:
            connection.execute(statement, (run,))
        connection.forget(run)

    return change


def add_event(row: DbRow) -> Change[None]:
    taken = f"event {row[1]} of {row[0]} was written by another process; lock the run to write"
    return insert("events", row, JournalError(taken))


def add_reply(row: DbRow) -> Change[None]:
    """A reply; a second one under the same key is refused."""
    paid = f"{row[0]} has a reply to {row[1]} already; nothing is paid for twice"
    return insert("replies", row, ReplayMismatch(paid))


def answer_with_guidance(run: str, query: GuidanceQuery) -> Change[str]:
    """Answer a query with all pending guidance; marked as taken in the same transaction."""

    def change(connection: Connection) -> str:
        guides = pending(connection, run, GUIDE)
        text = "\n\n".join(guide.text for guide in guides)
        add_reply(answer_row(run, query, text))(connection)
        _mark_taken(connection, guides, query.key)
        return text

    return change


def post_question(token: str, run: str, request: Request, anew: bool) -> Change[Question]:
    """Store a question, unless it is there and not to be stored `anew`, and return it as it is."""

    def change(connection: Connection) -> Question:
        where = sql.QUESTION_OF, (run, request.key)
        if anew:
            connection.execute(sql.DROP_QUESTION, (run, request.key))
        if not (rows := connection.execute(*where).fetchall()):
            insert("questions", question_row(token, run, request))(connection)
            rows = connection.execute(*where).fetchall()
        return Question(*rows[0])

    return change


def change_question(
    token: str, check: Callable[[Question | None], object], statement: str, *values: Any
) -> Change[None]:
    """Change a question, unless `check` raises, which sees it as nobody else can change it."""

    def change(connection: Connection) -> None:
        rows = connection.execute(sql.LOCK_QUESTION, (token,)).fetchall()
        check(Question(*rows[0]) if rows else None)
        connection.execute(statement, (*values, token))

    return change


def take_commands(run: str, kinds: Collection[CommandKind], by: str) -> Change[RunCommand | None]:

    def change(connection: Connection) -> RunCommand | None:
        commands = pending(connection, run, kinds)
        _mark_taken(connection, commands, by)
        return commands[-1] if commands else None

    return change


def pending(connection: Connection, run: str, kinds: Collection[CommandKind]) -> list[RunCommand]:
    return [
        RunCommand(number, kind, text, datetime.fromisoformat(at))
        for number, kind, text, at in connection.execute(sql.PENDING, (run,))
        if kind in kinds
    ]


def _mark_taken(connection: Connection, commands: list[RunCommand], by: str) -> None:
    connection.executemany(sql.MARK_TAKEN, [(by, command.id) for command in commands])


def insert(table: str, row: DbRow, duplicate: AutoreasonError | None = None) -> Change[None]:
    def change(connection: Connection) -> None:
        try:
            values = [
                connection.share(row[0], value) if isinstance(value, tuple) else value
                for value in row
            ]
            connection.execute(sql.INSERT[table], values)
        except connection.IntegrityError as error:
            violation = connection.violation(error)
            if violation == "unknown run":
                raise UnknownRun(f"no run {row[0]!r}; see `autoreason runs`") from None
            if violation == "duplicate" and duplicate:
                raise duplicate from None
            raise

    return change


HeldRows = dict[str, dict[str, str]]
"""By account and holder, what is held."""
Decide = Callable[[HeldRows, float], T]
"""Reads rows, changes them in place and returns something, given the time on the clock that all workers share."""


class LeaseTable:
    """Rows that a worker may lose, and writes again: commits do not wait for the disk."""

    def __init__(self, store: Store) -> None:
        self._writer = Writer(store.open_leases(), store)

    async def update(self, accounts: Collection[str], decide: Decide[T]) -> T:
        """Change the rows of some accounts, while nobody else does; undone together with what is raised."""
        listed = sql.as_list(accounts)

        def change(connection: Connection) -> T:
            time = connection.execute(sql.LEASE_TIME)
            rows = connection.execute(sql.LEASES, (listed,))
            ((now,),) = time.fetchall()
            before: HeldRows = {account: {} for account in accounts}
            for account, holder, held in rows.fetchall():
                before[account][holder] = held
            after = deepcopy(before)
            result = decide(after, float(now))
            for account, held in after.items():
                old = before[account]
                new = [(account, each, held[each]) for each in held if held[each] != old.get(each)]
                connection.executemany(sql.SET_LEASE, new)
                gone = [(account, each) for each in old if each not in held]
                connection.executemany(sql.END_LEASE, gone)
            return result

        return await self._writer.commit("", change)

    async def holders(self) -> list[tuple[str, str]]:
        return await self._writer.commit("", lambda link: link.execute(sql.HOLDERS).fetchall())

    def close(self) -> None:
        self._writer.close()
