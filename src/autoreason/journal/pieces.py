"""Long texts are stored once: what is written down refers to the pieces it shares with the rest."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from autoreason.journal import sql

Row = tuple[Any, ...]
_MARK = "\x01"
"""Stands around the number of a piece; JSON writes control characters in another way."""
_LEAST = 100
"""Characters below which a reference would save nothing."""
_MOST_KNOWN = 8_000_000
"""Characters of pieces that a writer remembers."""
_AT_ONCE = 500
_SCHEMA = ',"schema":'
# In JSON, so a new line is a backslash and an n. To begin with a choice would take ten times as long.
_NEW_LINE = "\\n"
_BOUNDARY = re.compile(r"<<<[^\\<>]{1,100}>>>(?:\\n|\Z)(?:\\n<<<[^\\<>]{1,100}>>>\\n)?")
# All that differs between the schemas of two ballots.
_LABELS = re.compile(r'"enum":\[[^\]]*+\]')
_encode = msgspec.json.Encoder().encode


class Packed(NamedTuple):
    """JSON cut where its pieces begin and end: every second part is a piece."""

    parts: tuple[str, ...]


class Shelf(sqlite3.Connection):
    """A connection that writes pieces, and knows those it wrote while nobody else writes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._numbers: dict[str, int] = {}
        self._size = 0
        self._version: int | None = None

    def begin(self) -> None:
        """Begin to write; what another process wrote or took away meanwhile is not guessed."""
        self.execute(sql.BEGIN)
        (version,) = self.execute(sql.DATA_VERSION).fetchone()
        if version != self._version or self._size > _MOST_KNOWN:
            self._forget()
            self._version = version

    def give_up(self) -> None:
        """Take back what was not committed."""
        self._forget()
        if self.in_transaction:
            self.execute(sql.ROLLBACK)

    def put(self, value: str | Packed) -> str:
        """What to write in place of JSON, once its pieces are stored."""
        if isinstance(value, str):
            return value
        parts, known = list(value.parts), self._numbers
        for place in range(1, len(parts), 2):
            number = known.get(parts[place]) or self._store(parts[place])
            parts[place] = f"{_MARK}{number}{_MARK}"
        return "".join(parts)

    def _store(self, piece: str) -> int:
        digest = digest_of(piece)
        found = self.execute(sql.FIND_PIECE, (digest,)).fetchone()
        if found is None:
            self.execute(sql.INSERT_PIECE, (digest, piece))
            found = self.execute(sql.FIND_PIECE, (digest,)).fetchone()
        number = int(found[0])
        self._numbers[piece] = number
        self._size += len(piece)
        return number

    def _forget(self) -> None:
        self._numbers.clear()
        self._size = 0


def pack(json: str, texts: Iterable[str]) -> Packed:
    """Take out of what is to be written the texts it holds, in their order, and the schema it ends with."""
    parts: list[str] = []
    at = done = 0
    for text in texts:
        if len(text) >= _LEAST:
            written = _encode(text)[1:-1].decode()
            # By its first words: looking for all of a long text begins with work of its own.
            start = json.find(written[:_LEAST], at)
            if start >= 0 and json.startswith(written, start):
                at = start + len(written)
                done = _cut(parts, json, done, start, at, _BOUNDARY)
    schema = json.find(_SCHEMA, at)
    if schema >= 0:
        done = _cut(parts, json, done, schema, len(json), _LABELS)
    parts.append(json[done:])
    return Packed(tuple(parts))


def _cut(
    parts: list[str], json: str, done: int, start: int, end: int, separator: re.Pattern[str]
) -> int:
    """Cut a stretch of JSON into pieces between separators; returns how far the parts go."""
    for found in separator.finditer(json, start, end):
        # A boundary stands on a line of its own, and the line's end belongs to neither text.
        before = (
            found.start() - 2 if json.startswith(_NEW_LINE, found.start() - 2) else found.start()
        )
        if before - start >= _LEAST:
            parts += (json[done:start], json[start:before])
            done = before
        start = found.end()
    if end - start >= _LEAST:
        parts += (json[done:start], json[start:end])
        done = end
    return done


def pack_value(value: msgspec.Struct, json: str) -> Packed:
    """The same for any value."""
    return pack(json, long_texts(msgspec.to_builtins(value)))


def long_texts(value: Any) -> Iterator[str]:
    """Every long text in a value made of built-in types, in order."""
    match value:
        case str():
            if len(value) >= _LEAST:
                yield value
        case dict():
            for each in value.values():
                yield from long_texts(each)
        case list() | tuple():
            for each in value:
                yield from long_texts(each)


def digest_of(piece: str) -> bytes:
    """What a piece is found by."""
    return blake2b(piece.encode(), digest_size=20).digest()


def numbers_in(stored: str) -> list[int]:
    """The pieces that something stored refers to."""
    return [int(number) for number in stored.split(_MARK)[1::2]] if _MARK in stored else []


def fill_rows(connection: sqlite3.Connection, rows: list[Row]) -> list[Row]:
    """Rows as they were before their pieces were taken out."""
    # Most hold none, and to look for the mark is quicker than to take a row apart.
    holding = {
        place
        for place, row in enumerate(rows)
        if any(isinstance(value, str) and _MARK in value for value in row)
    }
    texts = [value for place in holding for value in rows[place] if isinstance(value, str)]
    found = _fetch(connection, {number for text in texts for number in numbers_in(text)})
    return [
        tuple(_fill(value, found) if isinstance(value, str) else value for value in row)
        if place in holding
        else row
        for place, row in enumerate(rows)
    ]


def _fetch(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, str]:
    wanted = list(numbers)
    found: dict[int, str] = {}
    for first in range(0, len(wanted), _AT_ONCE):
        some = wanted[first : first + _AT_ONCE]
        found.update(connection.execute(sql.PIECES.format(",".join("?" * len(some))), some))
    return found


def _fill(stored: str, pieces: Mapping[int, str]) -> str:
    if _MARK not in stored:
        return stored
    parts = stored.split(_MARK)
    try:
        parts[1::2] = [pieces[int(number)] for number in parts[1::2]]
    except KeyError as missing:
        raise ValueError(f"piece {missing} of a text is missing") from None
    return "".join(parts)
