"""Error messages for databases and the disk: one sentence, with the place and the remedy."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from autoreason.errors import InvalidInput, JournalError, RecordDamaged, WritingFailed
from autoreason.journal.sql import VERSION
from autoreason.paths import Place

NAME_ANOTHER = "name another as `journal` or in AUTOREASON_JOURNAL"
_MAX_DETAIL = 100
"""Characters of a decoder's message that are shown; it may quote the record."""


@contextmanager
def driver_errors(
    driver: type[Exception],
    explain: Callable[[Exception, str | None], JournalError],
    place: Place,
    run: str | None = None,
) -> Iterator[None]:
    """Turn errors of a database and of decoders into one sentence about the journal, or one run in it."""
    try:
        yield
    except driver as error:
        raise explain(error, run) from None
    # Values in a damaged file may be of any type.
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise damage_error(place, str(error), run) from None


def sqlite_errors(path: Path) -> AbstractContextManager[None]:
    """The same for a file that is no journal yet, or whose journal is being opened."""
    return driver_errors(
        sqlite3.Error, lambda error, run: explain_sqlite_error(error, path, run), path
    )


def explain_sqlite_error(error: Exception, path: Path, run: str | None = None) -> JournalError:
    """An error of SQLite as one sentence about this journal, with the remedy."""
    if isinstance(error, sqlite3.ProgrammingError):
        return closed_error(path)
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


def closed_error(place: Place) -> JournalError:
    """The error for a journal that is used after it was closed."""
    return JournalError(f"{place} was closed; open the journal again")


def version_error(place: Place, version: int) -> JournalError:
    """The error for a journal of another version."""
    return JournalError(
        f"{place} was written by another version of autoreason (record {version}, this one reads"
        f" {VERSION}); use that version or {NAME_ANOTHER}"
    )


def damage_error(path: Place, how: str, run: str | None = None) -> JournalError:
    """The error for a journal that no longer reads as it was written; never quotes what it contains."""
    if how.startswith("Could not decode to UTF-8"):
        how = "some bytes are not UTF-8"
    how = "".join(filter(str.isprintable, how.partition("\n")[0]))
    how = f"{how[:_MAX_DETAIL]}…" if len(how) > _MAX_DETAIL else how
    if run:
        return RecordDamaged(
            f"the record of {run} in {path} is damaged ({how}); restore the journal from a copy,"
            f" or give this run up with `autoreason runs delete {run}`"
        )
    return JournalError(
        f"{path} is damaged ({how}); restore it from a copy, or move it away to start a new one"
    )


def continued_error(suite: str, later: str) -> InvalidInput:
    """A suite cannot be deleted, for another goes on from it."""
    return InvalidInput(
        f"{later} adds to {suite} and counts its cells; delete both with "
        f"`autoreason runs delete {later} {suite}`"
    )
