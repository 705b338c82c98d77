"""Error messages for SQLite and the disk: one sentence, with the path and the remedy."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from autoreason.errors import JournalError, WritingFailed

NAME_ANOTHER = "name another as `journal` or in AUTOREASON_JOURNAL"
_MAX_DETAIL = 100
"""Characters of a decoder's message that are shown; it may quote the record."""


@contextmanager
def journal_errors(path: Path, run: str | None = None) -> Iterator[None]:
    """Turn errors of SQLite and of decoders into one sentence about the journal, or one run in it."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain_sqlite_error(error, path, run) from None
    # Values in a damaged file may be of any type.
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise damage_error(path, str(error), run) from None


def explain_sqlite_error(error: sqlite3.Error, path: Path, run: str | None = None) -> JournalError:
    """An error of SQLite as one sentence about this journal, with the remedy."""
    if isinstance(error, sqlite3.ProgrammingError):
        return JournalError(f"{path} was closed; open the journal again")
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return WritingFailed(f"no space is left for {path}; free some, then resume")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return JournalError(f"{path} is locked by another program; close that, then try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return JournalError(
            f"{path} is read-only ({error}); allow writing to it and its folder, or {NAME_ANOTHER}"
        )
    if code == sqlite3.SQLITE_IOERR:
        return JournalError(f"the disk under {path} failed ({error}); repair it, then resume")
    return damage_error(path, str(error), run)


def explain_disk_error(error: OSError, what: str, remedy: str) -> JournalError:
    """An error of the disk as one sentence; a full one needs space, whatever else would help."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WritingFailed(f"{what}: {error.strerror}; free some space, then try again")
    return JournalError(f"{what}: {error.strerror}; {remedy}")


def damage_error(path: Path, how: str, run: str | None = None) -> JournalError:
    """The error for a file that no longer reads as it was written; never quotes what it contains."""
    if how.startswith("Could not decode to UTF-8"):
        how = "some bytes are not UTF-8"
    how = "".join(filter(str.isprintable, how.partition("\n")[0]))
    how = f"{how[:_MAX_DETAIL]}…" if len(how) > _MAX_DETAIL else how
    if run:
        return JournalError(
            f"the record of {run} in {path} is damaged ({how}); restore the journal from a copy,"
            f" or give this run up with `autoreason runs delete {run}`"
        )
    return JournalError(
        f"{path} is damaged ({how}); restore it from a copy, or move it away to start a new one"
    )
