"""What a journal needs of the database it is in, for SQLite and for PostgreSQL, and its errors as sentences."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput, JournalError, RecordDamaged, RunLocked, WritingFailed
from autoreason.files import Place, hide_password
from autoreason.journal.run_names import owning_run

T = TypeVar("T")
DbRow = tuple[Any, ...]
KeyViolation = Literal["unknown run", "duplicate"]
NAME_ANOTHER = "name another as `journal` or in AUTOREASON_JOURNAL"
_MAX_DETAIL = 100
"""Characters of a decoder's message that are shown; it may quote the record."""
_MAX_COMMAND_LENGTH = 200


class Repeat(Exception):
    """A batch was undone and must be applied again: what is wrong with it shows only one change at a time."""


class Rows(Protocol):
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Closable(Protocol):
    def close(self) -> None: ...


class Connection(Closable, Protocol):
    """A connection to a journal. Statements are those of `sql`, in the words of SQLite."""

    @property
    def IntegrityError(self) -> type[Exception] | tuple[()]:
        """What `execute` raises where a row breaks a rule of its table."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Rows: ...
    def executemany(self, statement: str, rows: Iterable[DbRow], /) -> Any: ...

    @property
    def lost(self) -> bool:
        """Whether it was lost, as far as that shows without asking the server."""

    def recover(self, error: Exception) -> bool:
        """Connect again where it was lost; returns whether the last transaction was committed."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def roll_back(self) -> None: ...
    def apply(self, change: Callable[[Any], T]) -> T:
        """Apply one change of several in a transaction; one that raises leaves the others as they are."""

    def touch(self, at: str, runs: Collection[str]) -> None: ...
    def share(self, run: str, parts: tuple[str, ...]) -> str:
        """Store the long texts of JSON that was cut; returns what to write in its place."""

    def forget(self, run: str | None = None) -> None: ...
    def fill(self, run: str, rows: list[DbRow]) -> list[DbRow]: ...
    def violation(self, error: Exception) -> KeyViolation | None: ...
    def damages(self) -> list[str]: ...
    def shrink(self) -> None: ...


Change = Callable[[Connection], T]
"""Something to write, as a function run in the writer's transaction, twice if need be.

It may raise an AutoreasonError as long as it has written nothing; other changes are committed.
"""
Read = Callable[[str, tuple[Any, ...]], list[DbRow]]
"""Rows of a statement, through an open reader."""
Commit = Callable[[Change[Any]], Awaitable[Any]]
"""Writes a change, through an open writer, and waits until it is on the disk."""
Sleep = Callable[[float], Awaitable[None]]


class Source(Closable, Protocol):
    """Something to read a journal with, also where nothing can be written."""

    @property
    def connection(self) -> Connection: ...


class Store(Protocol):
    """A database in which a journal is, or will be."""

    @property
    def place(self) -> Place: ...
    @property
    def Error(self) -> type[Exception]: ...
    def exists(self) -> bool: ...
    def create(self) -> None:
        """Create an empty journal where there is none; it appears complete or not at all."""

    def open_reader(self) -> Source:
        """Read it; a journal that is not there is empty."""

    def open_writer(self) -> Connection:
        """A connection whose commits reach the disk."""

    def open_leases(self) -> Connection:
        """A connection to the table of leases, whose commits do not wait for the disk."""

    def size(self) -> int: ...
    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        """An error of the driver as one sentence about this journal, with the remedy."""

    def lock_run(
        self, run: str, commit: Commit, sleep: Sleep, read: Read
    ) -> AbstractAsyncContextManager[None]: ...
    def lock_owner(self, run: str, read: Read) -> LockOwner | None: ...
    def locked_runs(self, read: Read) -> frozenset[str]: ...


@contextmanager
def closed_on_error(opened: Closable) -> Iterator[None]:
    try:
        yield
    except BaseException:
        opened.close()
        raise


class LockOwner(Struct, frozen=True, kw_only=True):
    """The process that has a run locked; None where that could not be read."""

    pid: int | None = None
    host: str | None = None
    user: str | None = None
    since: datetime | None = None
    command: str | None = None

    def __str__(self) -> str:
        parts = [f"process {self.pid}" if self.pid else "another process"]
        parts += [f"of {self.user}"] if self.user else []
        parts += [f"on {self.host}"] if self.host else []
        parts += [f"since {self.since.astimezone():%Y-%m-%d %H:%M}"] if self.since else []
        parts += [f"(`{self.command}`)"] if self.command else []
        return " ".join(parts)


def this_process() -> LockOwner:
    text = " ".join([Path(sys.argv[0]).name, *map(hide_password, sys.argv[1:])]) if sys.argv else ""
    # The shell may have passed bytes that are not text.
    command = text.encode("utf-8", "replace").decode()
    if len(command) > _MAX_COMMAND_LENGTH:
        command = command[: _MAX_COMMAND_LENGTH - 1] + "…"
    return LockOwner(
        pid=os.getpid(),
        host=os.uname().nodename,
        user=os.environ.get("USER") or f"user {os.getuid()}",
        since=datetime.now(UTC),
        command=command,
    )


# Errors, each in one sentence with the place and the remedy.


@contextmanager
def journal_errors(store: Store, run: str | None = None) -> Iterator[None]:
    """Turn errors of the database and of decoders into one sentence about the journal, or one run in it."""
    try:
        yield
    except store.Error as error:
        raise store.explain(error, run) from None
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{error.object!r} is not UTF-8 text; type it again") from None
    # Values in a damaged file may be of any type.
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise damage_error(store.place, str(error), run) from None


def locked_error(run: str, owner: LockOwner | None) -> RunLocked:
    return RunLocked(
        f"{run} is locked by {owner or 'another process'};"
        f" wait for it, or end it with `autoreason tell {owning_run(run)} stop`"
    )


def disk_error(error: OSError, what: str, remedy: str) -> JournalError:
    """An error of the disk as one sentence; a full one needs space, whatever else would help."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WritingFailed(f"{what}: {error.strerror}; free some space, then try again")
    return JournalError(f"{what}: {error.strerror}; {remedy}")


def closed_error(place: Place) -> JournalError:
    return JournalError(f"{place} was closed; open the journal again")


def version_error(place: Place, version: int, known: int) -> JournalError:
    return JournalError(
        f"{place} was written by another version of autoreason (record {version}, this one reads"
        f" {known}); use that version or {NAME_ANOTHER}"
    )


def damage_error(place: Place, how: str, run: str | None = None) -> JournalError:
    """The error for a journal that no longer reads as it was written; never quotes what it contains."""
    if how.startswith(("Could not decode to UTF-8", "user-defined function")):
        how = "a text cannot be decoded"
    how = "".join(filter(str.isprintable, how.partition("\n")[0]))
    how = f"{how[:_MAX_DETAIL]}…" if len(how) > _MAX_DETAIL else how
    if run:
        return RecordDamaged(
            f"the record of {run} in {place} is damaged ({how}); restore the journal from a copy,"
            f" or give this run up with `autoreason runs delete {run}`"
        )
    return JournalError(f"{place} is damaged ({how}); restore a copy, or move it away")
