"""A journal in a database of PostgreSQL, which processes on many machines write to."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from hashlib import blake2b

import msgspec

from autoreason.errors import AutoreasonError, JournalError, RunLocked
from autoreason.journal import locks
from autoreason.journal import postgres_sql as sql
from autoreason.journal.connections import Change, Connection
from autoreason.journal.error_messages import NAME_ANOTHER, driver_errors, version_error
from autoreason.journal.postgres_connection import (
    DriverError,
    PostgresConnection,
    connect,
    explain_postgres_error,
)
from autoreason.journal.reader import Reader
from autoreason.journal.run_names import check_name
from autoreason.journal.sql import VERSION
from autoreason.journal.store import Commit, Read, Sleep, Source
from autoreason.paths import ServerUrl

_PATIENCE = 1.0
"""Seconds; the server notices a moment later that a process was killed."""
_PAUSE = 0.02


def _lock_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


# No run can have these names.
_CREATING = _lock_key("autoreason: creating")
_WRITING = _lock_key("autoreason: writing")


class PostgresStore:
    """A database of PostgreSQL."""

    Error = DriverError

    def __init__(self, place: ServerUrl) -> None:
        self.place = place
        self._locked: set[str] = set()
        self._exists = False
        self._empty = False
        """Whether an empty journal is read in place of one that is not there."""

    def exists(self) -> bool:
        """Whether there is a journal; tables of another program in its place are refused."""
        if not self._exists:
            with self._errors(), self._connected() as connection:
                self._find(connection)
        return self._exists

    def create(self) -> None:
        """Create an empty journal where there is none, in one transaction."""
        with self._errors(), self._connected() as connection:
            if self._find(connection):
                return
            with connection.transaction():
                connection.send(sql.CREATING, (_CREATING,))
                # Another process may have done it while we waited for the lock.
                ((exists, schema, _),) = connection.send(sql.FIND).fetchall()
                if not schema:
                    connection.send(sql.CREATE_SCHEMA)
                for statement in () if exists else sql.CREATE_TABLES:
                    connection.send(statement)

    def open_reader(self) -> Source:
        """Read it; one that is not there is empty."""
        self._empty = not self.exists()
        if self._empty:
            return Reader(None)
        with self._errors():
            return self._connect_checked()

    def open_writer(self, *, alone: bool = False) -> PostgresConnection:
        """A connection whose commits reach the disk; alone, while no other process writes."""
        with self._errors():
            connection = self._connect_checked()
            try:
                self._announce(connection, alone)
                # Fail now where nothing can be written, not with the first reply.
                with connection.transaction():
                    connection.send(sql.TRY_WRITING)
                connection.identify(self.open_writer)
            except BaseException:
                connection.close()
                raise
            return connection

    def _announce(self, connection: PostgresConnection, alone: bool) -> None:
        """Writers remember which pieces are there, so that none may be dropped meanwhile."""
        if not alone:
            connection.send(sql.WRITING, (_WRITING,))
        elif not connection.send(sql.ALONE, (_WRITING,)).fetchall()[0][0]:
            raise RunLocked(f"another process has {self.place} open for writing; end it first")

    def size(self) -> int:
        """Bytes of the tables with their indexes."""
        with self._errors(), self._connected() as connection:
            ((size,),) = connection.send(sql.SIZE, (list(sql.TABLES),)).fetchall()
            return int(size)

    # Locks of runs.

    @asynccontextmanager
    async def lock_run(
        self, run: str, commit: Commit, sleep: Sleep, read: Read
    ) -> AsyncIterator[None]:
        """Lock a run by the session that writes: where that is lost, so are the lock and the right to write."""
        check_name(run)
        if run in self._locked:
            raise locks.locked_error(run, self.lock_owner(run, read))
        # Noted before anything is awaited: the server grants a session again what it has locked.
        self._locked.add(run)
        try:
            if not await _take_lock(run, commit, sleep):
                raise locks.locked_error(run, self.lock_owner(run, read))
            try:
                yield
            finally:
                await _release_lock(run, commit)
        finally:
            self._locked.discard(run)

    def lock_owner(self, run: str, read: Read) -> locks.LockOwner | None:
        """The process that has a run locked; None where there is none."""
        rows = [] if self._empty else read(sql.OWNER, (run,))
        return next((_read_owner(owner) for (owner,) in rows), None)

    def locked_runs(self, read: Read) -> frozenset[str]:
        """Every run that is locked now."""
        return frozenset(run for (run,) in ([] if self._empty else read(sql.LOCKED, ())))

    # Opening.

    @contextmanager
    def _connected(self) -> Iterator[PostgresConnection]:
        connection = connect(self.place)
        try:
            yield connection
        finally:
            connection.close()

    def _connect_checked(self) -> PostgresConnection:
        """A connection to a database with a journal of this version."""
        connection = connect(self.place)
        connection.reopen = self._connect_checked
        try:
            if not self._find(connection):
                raise JournalError(f"{self.place} has no journal any more; {NAME_ANOTHER}")
            ((version,),) = connection.send(sql.GET_VERSION).fetchall()
            if version != VERSION:
                raise version_error(self.place, version)
        except BaseException:
            connection.close()
            raise
        return connection

    def _find(self, connection: PostgresConnection) -> bool:
        ((exists, _, tables),) = connection.send(sql.FIND).fetchall()
        if tables and not exists:
            raise JournalError(
                f"{self.place} has tables in the schema {sql.SCHEMA} that are no journal;"
                f" {NAME_ANOTHER}"
            )
        self._exists = bool(exists)
        return self._exists

    # Errors.

    def _errors(self) -> AbstractContextManager[None]:
        return driver_errors(DriverError, self.explain, self.place)

    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        """An error of the server as one sentence about this journal."""
        return explain_postgres_error(error, self.place, run)


async def _take_lock(run: str, commit: Commit, sleep: Sleep) -> bool:
    deadline = time.monotonic() + _PATIENCE
    try:
        while not (taken := bool(await commit(_lock(run)))) and time.monotonic() < deadline:
            await sleep(_PAUSE)
    except BaseException:
        # It may have been taken; the name of its owner may be that of another.
        await _unlock(run, commit)
        raise
    return taken


def _lock(run: str) -> Change[bool]:
    key, owner, repeated = _lock_key(run), locks.this_process(), False

    def change(connection: Connection) -> bool:
        nonlocal repeated
        if repeated:
            # In a batch that was undone: the owner's name was, but not the lock.
            connection.execute(sql.UNLOCK, (key,))
        repeated = True
        values = (run, key, msgspec.json.encode(owner).decode())
        return bool(connection.execute(sql.LOCK, values).fetchall())

    return change


async def _release_lock(run: str, commit: Commit) -> None:
    def change(connection: Connection) -> None:
        connection.execute(sql.FORGET_OWNER, (run,))
        connection.execute(sql.UNLOCK_AT_END, (_lock_key(run),))

    try:
        await commit(change)
    except AutoreasonError:
        await _unlock(run, commit)


async def _unlock(run: str, commit: Commit) -> None:
    # A lost connection has lost the lock, too; any other failure is that of an earlier change.
    with suppress(AutoreasonError):
        await commit(lambda connection: connection.execute(sql.UNLOCK_AT_END, (_lock_key(run),)))


def _read_owner(stored: str) -> locks.LockOwner:
    try:
        return msgspec.json.decode(stored, type=locks.LockOwner)
    except msgspec.MsgspecError:
        return locks.LockOwner()
