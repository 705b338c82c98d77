"""Long texts are stored once: records refer to the pieces they share with other records."""

from __future__ import annotations

import re
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec

from autoreason.journal import sql
from autoreason.journal.connections import Connection, PackedJson, Row, Violation

T = TypeVar("T")
_MARK = "\x01"
"""Encloses the reference to a piece; JSON escapes control characters, so it never contains one."""
_MIN_LENGTH = 100
"""Characters below which a reference would save nothing."""
_MAX_REMEMBERED = 8_000_000
"""Characters of pieces that a writer remembers."""
_PATIENCE = 60.0
"""Seconds to wait for another process that keeps the file locked."""
_BATCH = 500
_SCHEMA = ',"schema":'
# In JSON, so a new line is a backslash and an n. A pattern that begins with a choice is ten times slower.
_NEW_LINE = "\\n"
_BOUNDARY = re.compile(r"<<<[^\\<>]{1,100}>>>(?:\\n|\Z)(?:\\n<<<[^\\<>]{1,100}>>>\\n)?")
# All that differs between the schemas of two ballots.
_LABELS = re.compile(r'"enum":\[[^\]]*+\]')
_encode = msgspec.json.Encoder().encode


class PieceWriter:
    """The part of a connection that stores pieces, and remembers the references to them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._references: dict[str, int | str] = {}
        self._size = 0

    def put(self, value: str | PackedJson) -> str:
        """Store the pieces of packed JSON; returns what to write in its place."""
        if isinstance(value, str):
            return value
        parts, references = list(value.parts), self._references
        for place in range(1, len(parts), 2):
            reference = references.get(parts[place]) or self._remember(parts[place])
            parts[place] = f"{_MARK}{reference}{_MARK}"
        return "".join(parts)

    def _remember(self, piece: str) -> int | str:
        reference = self._references[piece] = self._store(piece)
        self._size += len(piece)
        return reference

    @abstractmethod
    def _store(self, piece: str) -> int | str:
        """Store a piece unless it is there; returns the reference to it."""

    def _forget(self) -> None:
        self._references.clear()
        self._size = 0

    @property
    def _remembers_too_much(self) -> bool:
        return self._size > _MAX_REMEMBERED


class JournalConnection(PieceWriter, sqlite3.Connection):
    """A connection to a file; it remembers the numbers of pieces until pieces are dropped."""

    lost = False
    _generation: int | None = None

    def recover(self, error: Exception) -> bool:
        """A file is never lost."""
        raise error

    def begin(self) -> None:
        """Begin a transaction; remembered numbers are forgotten if another process has dropped pieces."""
        self._wait_for_lock()
        generation = self._read_generation()
        if generation != self._generation or self._remembers_too_much:
            self._forget()
            self._generation = generation

    def _read_generation(self) -> int:
        (generation,) = self.execute(sql.GET_GENERATION).fetchone()
        return int(generation)

    def _wait_for_lock(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        # SQLite itself looks ever more rarely, until it comes too late every time that another process writes much.
        self.execute(sql.LOOK_OFTEN)
        try:
            while True:
                try:
                    self.execute(sql.BEGIN)
                    return
                except sqlite3.OperationalError as error:
                    busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                    if not busy or time.monotonic() > deadline:
                        raise
        finally:
            self.execute(sql.WAIT_LONG)

    def roll_back(self) -> None:
        """Undo what was not committed."""
        self._forget()
        if self.in_transaction:
            self.execute(sql.ROLLBACK)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything within is committed together, or undone."""
        self.begin()
        try:
            yield
            self.commit()
        except BaseException:
            self.roll_back()
            raise

    def apply(self, change: Callable[[JournalConnection], T]) -> T:
        """Apply one change of several: SQLite undoes only the statement that failed."""
        return change(self)

    def touch(self, at: str, runs: Collection[str]) -> None:
        """Note when these runs were last written to."""
        self.executemany(sql.TOUCH_RUN, [(at, run) for run in runs])

    def violation(self, error: Exception) -> Violation | None:
        """Which rule of its table a row broke."""
        match error:
            case sqlite3.IntegrityError(sqlite_errorcode=sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY):
                return "unknown run"
            case sqlite3.IntegrityError(sqlite_errorcode=sqlite3.SQLITE_CONSTRAINT_UNIQUE):
                return "duplicate"
        return None

    def stream(self, statement: str) -> Iterable[Row]:
        """Rows of a whole table, a few at a time."""
        return self.execute(statement)

    def fetch_pieces(self, references: Collection[str]) -> dict[str, str]:
        """Texts by their numbers."""
        wanted = [int(reference) for reference in references]
        found: dict[str, str] = {}
        for first in range(0, len(wanted), _BATCH):
            some = wanted[first : first + _BATCH]
            rows = self.execute(sql.PIECES.format(",".join("?" * len(some))), some)
            found.update((str(number), text) for number, text in rows)
        return found

    def drop_pieces(self, rows: Iterable[Row]) -> None:
        """Delete pieces by their numbers, which may be given to others then: every process forgets what it knows."""
        self.executemany(sql.DROP_PIECE, rows)
        self.execute(sql.SET_GENERATION.format(self._read_generation() + 1))

    def shrink(self) -> None:
        """Rewrite the file."""
        self.execute(sql.VACUUM)
        self.execute(sql.CHECKPOINT)

    def _store(self, piece: str) -> int:
        digest = digest_of(piece)
        found = self.execute(sql.FIND_PIECE, (digest,)).fetchone()
        if found is None:
            self.execute(sql.INSERT_PIECE, (digest, piece))
            found = self.execute(sql.FIND_PIECE, (digest,)).fetchone()
        return int(found[0])


def pack(json: str, texts: Iterable[str | list[str]]) -> PackedJson:
    """Split JSON at the texts it contains, and lists of them, in their order, and at the schema it ends with."""
    parts: list[str] = []
    at = done = 0
    for text in texts:
        if _length(text) >= _MIN_LENGTH:
            # Without its quotes or brackets.
            written = _encode(text)[1:-1].decode()
            # By its first characters: searching for all of a long text takes longer to prepare.
            start = json.find(written[:_MIN_LENGTH], at)
            if start >= 0 and json.startswith(written, start):
                at = start + len(written)
                done = _cut(parts, json, done, start, at, _BOUNDARY)
    schema = json.find(_SCHEMA, at)
    if schema >= 0:
        done = _cut(parts, json, done, schema, len(json), _LABELS)
    parts.append(json[done:])
    return PackedJson(tuple(parts))


def _cut(
    parts: list[str], json: str, done: int, start: int, end: int, separator: re.Pattern[str]
) -> int:
    """Split a range of JSON into pieces between separators; returns where the parts end."""
    for found in separator.finditer(json, start, end):
        # A boundary is a line of its own, and its line break belongs to neither text.
        before = (
            found.start() - 2 if json.startswith(_NEW_LINE, found.start() - 2) else found.start()
        )
        if before - start >= _MIN_LENGTH:
            parts += (json[done:start], json[start:before])
            done = before
        start = found.end()
    if end - start >= _MIN_LENGTH:
        parts += (json[done:start], json[start:end])
        done = end
    return done


def _length(text: str | list[str]) -> int:
    return len(text) if isinstance(text, str) else sum(map(len, text))


def pack_value(value: Any, json: str) -> PackedJson:
    """The same for any value."""
    return pack(json, long_texts(msgspec.to_builtins(value)))


def long_texts(value: Any) -> Iterator[str | list[str]]:
    """Every long text, and every long list of texts, in a value of built-in types, in order."""
    match value:
        case str():
            if len(value) >= _MIN_LENGTH:
                yield value
        case dict():
            for each in value.values():
                yield from long_texts(each)
        case list() | tuple() if value and all(isinstance(each, str) for each in value):
            if _length(texts := list(value)) >= _MIN_LENGTH:
                yield texts
        case list() | tuple():
            for each in value:
                yield from long_texts(each)


def digest_of(piece: str) -> bytes:
    """The key under which a piece is stored."""
    return blake2b(piece.encode(), digest_size=20).digest()


def references_in(stored: str) -> list[str]:
    """References to pieces in a stored text."""
    return stored.split(_MARK)[1::2] if _MARK in stored else []


def fill_rows(connection: Connection, rows: list[Row]) -> list[Row]:
    """Rows with their pieces filled in."""
    # Most refer to none, and looking for the mark is quicker than splitting a row.
    packed_rows = {
        place
        for place, row in enumerate(rows)
        if any(isinstance(value, str) and _MARK in value for value in row)
    }
    texts = [value for place in packed_rows for value in rows[place] if isinstance(value, str)]
    wanted = {reference for text in texts for reference in references_in(text)}
    found = connection.fetch_pieces(wanted) if wanted else {}
    return [
        tuple(_fill(value, found) if isinstance(value, str) else value for value in row)
        if place in packed_rows
        else row
        for place, row in enumerate(rows)
    ]


def _fill(stored: str, pieces: Mapping[str, str]) -> str:
    if _MARK not in stored:
        return stored
    parts = stored.split(_MARK)
    try:
        parts[1::2] = [pieces[reference] for reference in parts[1::2]]
    except KeyError as missing:
        raise ValueError(f"piece {missing.args[0]} of a text is missing") from None
    return "".join(parts)
