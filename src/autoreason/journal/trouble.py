"""What to say when SQLite or the disk gives trouble: one sentence, with the path and the mend."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from autoreason.errors import JournalUnusable

NAME_ANOTHER = "name another with AUTOREASON_JOURNAL"


@contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Turn whatever SQLite or a decoder says into one sentence about the journal."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path) from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise damaged(path, str(error)) from None


def explain(error: sqlite3.Error, path: Path) -> JournalUnusable:
    """What an error of SQLite means for this journal, and what to do."""
    if isinstance(error, sqlite3.ProgrammingError):
        return JournalUnusable(f"{path} was closed; open the journal again")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return JournalUnusable(f"no space is left for {path}; free some, then resume")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalUnusable(f"{path} is locked by another program; close that, then try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        # Even a reader of a live file needs to write beside it.
        return JournalUnusable(
            f"{path} or its folder cannot be written ({error}); allow it or {NAME_ANOTHER}"
        )
    if code == sqlite3.SQLITE_IOERR:
        return JournalUnusable(f"the disk under {path} failed ({error}); mend it, then resume")
    return damaged(path, str(error))


def damaged(path: Path, how: str) -> JournalUnusable:
    """What is told when the file no longer reads as it was written."""
    return JournalUnusable(
        f"{path} is damaged ({how}); restore it from a copy, or move it away to start a new one"
    )
