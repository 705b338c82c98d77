"""What to say when SQLite or the disk gives trouble: one sentence, with the path and the remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from autoreason.errors import JournalError

NAME_ANOTHER = "name another with --journal or AUTOREASON_JOURNAL"
_LONGEST = 100
"""Characters of a decoder's complaint that are shown; it may quote the record."""


@contextmanager
def plainly(path: Path, run: str | None = None) -> Iterator[None]:
    """Turn whatever SQLite or a decoder says into one sentence about the journal, or one run in it."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path, run) from None
    # What stands in a damaged file may be of any type and any value.
    except (msgspec.MsgspecError, ValueError, TypeError, ArithmeticError) as error:
        raise damaged(path, str(error), run) from None


def explain(error: sqlite3.Error, path: Path, run: str | None = None) -> JournalError:
    """What an error of SQLite means for this journal, and what to do."""
    if isinstance(error, sqlite3.ProgrammingError):
        return JournalError(f"{path} was closed; open the journal again")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return JournalError(f"no space is left for {path}; free some, then resume")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalError(f"{path} is locked by another program; close that, then try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return JournalError(
            f"{path} is read-only ({error}); allow writing to it and its folder, or {NAME_ANOTHER}"
        )
    if code == sqlite3.SQLITE_IOERR:
        return JournalError(f"the disk under {path} failed ({error}); repair it, then resume")
    return damaged(path, str(error), run)


def damaged(path: Path, how: str, run: str | None = None) -> JournalError:
    """What is said when the file no longer reads as it was written; never what it holds."""
    if how.startswith("Could not decode to UTF-8"):
        how = "some bytes are not UTF-8"
    how = "".join(filter(str.isprintable, how.partition("\n")[0]))
    how = f"{how[:_LONGEST]}…" if len(how) > _LONGEST else how
    if run:
        return JournalError(
            f"the record of {run} in {path} is damaged ({how}); restore the journal from a copy,"
            f" or give this run up with `autoreason runs delete {run}`"
        )
    return JournalError(
        f"{path} is damaged ({how}); restore it from a copy, or move it away to start a new one"
    )
