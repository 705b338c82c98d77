"""A connection to a journal, whatever database it is in, and what is written through it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
Row = tuple[Any, ...]
Violation = Literal["unknown run", "duplicate"]


class PackedJson(NamedTuple):
    """JSON split into parts; every second part is a piece."""

    parts: tuple[str, ...]


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

    @property
    def lost(self) -> bool:
        """Whether it was lost, as far as that shows without asking the server."""

    def recover(self, error: Exception) -> bool:
        """Connect again where it was lost; returns whether the last transaction was committed."""

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

    def drop_pieces(self, rows: Iterable[Row]) -> None:
        """Delete pieces by their references."""

    def shrink(self) -> None:
        """Give back unused space."""

    def close(self) -> None: ...


Change = Callable[[Connection], T]
"""Something to write, as a function run in the writer's transaction, twice if need be.

It may raise an AutoreasonError as long as it has written nothing but pieces; other changes are committed.
"""
