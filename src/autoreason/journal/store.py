"""What a journal needs of the database it is in: one small interface, for SQLite and for PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from autoreason.errors import JournalError
from autoreason.journal.error_messages import driver_errors
from autoreason.journal.location import Place
from autoreason.journal.shared_texts import PackedJson, Row
from autoreason.journal.sql import PackedTable

if TYPE_CHECKING:
    from autoreason.journal.locks import LockOwner
    from autoreason.journal.writer import Writer

T = TypeVar("T")
Violation = Literal["unknown run", "duplicate"]
Read = Callable[[str, tuple[Any, ...]], list[Row]]
"""Rows of a statement, through an open reader."""


class Repeat(Exception):
    """A batch was undone and must be applied again: what is wrong with it shows only one change at a time."""


class Rows(Protocol):
    """The rows that a statement gives."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection to a journal. Statements are those of `sql`, in the words of SQLite."""

    @property
    def IntegrityError(self) -> type[Exception]:
        """What `execute` raises where a row breaks a rule of its table."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Rows: ...
    def executemany(self, statement: str, rows: Iterable[Row], /) -> Any: ...
    def stream(self, statement: str) -> Iterable[Row]:
        """Rows of a whole table, a few at a time."""

    def begin(self) -> None: ...
    def commit(self) -> None: ...
    def roll_back(self) -> None: ...
    def transaction(self) -> AbstractContextManager[None]:
        """Everything within is committed together, or undone."""

    def apply(self, change: Callable[[Any], T]) -> T:
        """Apply one change of several in a transaction; one that raises leaves the others as they are."""

    def touch(self, at: str, runs: Collection[str]) -> None:
        """Note when these runs were last written to."""

    def violation(self, error: Exception) -> Violation | None:
        """Which rule of its table a row broke."""

    def put(self, value: str | PackedJson) -> str:
        """Store the pieces of packed JSON; returns what to write in its place."""

    def fetch_pieces(self, references: Collection[str]) -> dict[str, str]:
        """Texts by the references to them; those that are missing are left out."""

    def shrink(self) -> None:
        """Give back unused space."""

    def close(self) -> None: ...


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

    @property
    def readings(self) -> Path:
        """The file in which an audit caches what it has read of the runs."""

    @property
    def older(self) -> tuple[PackedTable, ...]:
        """Tables in which long texts may be stored whole."""

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

    def lock_run(self, run: str, writer: Writer, read: Read) -> AbstractContextManager[None]:
        """Lock a run for writing."""

    def lock_owner(self, run: str, read: Read) -> LockOwner | None:
        """The process that has a run locked; None where there is none."""

    def locked_runs(self, read: Read) -> frozenset[str]:
        """Every run that is locked now."""


def journal_errors(store: Store, run: str | None = None) -> AbstractContextManager[None]:
    """Turn errors of the database and of decoders into one sentence about the journal, or one run in it."""
    return driver_errors(store.Error, store.explain, store.place, run)


def open_store(place: Place) -> Store:
    """The database at a place; nothing is opened yet."""
    if isinstance(place, Path):
        from autoreason.journal.sqlite_store import SqliteStore

        return SqliteStore(place)
    from autoreason.journal.postgres import PostgresStore

    return PostgresStore(place)
