"""The journal's file: creating and opening it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from autoreason.errors import InvalidInput, JournalError
from autoreason.journal import sql
from autoreason.journal.error_messages import (
    NAME_ANOTHER,
    explain_disk_error,
    explain_sqlite_error,
    sqlite_errors,
    version_error,
)
from autoreason.journal.location import locks_folder
from autoreason.journal.locks import lock_file, make_folder
from autoreason.journal.shared_texts import JournalConnection

IN_MEMORY = ":memory:"
_WAIT_FOR_LOCK = 5.0
_WAIT_FOR_CREATION = 30.0


def exists(path: Path) -> bool:
    """Whether there is a journal; any other file in its place is refused and left untouched."""
    try:
        if not path.exists():
            return False
        if not path.is_file():
            what = "a folder" if path.is_dir() else "not a file"
            raise InvalidInput(f"{path} is {what}; name a file for the journal")
        size = path.stat().st_size
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}; {NAME_ANOTHER}") from None
    if size and _application(path) != sql.APPLICATION_ID:
        raise JournalError(f"{path} is not a journal but something else; {NAME_ANOTHER}")
    return size > 0


def _application(path: Path) -> int | None:
    """The application id on a file's first page; None where it is no database."""
    # Read by SQLite: closing a file handle of our own would release every lock SQLite has on the file.
    # And as immutable: otherwise it would complete a transaction that another program left unfinished.
    try:
        with closing(_connect(path, "mode=ro&immutable=1")) as connection:
            # A kill in the middle of a checkpoint leaves the file shorter than it says.
            connection.execute(sql.ALLOW_SHORTER)
            (application,) = connection.execute(sql.GET_APPLICATION).fetchone()
            return int(application)
    except sqlite3.Error as error:
        code = error.sqlite_errorcode & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return None
        if code == sqlite3.SQLITE_CANTOPEN:
            raise JournalError(f"cannot read {path}; allow it or {NAME_ANOTHER}") from None
        raise explain_sqlite_error(error, path) from None


def create(path: Path) -> None:
    """Create an empty journal where there is none; it appears complete or not at all."""
    try:
        make_folder(path.parent)
        if not path.parent.is_dir():
            raise InvalidInput(f"{path.parent} is not a folder; name another one")
        with lock_file(locks_folder(path) / "making", _WAIT_FOR_CREATION) as lock:
            if lock is None:
                raise JournalError(f"another process is still creating {path}; try again")
            if not exists(path):
                _build(path)
    except OSError as error:
        raise explain_disk_error(
            error, f"cannot create {path}", f"allow writing there or {NAME_ANOTHER}"
        ) from None


def _build(path: Path) -> None:
    left_over = log_of(path)
    if left_over.exists() and left_over.stat().st_size:
        raise JournalError(
            f"{path} is gone, but {left_over.name} next to it still contains a part of it;"
            " put the file back, or move that away too"
        )
    new = path.with_name(path.name + ".new")
    create_private(new)
    with sqlite_errors(path), closing(_connect(new)) as connection:
        for statement in sql.FOR_CREATION:
            connection.execute(statement)
        connection.execute(sql.SET_APPLICATION)
        _create_tables(connection)
        connection.execute(sql.USE_WAL)
    to_disk(new)
    new.replace(path)
    to_disk(path.parent)


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


def log_of(path: Path) -> Path:
    """SQLite's write-ahead log: what is committed and not yet in the file itself."""
    return path.with_name(path.name + "-wal")


def is_writable(path: Path) -> bool:
    """Whether the file and its folder can be written."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(each, os.W_OK, effective_ids=effective) for each in (path, path.parent))


def open_for_writing(path: Path) -> JournalConnection:
    """A connection whose commits reach the disk."""
    with sqlite_errors(path):
        connection = connect_checked(path)
        try:
            for statement in sql.FOR_WRITING:
                connection.execute(statement)
            # Fail now where nothing can be written, not with the first reply.
            connection.execute(sql.BEGIN)
            connection.execute(sql.ROLLBACK)
        except BaseException:
            connection.close()
            raise
        return connection


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in (*sql.SCHEMA, sql.SET_VERSION):
        connection.execute(statement)


def _connect(path: Path, how: str = "mode=rw") -> JournalConnection:
    # Neither mode creates a file.
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=_WAIT_FOR_LOCK,
        isolation_level=None,
        check_same_thread=False,
        factory=JournalConnection,
    )


def connect_empty() -> JournalConnection:
    """An empty journal in memory."""
    connection = sqlite3.connect(
        IN_MEMORY, isolation_level=None, check_same_thread=False, factory=JournalConnection
    )
    _create_tables(connection)
    return connection


def connect_checked(path: Path, how: str = "mode=rw") -> JournalConnection:
    """A connection to a file that is a journal of this version."""
    connection = _connect(path, how)
    try:
        (version,) = connection.execute(sql.GET_VERSION).fetchone()
        if version not in (0, sql.VERSION):
            raise version_error(path, version)
        # A journal appears complete, so a file without its tables was written by another program.
        tables = {name for (name,) in connection.execute(sql.TABLE_NAMES)}
        if not (version and tables >= set(sql.TABLES)):
            raise JournalError(f"{path} has no journal tables; {NAME_ANOTHER}")
    except BaseException:
        connection.close()
        raise
    return connection
