"""Reads a journal, also where nothing can be written: a read-only file, folder or disk."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from autoreason.errors import JournalError
from autoreason.journal import file, sql
from autoreason.journal.error_messages import NAME_ANOTHER, sqlite_errors
from autoreason.journal.shared_texts import JournalConnection

_BLOCKED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
_Stamp = tuple[tuple[int, int] | None, ...]


class Reader:
    """A connection that only reads; an empty journal in memory where there is no file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path or Path(file.IN_MEMORY)
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._unlocked: _Stamp | None = None
        """Size and time of the files, where SQLite cannot lock them to exclude writers."""
        with sqlite_errors(self._path):
            self.connection = self._open() if path and file.exists(path) else file.connect_empty()
            for statement in sql.FOR_READING:
                self.connection.execute(statement)
            self.connection.create_aggregate("exact_sum", 1, _ExactSum)

    def check(self) -> None:
        """Refuse what was read if another process wrote meanwhile and SQLite could not notice."""
        if self._unlocked is not None and _stamp(self._path) != self._unlocked:
            raise _written(self._path)

    def close(self) -> None:
        """Close the file, and remove a copy of it."""
        self.connection.close()
        if self._copy:
            self._copy.cleanup()

    def _open(self) -> JournalConnection:
        path = self._path
        if file.is_writable(path):
            return file.connect_checked(path)
        # They exist while another process writes, and SQLite needs them to read at the same time.
        log = file.log_of(path)
        if log.exists():
            try:
                return file.connect_checked(path, "mode=ro")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BLOCKED:
                    raise
        if log.exists() and log.stat().st_size:
            return file.connect_checked(self._copied(log))
        self._unlocked = _stamp(path)
        return file.connect_checked(path, "mode=ro&immutable=1")

    def _copied(self, log: Path) -> Path:
        """A copy that can be written: SQLite can read an unmerged log only there."""
        self._copy = tempfile.TemporaryDirectory(prefix="autoreason-")
        copy = Path(self._copy.name, self._path.name)
        before = _stamp(self._path)
        try:
            shutil.copyfile(self._path, copy)
            shutil.copyfile(log, file.log_of(copy))
        except OSError as error:
            self._copy.cleanup()
            raise JournalError(
                f"cannot copy {self._path} to read it: {error.strerror}; {NAME_ANOTHER}"
            ) from None
        if _stamp(self._path) != before:
            self._copy.cleanup()
            raise _written(self._path)
        return copy


def _stamp(path: Path) -> _Stamp:
    return tuple(_size_and_time(each) for each in (path, file.log_of(path)))


def _size_and_time(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns


def _written(path: Path) -> JournalError:
    return JournalError(f"{path} was written by another process while it was read; try again")


class _ExactSum:
    """Adds prices up as decimals; floating point would round them."""

    def __init__(self) -> None:
        self.total = Decimal(0)

    def step(self, price: str | int | None, /) -> None:
        if price is not None:
            self.total += Decimal(price)

    def finalize(self) -> Any:  # The type stubs foresee whole numbers only.
        return str(self.total)
