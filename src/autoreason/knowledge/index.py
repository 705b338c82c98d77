"""Records that can be searched: FTS5 with BM25, or vectors, next to the files, rebuilt when they change."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from heapq import merge
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from autoreason.errors import InvalidInput
from autoreason.knowledge.folder import (
    KnowledgeFolder,
    Retrieval,
    digest_folder,
    read_folder,
    spread_private,
)
from autoreason.knowledge.screening import lines_to_models
from autoreason.knowledge.standing import Standing, find_standings, one_line
from autoreason.knowledge.words import is_single_sign, split_words
from autoreason.knowledge_records import Record, RecordKind
from autoreason.paths import cache_folder

if TYPE_CHECKING:
    from autoreason.knowledge.embeddings import Directions

_FILE = ".index.sqlite"
_VERSION = "5"
MAX_POSTINGS = 3_000
"""Occurrences that a search looks at; the commonest words of a long text are left out before."""
_MAX_WORDS = 64
_LAST_DAY = "9999"
"""Where records without a date are, after all others."""
_SCHEMA = """
CREATE TABLE about (digest TEXT, path TEXT);
CREATE TABLE records (
    row INTEGER PRIMARY KEY, body BLOB, standing BLOB, day TEXT, kind TEXT, grp TEXT, private INTEGER,
    to_models INTEGER, half INTEGER, strength REAL
);
CREATE VIRTUAL TABLE texts USING fts5(words, content='', tokenize='ascii');
CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, texts, row);
CREATE TABLE metrics (metric TEXT, records INTEGER);
CREATE TABLE vectors (row INTEGER PRIMARY KEY, kind TEXT, vector BLOB);
CREATE TABLE vocabulary (term TEXT PRIMARY KEY, doc INTEGER) WITHOUT ROWID;
CREATE INDEX days ON records (day);
CREATE INDEX groups ON records (grp);
CREATE INDEX strengths ON records (kind, strength);
CREATE INDEX private ON records (row) WHERE private;
CREATE INDEX to_models ON records (row) WHERE to_models;
"""


Row = tuple[Record, Standing | None]
"""A record and how it did in its group, where that can be said."""


class IndexedRecord(NamedTuple):
    """A record as it is found."""

    record: Record
    standing: Standing | None
    to_models: bool
    """A line of it addresses a model."""
    half: int
    """0 for critics, 1 for judges; the same for the same text."""


class Index:
    """All records of a folder, in memory or in a file that is only read."""

    def __init__(self, connection: sqlite3.Connection, path: str, digest: str) -> None:
        self._sql = connection
        self.path, self.digest = path, digest
        """The folder, and the digest of its files."""
        (self._has_vectors,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
        self._directions: Directions | None = None

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """The index of a folder, built again where a file has changed."""
        digest = digest_folder(folder)
        root = Path(folder).expanduser().resolve()
        places = _places(root)
        for place in places:
            with suppress(sqlite3.Error, OSError):
                if connection := _open_current(place, digest):
                    return cls(connection, str(folder), digest)
        content = read_folder(folder)
        for place in places:
            with suppress(sqlite3.Error, OSError):
                _build_file(place, content)
                if connection := _open_current(place, content.digest):
                    return cls(connection, str(folder), content.digest)
        connection = _connect(":memory:")
        _fill_from(connection, content)
        return cls(connection, str(folder), content.digest)

    @classmethod
    def of(cls, records: Iterable[Record], retrieval: Retrieval = "words") -> Self:
        """An index of these records in memory."""
        return cls.of_rows(_with_standings(list(records)), retrieval)

    @classmethod
    def of_rows(cls, rows: Sequence[Row], retrieval: Retrieval = "words") -> Self:
        """An index in memory of records whose standings are known."""
        connection = _connect(":memory:")
        _fill(connection, rows, retrieval)
        return cls(connection, "", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._sql.close()

    def count(self, condition: str, *values: str | int) -> int:
        """How many records a condition in SQL is true of."""
        found = self._sql.execute(f"SELECT count(*) FROM records WHERE {condition}", values)
        return int(found.fetchone()[0])

    @cached_property
    def metrics(self) -> dict[str, int]:
        """How many results there are by each metric, that of most first."""
        counted = "SELECT metric, records FROM metrics ORDER BY records DESC, metric"
        return dict(self._sql.execute(counted).fetchall())

    def nearest(
        self,
        text: str,
        kinds: Sequence[RecordKind] = (),
        *,
        until: str = "",
        max_postings: int = MAX_POSTINGS,
    ) -> Iterator[IndexedRecord]:
        """Records that are near a text, the nearest first; those of one day at the latest, if given."""
        last = self._last_row(until)
        if self._has_vectors:
            rows: Iterable[int] = self._by_vectors(text, kinds, last)
        else:
            rows = self._by_words(text, kinds, last, max_postings)
        yield from map(self._fetch, rows)

    def _by_vectors(self, text: str, kinds: Sequence[RecordKind], last: int) -> Iterator[int]:
        from autoreason.knowledge.embeddings import Directions

        if self._directions is None:
            stored = self._sql.execute("SELECT kind, vector FROM vectors ORDER BY row")
            self._directions = Directions(stored.fetchall())
        return self._directions.near(text, kinds, last)

    def _by_words(
        self, text: str, kinds: Sequence[RecordKind], last: int, max_postings: int
    ) -> Iterator[int]:
        query, postings = self._query(text, max_postings)
        if not query:
            return
        # A word that is everywhere makes nothing near: the latest records will do.
        first = last - last * max_postings // postings if postings > max_postings else 0
        marks = ", ".join("?" * len(kinds))
        wanted = f"AND (SELECT kind FROM records WHERE row = texts.rowid) IN ({marks})"
        rows = self._sql.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid > ? AND rowid <= ? "
            f"{wanted if kinds else ''} ORDER BY rank, rowid",
            (query, first, last, *kinds),
        )
        yield from (row for (row,) in rows)

    def strongest(self, kinds: Sequence[RecordKind]) -> Iterator[IndexedRecord]:
        """Records by how far they stand from their group, the farthest first."""
        ranked = "SELECT strength, row FROM records WHERE kind = ? ORDER BY strength DESC, row DESC"
        by_kind = [self._sql.execute(ranked, (kind,)) for kind in kinds]
        yield from (self._fetch(row) for _, row in merge(*by_kind, reverse=True))

    def _last_row(self, day: str) -> int:
        """Rows are in the order of their days."""
        found = self._sql.execute(
            "SELECT row FROM records WHERE day <= ? ORDER BY day DESC, row DESC LIMIT 1",
            (f"{day[:10] or _LAST_DAY}~",),
        )
        return (found.fetchone() or (0,))[0]

    def _fetch(self, row: int) -> IndexedRecord:
        body, standing, to_models, half = self._sql.execute(
            "SELECT body, standing, to_models, half FROM records WHERE row = ?", (row,)
        ).fetchone()
        return IndexedRecord(
            _RECORD.decode(body),
            _STANDING.decode(standing) if standing else None,
            bool(to_models),
            half,
        )

    def _query(self, text: str, max_postings: int) -> tuple[str, int]:
        """Any of the text's rarer words, as many as can be looked at quickly, and how often they occur."""
        words = list(dict.fromkeys(split_words(text)))
        if all(map(is_single_sign, words)):
            return " OR ".join(f'"{word}"*' for word in words), 0
        frequencies = []
        for word in words:
            found = self._sql.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,))
            frequencies += [(known[0], f'"{word}"') for known in found]
        chosen: list[str] = []
        postings = 0
        for frequency, term in sorted(frequencies)[:_MAX_WORDS]:
            if chosen and postings + frequency > max_postings:
                break
            postings += frequency
            chosen.append(term)
        return " OR ".join(chosen), postings


_RECORD = msgspec.json.Decoder(Record)
_STANDING = msgspec.json.Decoder(Standing)


def _places(root: Path) -> list[Path]:
    """Where the index of a folder may be: in it, or, where nothing can be written there, in the user's cache."""
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:20]
    cached = cache_folder() / "knowledge" / f"{name}.sqlite"
    return [root / _FILE, cached] if root.is_dir() else [cached]


def _connect(name: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(name, uri=name.startswith("file:"), check_same_thread=False)
    except sqlite3.OperationalError as error:
        raise OSError(str(error)) from None


def _open_current(place: Path, digest: str) -> sqlite3.Connection | None:
    """The index in a file; None where there is none of these very files."""
    if not place.is_file() or place.is_symlink():
        return None
    connection = _connect(f"{place.as_uri()}?mode=ro&immutable=1")
    try:
        found = connection.execute("SELECT digest FROM about").fetchone()
        if found == (_VERSION + digest,):
            return connection
    except sqlite3.DatabaseError:
        pass
    connection.close()
    return None


def _build_file(place: Path, content: KnowledgeFolder) -> None:
    """Built next to its place and then moved there: no reader ever sees half of it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    # For the user alone: records may be private, and an index repeats them.
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=_FILE)
    os.close(handle)
    draft = Path(name)
    try:
        with closing(_connect(str(draft))) as connection:
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            _fill_from(connection, content)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def _with_standings(records: Sequence[Record]) -> list[Row]:
    """Every record with how it did, by the first metric in which there is another of its group."""
    standings: dict[tuple[str, str], Standing] = {}
    for record, standing in find_standings(records):
        key = (record.group, one_line(record.text))
        if key not in standings or standings[key].size < 2:
            standings[key] = standing
    return [
        (
            record,
            standings.get((record.group, one_line(record.text)))
            if record.kind in OUTCOMES
            else None,
        )
        for record in spread_private(records)
    ]


def _fill_from(connection: sqlite3.Connection, content: KnowledgeFolder) -> None:
    _fill(connection, _with_standings(content.records), content.retrieval)
    about = (_VERSION + content.digest, content.path)
    connection.execute("INSERT INTO about VALUES (?, ?)", about)
    connection.commit()


def _fill(connection: sqlite3.Connection, rows: Sequence[Row], retrieval: Retrieval) -> None:
    try:
        connection.executescript(_SCHEMA)
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise InvalidInput("this Python's SQLite has no FTS5; use one that has it") from None
        raise
    # In the order of their dates, so that all earlier records are a range of rows.
    ordered = sorted(rows, key=lambda each: (each[0].when or _LAST_DAY, each[0].id))
    for row, (record, own) in enumerate(ordered, 1):
        words = " ".join(split_words(record.text))
        connection.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row,
                msgspec.json.encode(record),
                msgspec.json.encode(own) if own else None,
                record.when or _LAST_DAY,
                record.kind,
                record.group,
                record.private,
                not record.allowed and bool(lines_to_models(record.text)),
                hashlib.sha256((words or record.text).encode("utf-8", "surrogatepass")).digest()[0]
                % 2,
                abs(own.score) if own else 0.0,
            ),
        )
        connection.execute("INSERT INTO texts (rowid, words) VALUES (?, ?)", (row, words))
        if retrieval == "embeddings":
            from autoreason.knowledge.embeddings import stored_direction

            vector = (row, record.kind, stored_direction(record.text))
            connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", vector)
    metrics = Counter(record.result.metric for record, _ in rows if record.result)
    connection.executemany("INSERT INTO metrics VALUES (?, ?)", metrics.items())
    # To count them for every search would mean to walk through all occurrences of a word.
    connection.execute("INSERT INTO vocabulary SELECT term, doc FROM terms")
    connection.commit()


OUTCOMES: tuple[RecordKind, ...] = ("outcome", "verdict")
"""Kinds of records that say how a text did."""
