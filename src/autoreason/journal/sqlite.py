"""A journal in a file of SQLite; next to it locks of its runs, which the kernel releases when a process is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from autoreason.errors import InvalidInput, JournalError, WritingFailed
from autoreason.journal import sql, store
from autoreason.journal.codec import SharedTexts
from autoreason.journal.run_names import check_name

_LOCK_PATIENCE = 0.2
"""Seconds; a process that looks for the owner takes the lock for an instant."""
_LOCK_PAUSE = 0.01


@contextmanager
def lock_file(path: Path, patience: float) -> Iterator[int | None]:
    """Lock a file that exists only while it is locked; None while another process has it locked."""
    try:
        make_folder(path.parent)
        lock = _acquire(path, time.monotonic() + patience)
    except OSError as error:
        raise _cannot_lock(path, error) from None
    try:
        yield lock
    finally:
        if lock is not None:
            # Removed while still locked: a process that opened it meanwhile sees that it is gone.
            with suppress(OSError):
                path.unlink()
            os.close(lock)


def _cannot_lock(path: Path, error: OSError) -> JournalError:
    remedy = "allow writing there or name another journal with AUTOREASON_JOURNAL"
    return store.disk_error(error, f"cannot lock {path}", remedy)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, private to the user; what exists stays as it is."""
    missing = takewhile(lambda above: not above.exists(), (folder, *folder.parents))
    for above in reversed([*missing]):
        above.mkdir(mode=0o700, exist_ok=True)


def _acquire(path: Path, deadline: float) -> int | None:
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whether the path still names the file we locked, not a newer one.
            if os.path.samestat(os.fstat(lock), path.stat()):
                # A new file is not truncated: a truncated one may be flushed to the disk when it is closed.
                if os.fstat(lock).st_size:
                    os.ftruncate(lock, 0)
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(_LOCK_PAUSE)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


T = TypeVar("T")
_WAIT_FOR_LOCK = 5.0
_WAIT_FOR_CREATION = 30.0
_PATIENCE = 60.0
"""Seconds to wait for another process that keeps the file locked."""
_BLOCKED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_LONG = 400
"""Characters from which a value is compressed."""
_SHOWN = 5


# Connections.


class SqliteConnection(SharedTexts, sqlite3.Connection):
    lost = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.create_function("packed", 1, pack)
        self.create_function("plain", 1, unpack)
        self.create_aggregate("exact_sum", 1, _ExactSum)
        self.create_function("clock", 0, time.time)

    def recover(self, error: Exception) -> bool:
        """A file is never lost."""
        raise error

    def begin(self) -> None:
        """Begin a transaction, as soon as no other process writes."""
        self.forget_some()
        deadline = time.monotonic() + _PATIENCE
        # SQLite itself looks ever more rarely, until it comes too late every time that another process writes much.
        self.execute("PRAGMA busy_timeout = 2")
        try:
            while True:
                try:
                    self.execute("BEGIN IMMEDIATE")
                    return
                except sqlite3.OperationalError as error:
                    busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                    if not busy or time.monotonic() > deadline:
                        raise
        finally:
            self.execute("PRAGMA busy_timeout = 5000")

    def roll_back(self) -> None:
        self.forget()
        if self.in_transaction:
            self.execute("ROLLBACK")

    def apply(self, change: Callable[[SqliteConnection], T]) -> T:
        """Apply one change of several: SQLite undoes only the statement that failed."""
        return change(self)

    def touch(self, at: str, runs: Collection[str]) -> None:
        self.executemany(sql.TOUCH_RUN, [(at, run) for run in runs])

    def violation(self, error: Exception) -> store.KeyViolation | None:
        match error:
            case sqlite3.IntegrityError(sqlite_errorcode=sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY):
                return "unknown run"
            case sqlite3.IntegrityError(
                sqlite_errorcode=sqlite3.SQLITE_CONSTRAINT_UNIQUE
                | sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
            ):
                return "duplicate"
        return None

    def damages(self) -> list[str]:
        """What SQLite finds damaged, and records of no run."""
        lines = [line for (line,) in self.execute("PRAGMA integrity_check") if line != "ok"]
        orphans = len(self.execute("PRAGMA foreign_key_check").fetchall())
        found = [" ".join(str(line).split()) for line in lines[:_SHOWN]]
        return [*found, *([f"{orphans:,} records belong to no run"] if orphans else [])]

    def shrink(self) -> None:
        self.execute("VACUUM")
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def pack(value: str) -> str | bytes:
    """A value as a file has it: compressed, where it is long."""
    if len(value) < _LONG:
        return value
    # A small window and table: setting up the usual ones costs more than compressing a short value.
    compressor = zlib.compressobj(1, wbits=12, memLevel=5)
    return compressor.compress(value.encode()) + compressor.flush()


def unpack(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else zlib.decompress(stored).decode()


class _ExactSum:
    """Adds prices up as decimals; floating point would round them."""

    def __init__(self) -> None:
        self.total = Decimal(0)

    def step(self, price: str | int | None, /) -> None:
        if price is not None:
            self.total += Decimal(price)

    def finalize(self) -> Any:  # The type stubs foresee whole numbers only.
        return str(self.total)


# The file.


class SqliteStore:
    Error = sqlite3.Error

    def __init__(self, place: Path) -> None:
        self.place = place
        self._locks = place.with_name(place.name + ".locks")

    def exists(self) -> bool:
        """Whether there is a journal; any other file in its place is refused and left untouched."""
        path = self.place
        try:
            if not path.exists():
                return False
            if not path.is_file():
                what = "a folder" if path.is_dir() else "not a file"
                raise InvalidInput(f"{path} is {what}; name a file for the journal")
            size = path.stat().st_size
        except OSError as error:
            raise JournalError(
                f"cannot read {path}: {error.strerror}; {store.NAME_ANOTHER}"
            ) from None
        if size and self._application() != sql.APPLICATION_ID:
            raise JournalError(f"{path} is not a journal but something else; {store.NAME_ANOTHER}")
        return size > 0

    def _application(self) -> int | None:
        """The application id on a file's first page; None where it is not a database."""
        # Read by SQLite: closing a file handle of our own would release every lock SQLite has on the file.
        # And as immutable: otherwise it would complete a transaction that another program left unfinished.
        try:
            with closing(_connect(self.place, "mode=ro&immutable=1")) as connection:
                # A kill in the middle of a checkpoint leaves the file shorter than it says.
                connection.execute("PRAGMA writable_schema = ON")
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                return int(application)
        except sqlite3.Error as error:
            code = error.sqlite_errorcode & 0xFF
            if code == sqlite3.SQLITE_NOTADB:
                return None
            if code == sqlite3.SQLITE_CANTOPEN:
                raise JournalError(
                    f"cannot read {self.place}; allow it or {store.NAME_ANOTHER}"
                ) from None
            raise self.explain(error) from None

    def create(self) -> None:
        path = self.place
        try:
            make_folder(path.parent)
            if not path.parent.is_dir():
                raise InvalidInput(f"{path.parent} is not a folder; name another one")
            with lock_file(self._locks / "making", _WAIT_FOR_CREATION) as lock:
                if lock is None:
                    raise JournalError(f"another process is still creating {path}; try again")
                if not self.exists():
                    self._build()
        except OSError as error:
            raise store.disk_error(
                error, f"cannot create {path}", f"allow writing there or {store.NAME_ANOTHER}"
            ) from None

    def _build(self) -> None:
        path = self.place
        left_over = log_of(path)
        if left_over.exists() and left_over.stat().st_size:
            raise JournalError(
                f"{path} is gone, but {left_over.name} next to it still contains a part of it;"
                " put the file back, or move that away too"
            )
        new = path.with_name(path.name + ".new")
        create_private(new)
        with store.journal_errors(self), closing(_connect(new)) as connection:
            # The file is renamed into place when it is complete, so it need not survive a crash before.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = MEMORY")
            _create_tables(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        to_disk(new)
        new.replace(path)
        to_disk(path.parent)

    def open_reader(self) -> Reader:
        with store.journal_errors(self):
            return Reader(self.place if self.exists() else None)

    def open_writer(self) -> SqliteConnection:
        """A connection whose commits reach the disk; SQLite lets one process write at a time."""
        with store.journal_errors(self):
            connection = _connect_checked(self.place)
            with store.closed_on_error(connection):
                connection.execute("PRAGMA synchronous = FULL")
                # On macOS only this reaches the disk itself; on other systems it does nothing.
                connection.execute("PRAGMA fullfsync = ON")
                connection.execute("PRAGMA foreign_keys = ON")
                # Fail now where nothing can be written, not with the first reply.
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            return connection

    def open_leases(self) -> SqliteConnection:
        """A file of its own, so that leases wait for no reply that is being written."""
        path = self.place.with_name(self.place.name + ".leases")
        with store.journal_errors(self):
            if not path.exists():
                create_private(path)
            connection = _connect(path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(sql.CREATE_LEASES)
            return connection

    def size(self) -> int:
        """Bytes of the file and of what is not in it yet."""
        files = (self.place, log_of(self.place))
        return sum(each.stat().st_size for each in files if each.exists())

    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        path = self.place
        if isinstance(error, sqlite3.ProgrammingError):
            return store.closed_error(path)
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return WritingFailed(f"no space is left for {path}; free some, then resume")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return JournalError(f"{path} is locked by another program; close that, then try again")
        if code in _BLOCKED:
            return JournalError(
                f"{path} is read-only ({error}); allow writing to it and its folder, or {store.NAME_ANOTHER}"
            )
        if code == sqlite3.SQLITE_IOERR:
            if not shutil.disk_usage(path.parent).free:
                why = f"no space is left beside {path}, which reading takes a little of, too"
                return JournalError(f"{why}; free some, then try again: the record is safe")
            return JournalError(f"the disk under {path} failed ({error}); repair it, then resume")
        return store.damage_error(path, str(error), run)

    # Locks of runs. What only a server needs is not used here.

    @asynccontextmanager
    async def lock_run(
        self,
        run: str,
        commit: store.Commit,  # noqa: ARG002
        sleep: store.Sleep,  # noqa: ARG002
        read: store.Read,
    ) -> AsyncIterator[None]:
        check_name(run)
        path = self._locks / f"{run}.lock"
        with lock_file(path, _LOCK_PATIENCE) as lock:
            if lock is None:
                raise store.locked_error(run, self.lock_owner(run, read))
            try:
                os.pwrite(lock, msgspec.json.encode(store.this_process()), 0)
            except OSError as error:
                raise _cannot_lock(path, error) from None
            yield

    def lock_owner(self, run: str, read: store.Read) -> store.LockOwner | None:  # noqa: ARG002
        try:
            lock = os.open(self._locks / f"{run}.lock", os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except BlockingIOError:
            # A process that has just locked the file may not have written its name yet.
            for _ in range(5):
                with suppress(msgspec.MsgspecError):
                    return msgspec.json.decode(os.pread(lock, 65536, 0), type=store.LockOwner)
                time.sleep(_LOCK_PAUSE)
            return store.LockOwner()
        finally:
            os.close(lock)

    def locked_runs(self, read: store.Read) -> frozenset[str]:
        try:
            names = [name.removesuffix(".lock") for name in os.listdir(self._locks)]  # noqa: PTH208
        except OSError:
            return frozenset()
        return frozenset(name for name in names if self.lock_owner(name, read))


class Reader:
    """A connection that only reads, also a read-only file, folder or disk; an empty journal without a path."""

    def __init__(self, path: Path | None) -> None:
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self.connection = self._open(path) if path else _empty()
        self.connection.execute("PRAGMA query_only = ON")

    def close(self) -> None:
        self.connection.close()
        if self._copy:
            self._copy.cleanup()

    def _open(self, path: Path) -> SqliteConnection:
        if is_writable(path):
            return _connect_checked(path)
        log = log_of(path)
        if log.exists():
            # While another process writes, SQLite can read at the same time.
            try:
                return _connect_checked(path, "mode=ro")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BLOCKED:
                    raise
        # Else it reads only what it may write to: as it is now, in a copy.
        self._copy = tempfile.TemporaryDirectory(prefix="autoreason-")
        copy = Path(self._copy.name, path.name)
        before = path.stat().st_mtime_ns
        try:
            shutil.copyfile(path, copy)
            if log.exists():
                shutil.copyfile(log, log_of(copy))
        except OSError as error:
            self._copy.cleanup()
            raise JournalError(
                f"cannot copy {path} to read it: {error.strerror}; {store.NAME_ANOTHER}"
            ) from None
        if path.stat().st_mtime_ns != before:
            self._copy.cleanup()
            raise JournalError(f"{path} was written while it was copied to be read; try again")
        return _connect_checked(copy)


def _connect(path: Path | None, how: str = "mode=rw") -> SqliteConnection:
    # Neither mode creates a file.
    return sqlite3.connect(
        f"{path.as_uri()}?{how}" if path else ":memory:",
        uri=True,
        timeout=_WAIT_FOR_LOCK,
        isolation_level=None,
        check_same_thread=False,
        factory=SqliteConnection,
    )


def _connect_checked(path: Path, how: str = "mode=rw") -> SqliteConnection:
    connection = _connect(path, how)
    with store.closed_on_error(connection):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, sql.VERSION):
            raise store.version_error(path, version, sql.VERSION)
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        # A journal appears complete, so a file without its tables was written by another program.
        if not (version and {name for (name,) in tables} >= set(sql.TABLES)):
            raise JournalError(f"{path} has no journal tables; {store.NAME_ANOTHER}")
    return connection


def _empty() -> SqliteConnection:
    connection = _connect(None)
    _create_tables(connection)
    return connection


def _create_tables(connection: SqliteConnection) -> None:
    connection.begin()
    for statement in sql.schema():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {sql.VERSION}")
    connection.execute(f"PRAGMA application_id = {sql.APPLICATION_ID}")
    connection.commit()


def create_private(path: Path) -> None:
    """An empty file that the user alone may read, in place of what a killed process left there."""
    remove(path)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def remove(path: Path) -> None:
    """Remove a database with SQLite's own files next to it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def to_disk(path: Path) -> None:
    """Flush a file or a folder to the disk, so that it survives a crash."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_writable(path: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return all(os.access(each, os.W_OK, effective_ids=effective) for each in (path, path.parent))


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log: what is committed and not yet in the file itself."""
    return path.with_name(path.name + "-wal")
