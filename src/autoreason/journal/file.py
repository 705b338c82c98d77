"""The journal's file: how it is made, opened and brought up to date."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from autoreason.errors import InvalidInput, JournalError
from autoreason.journal import sql
from autoreason.journal.locks import exclusive, make_folder
from autoreason.journal.pieces import Shelf
from autoreason.journal.place import locks_folder
from autoreason.journal.trouble import NAME_ANOTHER, explain, plainly

_WAIT_FOR_LOCK = 5.0
_WAIT_FOR_MAKER = 30.0


def exists(path: Path) -> bool:
    """Whether there is a journal; anything else in its place is refused without being touched."""
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
    """Whose database a file is, read from its first page; None where it is no database."""
    # Read by SQLite: closing a handle of our own would let go of every lock SQLite has on the file.
    # And as immutable: otherwise it would finish what another program left half done.
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
        raise explain(error, path) from None


def make(path: Path) -> None:
    """Make an empty journal where there is none; it appears whole or not at all."""
    try:
        make_folder(path.parent)
        if not path.parent.is_dir():
            raise InvalidInput(f"{path.parent} is not a folder; name another place")
        with exclusive(locks_folder(path) / "making", _WAIT_FOR_MAKER) as lock:
            if lock is None:
                raise JournalError(f"another process is still making {path}; try again")
            if not exists(path):
                _build(path)
    except OSError as error:
        raise JournalError(
            f"cannot make {path}: {error.strerror}; allow writing there or {NAME_ANOTHER}"
        ) from None


def _build(path: Path) -> None:
    left_over = log_of(path)
    if left_over.exists() and left_over.stat().st_size:
        raise JournalError(
            f"{path} is gone, but {left_over.name} beside it still holds a part of it;"
            " put the file back, or move that away too"
        )
    new = path.with_name(path.name + ".new")
    for suffix in ("", "-wal", "-shm", "-journal"):
        new.with_name(new.name + suffix).unlink(missing_ok=True)
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with plainly(path), closing(_connect(new)) as connection:
        for statement in sql.FOR_MAKING:
            connection.execute(statement)
        connection.execute(sql.SET_APPLICATION)
        migrate(connection, path)
        connection.execute(sql.USE_WAL)
    to_disk(new)
    new.replace(path)
    to_disk(path.parent)


def to_disk(path: Path) -> None:
    """Wait until what a file or a folder holds would survive a crash."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def log_of(path: Path) -> Path:
    """Where SQLite keeps what is committed and not yet in the file itself."""
    return path.with_name(path.name + "-wal")


def is_writable(path: Path) -> bool:
    """Whether the file, and files beside it, can be written."""
    ours = os.access in os.supports_effective_ids
    return all(os.access(each, os.W_OK, effective_ids=ours) for each in (path, path.parent))


def open_for_writing(path: Path) -> Shelf:
    """A connection whose commits reach the disk."""
    with plainly(path):
        connection = connect_checked(path)
        try:
            migrate(connection, path)
            for statement in sql.FOR_WRITING:
                connection.execute(statement)
            # A place that cannot be written is found out now, not with the first reply.
            connection.execute(sql.BEGIN)
            connection.execute(sql.ROLLBACK)
        except BaseException:
            connection.close()
            raise
        return connection


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    migrations: tuple[tuple[str, ...], ...] = sql.MIGRATIONS,
) -> None:
    """Bring an older schema up to date, all in one transaction."""
    if _version(connection, path, len(migrations)) == len(migrations):
        return
    connection.execute(sql.BEGIN)
    try:
        # Somebody else may have done it while we waited for the lock.
        version = _version(connection, path, len(migrations))
        for migration in migrations[version:]:
            for statement in migration:
                connection.execute(statement)
        connection.execute(sql.SET_VERSION.format(len(migrations)))
        connection.execute(sql.COMMIT)
    except BaseException:
        if connection.in_transaction:
            connection.execute(sql.ROLLBACK)
        raise


def _connect(path: Path, how: str = "mode=rw") -> Shelf:
    # Neither mode makes a file.
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=_WAIT_FOR_LOCK,
        isolation_level=None,
        check_same_thread=False,
        factory=Shelf,
    )


def connect_checked(path: Path, how: str = "mode=rw") -> Shelf:
    """A connection to what is a journal, as it is."""
    connection = _connect(path, how)
    try:
        version = _version(connection, path, len(sql.MIGRATIONS))
        expected = {name for name in sql.TABLES if sql.SINCE.get(name, 1) <= max(version, 1)}
        # A journal appears whole, so one without its tables is somebody else's work.
        if not {name for (name,) in connection.execute(sql.TABLE_NAMES)} >= expected:
            raise JournalError(f"{path} does not hold a journal's tables; {NAME_ANOTHER}")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection, path: Path, known: int) -> int:
    (version,) = connection.execute(sql.GET_VERSION).fetchone()
    if version > known:
        raise JournalError(
            f"{path} was written by a newer autoreason (schema {version}, this one knows {known});"
            f" upgrade autoreason or {NAME_ANOTHER}"
        )
    return int(version)
