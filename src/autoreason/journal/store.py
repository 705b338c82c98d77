"""What a journal needs of the database it is in: one small interface, for SQLite and for PostgreSQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol

from autoreason.errors import JournalError
from autoreason.journal.connections import Change, Connection, Row
from autoreason.journal.error_messages import driver_errors
from autoreason.journal.locks import LockOwner
from autoreason.paths import Place

Read = Callable[[str, tuple[Any, ...]], list[Row]]
"""Rows of a statement, through an open reader."""
Commit = Callable[[Change[Any]], Awaitable[Any]]
"""Writes a change, through an open writer, and waits until it is on the disk."""
Sleep = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""


class Source(Protocol):
    """Something to read a journal with, also where nothing can be written."""

    @property
    def connection(self) -> Connection: ...
    def check(self) -> None:
        """Refuse what was read if it may not have been whole."""

    def close(self) -> None: ...


class Store(Protocol):
    """A database in which a journal is, or will be."""

    @property
    def place(self) -> Place: ...
    @property
    def Error(self) -> type[Exception]:
        """What its driver raises."""

    def exists(self) -> bool: ...
    def create(self) -> None:
        """Create an empty journal where there is none; it appears complete or not at all."""

    def open_reader(self) -> Source:
        """Read it; a journal that is not there is empty."""

    def open_writer(self, *, alone: bool = False) -> Connection:
        """A connection whose commits reach the disk; alone, while no other process writes."""

    def size(self) -> int:
        """Bytes it takes."""

    def explain(self, error: Exception, run: str | None = None) -> JournalError:
        """An error of the driver as one sentence about this journal, with the remedy."""

    def lock_run(
        self, run: str, commit: Commit, sleep: Sleep, read: Read
    ) -> AbstractAsyncContextManager[None]:
        """Lock a run for writing."""

    def lock_owner(self, run: str, read: Read) -> LockOwner | None:
        """The process that has a run locked; None where there is none."""

    def locked_runs(self, read: Read) -> frozenset[str]:
        """Every run that is locked now."""


def journal_errors(store: Store, run: str | None = None) -> AbstractContextManager[None]:
    """Turn errors of the database and of decoders into one sentence about the journal, or one run in it."""
    return driver_errors(store.Error, store.explain, store.place, run)
