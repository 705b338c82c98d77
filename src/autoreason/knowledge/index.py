"""Records that can be searched; what did well and badly among similar texts."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from heapq import merge
from itertools import chain, islice, repeat
from math import inf
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from autoreason.files import cache_folder
from autoreason.knowledge.columns import is_earlier, is_rate
from autoreason.knowledge.folder import KnowledgeFolder, digest_folder, read_folder, spread_private
from autoreason.knowledge.standing import Standing, find_standings, one_line
from autoreason.knowledge.words import (
    FILLERS,
    is_single_sign,
    is_too_similar,
    lines_to_models,
    mask,
    plain_text,
    split_words,
)
from autoreason.knowledge_records import (
    Knowledge,
    Record,
    RecordedOutcome,
    RecordKind,
    ShownOutcomes,
    ShownRecord,
)

_VERSION = "3"
MAX_POSTINGS = 3_000
"""Occurrences that a search looks at; the commonest words of a long text are left out before."""
_MAX_WORDS = 64
_COMMON, _MIN_COMMON = 0.25, 10
"""A word in more than this share of records, and in more than so many, makes no two of them similar."""
_LAST_DAY = "9999"
"""Where records without a date are, after all others."""
_SCHEMA = """
CREATE TABLE about (digest TEXT);
CREATE TABLE records (
    row INTEGER PRIMARY KEY, body BLOB, standing BLOB, day TEXT, kind TEXT, grp TEXT, private INTEGER,
    to_models INTEGER, half INTEGER, strength REAL
);
CREATE VIRTUAL TABLE texts USING fts5(words, content='', tokenize='ascii');
CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, texts, row);
CREATE TABLE metrics (metric TEXT, records INTEGER);
CREATE TABLE vocabulary (term TEXT PRIMARY KEY, doc INTEGER) WITHOUT ROWID;
CREATE INDEX days ON records (day);
CREATE INDEX groups ON records (grp);
CREATE INDEX strengths ON records (kind, strength);
CREATE INDEX private ON records (row) WHERE private;
CREATE INDEX to_models ON records (row) WHERE to_models;
"""


IndexRow = tuple[Record, Standing | None]


class IndexedRecord(NamedTuple):
    record: Record
    standing: Standing | None
    to_models: bool
    half: int
    """0 for critics, 1 for judges; the same for the same text."""


class Index:
    """All records of a folder, in memory or in a file that is only read."""

    def __init__(self, connection: sqlite3.Connection, path: str, digest: str) -> None:
        self._sql = connection
        self.path, self.digest = path, digest
        """The folder, and the digest of its files."""

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """The index of a folder, built again where a file has changed."""
        digest = digest_folder(folder)
        root = os.fsencode(Path(folder).expanduser().resolve())
        # Not in the folder: it repeats records, which may be shared without their private ones.
        name = f"{hashlib.sha256(root).hexdigest()[:20]}.sqlite"
        place = cache_folder() / "knowledge" / name
        with suppress(sqlite3.Error, OSError):
            if connection := _open_current(place, digest):
                return cls(connection, str(folder), digest)
        content = read_folder(folder)
        with suppress(sqlite3.Error, OSError):
            _build_file(place, content)
            if connection := _open_current(place, content.digest):
                return cls(connection, str(folder), content.digest)
        connection = _connect(":memory:")
        _fill_from(connection, content)
        return cls(connection, str(folder), content.digest)

    @classmethod
    def of_rows(cls, rows: Sequence[IndexRow]) -> Self:
        connection = _connect(":memory:")
        _fill(connection, rows)
        return cls(connection, "", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sql.close()

    def count(self, condition: str, *values: str | int) -> int:
        """How many records a condition in SQL is true of."""
        found = self._sql.execute(f"SELECT count(*) FROM records WHERE {condition}", values)
        return int(found.fetchone()[0])

    @cached_property
    def size(self) -> int:
        return self.count("TRUE")

    @cached_property
    def metrics(self) -> dict[str, int]:
        """How many results there are by each metric, that of most first."""
        counted = "SELECT metric, records FROM metrics ORDER BY records DESC, metric"
        return dict(self._sql.execute(counted).fetchall())

    def nearest(
        self,
        text: str,
        kinds: Sequence[RecordKind] = (),
        until: str = "",
        max_postings: int = MAX_POSTINGS,
        *,
        telling: bool = False,
    ) -> Iterator[IndexedRecord]:
        """Records that are near a text, the nearest first; those of one day at the latest, if given.

        With `telling`, only by words that say what a text is about.
        """
        # Rows are in the order of their days.
        latest = "SELECT row FROM records WHERE day <= ? ORDER BY day DESC, row DESC LIMIT 1"
        found = self._sql.execute(latest, (f"{until[:10] or _LAST_DAY}~",))
        last = (found.fetchone() or (0,))[0]
        query, postings = self._query(text, max_postings, telling=telling)
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
        yield from (self._fetch(row) for (row,) in rows)

    def known_words(self, text: str) -> str:
        """The words of a text; in place of one that no record has, those that contain it."""
        found: list[str] = []
        for word in split_words(text):
            terms = "SELECT term FROM vocabulary WHERE "
            rows = self._sql.execute(f"{terms} term = ?", (word,)).fetchall()
            # Two letters are a part of too many words.
            if not rows and word[2:]:
                rows = self._sql.execute(f"{terms} instr(term, ?)", (word,)).fetchall()
            found += [term for (term,) in rows] or [word]
        return " ".join(found)

    def strongest(self, kinds: Sequence[RecordKind]) -> Iterator[IndexedRecord]:
        """Records by how far they stand from their group, the farthest first."""
        ranked = "SELECT strength, row FROM records WHERE kind = ? ORDER BY strength DESC, row DESC"
        by_kind = [self._sql.execute(ranked, (kind,)) for kind in kinds]
        yield from (self._fetch(row) for _, row in merge(*by_kind, reverse=True))

    def _fetch(self, row: int) -> IndexedRecord:
        body, standing, to_models, half = self._sql.execute(
            "SELECT body, standing, to_models, half FROM records WHERE row = ?", (row,)
        ).fetchone()
        own = _STANDING.decode(standing) if standing else None
        return IndexedRecord(_RECORD.decode(body), own, bool(to_models), half)

    def _query(self, text: str, max_postings: int, *, telling: bool) -> tuple[str, int]:
        """Any of the text's rarer words, as many as can be looked at quickly, and how often they occur."""
        fillers = FILLERS if telling else frozenset[str]()
        words = [each for each in dict.fromkeys(split_words(text)) if each not in fillers]
        most = max(_MIN_COMMON, _COMMON * self.size) if telling else inf
        if all(map(is_single_sign, words)):
            return " OR ".join(f'"{word}"*' for word in words), 0
        frequencies = []
        for word in words:
            found = self._sql.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,))
            frequencies += [(known[0], f'"{word}"') for known in found if known[0] <= most]
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


def _connect(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, uri=name.startswith("file:"), check_same_thread=False)


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
    handle, name = tempfile.mkstemp(dir=place.parent)
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


def with_standings(records: Sequence[Record]) -> list[IndexRow]:
    """Every record with how it did, by the first metric in which there is another of its group."""
    standings: dict[tuple[str, str], Standing] = {}
    for record, standing in find_standings(records):
        key = (record.group, one_line(record.text))
        if key not in standings or standings[key].size < 2:
            standings[key] = standing
    keys = ((e, (e.group, one_line(e.text))) for e in spread_private(records))
    return [(each, standings.get(key) if each.kind in OUTCOMES else None) for each, key in keys]


def _fill_from(connection: sqlite3.Connection, content: KnowledgeFolder) -> None:
    _fill(connection, with_standings(content.records))
    connection.execute("INSERT INTO about VALUES (?)", (_VERSION + content.digest,))
    connection.commit()


def _fill(connection: sqlite3.Connection, rows: Sequence[IndexRow]) -> None:
    connection.executescript(_SCHEMA)
    # In the order of their dates, so that all earlier records are a range of rows.
    ordered = sorted(rows, key=lambda each: (each[0].when or _LAST_DAY, each[0].id))
    for row, (record, own) in enumerate(ordered, 1):
        words = " ".join(split_words(record.text))
        signs = (words or record.text).encode("utf-8", "surrogatepass")
        connection.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(row, msgspec.json.encode(record), msgspec.json.encode(own) if own else None),
                *(record.when or _LAST_DAY, record.kind, record.group, record.private),
                not record.allowed and bool(lines_to_models(record.text)),
                *(hashlib.sha256(signs).digest()[0] % 2, abs(own.score) if own else 0.0),
            ),
        )
        connection.execute("INSERT INTO texts (rowid, words) VALUES (?, ?)", (row, words))
    metrics = Counter(record.result.metric for record, _ in rows if record.result)
    connection.executemany("INSERT INTO metrics VALUES (?, ?)", metrics.items())
    # To count them for every search would mean to walk through all occurrences of a word.
    connection.execute("INSERT INTO vocabulary SELECT term, doc FROM terms")
    connection.commit()


OUTCOMES: tuple[RecordKind, ...] = ("outcome", "verdict")
LISTED = 4
"""Records on each of the two lists."""
MAX_WORDS = 120
"""Words that are shown of a record."""
_SIGNS_PER_WORD = 8
"""Signs after which a text without spaces is cut."""
_NEAREST = 20
"""Similar texts among which the best and the worst are looked for, in either half."""
_MAX_FACTS = 12
_FEW_WORDS = 5
_VERDICT = 1e-9


class SearchQuery(NamedTuple):
    """What is looked for, and what must not be found."""

    text: str
    group: str = ""
    """Nothing of this group is found."""
    before: str = ""
    """Only what is surely earlier than this date is found."""
    private: bool = False
    """Private records are found, too."""
    to_models: bool = False
    """Records that address a model are found, too."""


class Retrieved(NamedTuple):
    """What may be shown to whom, and how much was kept out."""

    critic: ShownOutcomes
    judges: ShownOutcomes
    left_out: dict[str, int]
    unlike: int
    """How many outcomes there are, where none of them is similar; else 0."""


def find_neighbours(
    index: Index,
    query: SearchQuery,
    left_out: Counter[str] | None = None,
    *,
    max_postings: int = MAX_POSTINGS,
    telling: bool = False,
) -> Iterator[IndexedRecord]:
    """Outcomes of similar texts, the nearest first, each text once; `left_out` counts what was passed over."""
    near = index.nearest(query.text, OUTCOMES, query.before, max_postings, telling=telling)
    yield from _admit(near, query, left_out)


def _admit(
    found: Iterator[IndexedRecord], query: SearchQuery, left_out: Counter[str] | None = None
) -> Iterator[IndexedRecord]:
    texts: set[str] = set()
    for each in found:
        plain = plain_text(each.record.text)
        if plain in texts:
            continue
        reason = gives_away(each.record, query)
        if each.record.private and not query.private:
            reason = "private"
        elif each.to_models and not query.to_models:
            reason = "addresses a model"
        if reason:
            if left_out is not None:
                left_out[reason] += 1
            continue
        texts.add(plain)
        yield each


def gives_away(record: Record, query: SearchQuery) -> str:
    """Why a record says too much about a query's text; empty where it does not."""
    if query.group and record.group == query.group:
        return "same group"
    if query.before and not is_earlier(record.when, query.before):
        return "later"
    # A draft may be a paragraph after a long brief.
    parts = (query.text, *query.text.split("\n\n"))
    similar = any(is_too_similar(record.text, each) for each in parts)
    # Nor may one be a part of the other, word for word, unless it is a few words.
    short, long = sorted((plain_text(record.text), plain_text(query.text)), key=len)
    contained = short.count(" ") >= _FEW_WORDS and f" {short} " in f" {long} "
    return "too similar" if similar or contained else ""


def retrieve(index: Index, query: SearchQuery, *, for_judges: bool = True) -> Retrieved:
    """Two short lists each for critics and for judges, who are shown different texts; or all for critics."""
    similar: Counter[str] = Counter()
    halves: list[list[IndexedRecord]] = [[], []] if for_judges else [[]]
    texts: set[str] = set()
    # Few records may share words with a brief; those that say most are better than none.
    nearest = find_neighbours(index, query, similar, telling=True)
    strongest = islice(_admit(index.strongest(OUTCOMES), query), 8 * LISTED)
    metric, near = next(iter(index.metrics), ""), set[str]()
    for found, is_near in chain(zip(nearest, repeat(True)), zip(strongest, repeat(False))):
        # Opens and clicks on one list would say that those who clicked did badly.
        if found.record.result and found.record.result.metric != metric:
            continue
        plain = plain_text(found.record.text)
        half = halves[found.half % len(halves)]
        room = len(half) < (_NEAREST if is_near else 2 * LISTED)
        if room and _score(found) and plain not in texts:
            half.append(found)
            texts.add(plain)
            near |= {found.record.id} if is_near else set()
        if min(map(len, halves)) == _NEAREST:
            break
    critic, judges = (_choose(half, near) for half in (halves if for_judges else [*halves, []]))
    left_out = _count_left_out(index, query, similar["too similar"])
    unlike = 0 if near else index.count("kind IN (?, ?)", *OUTCOMES)
    return Retrieved(critic, judges, left_out, unlike)


def choose_knowledge(index: Index, query: SearchQuery, *, for_judges: bool = True) -> Knowledge:
    """What a run shows of a folder: facts and style near a brief, and outcomes for critics and for judges."""
    found = retrieve(index, query, for_judges=for_judges)
    return Knowledge(
        source=index.path,
        digest=index.digest,
        facts=_choose_quoted(index, query, "fact"),
        style=_choose_quoted(index, query, "style"),
        feedback=_choose_quoted(index, query, "feedback"),
        **found._asdict(),
    )


def show(found: IndexedRecord) -> ShownRecord:
    """A record as a model is shown it: cut, masked, with its figure in words."""
    return ShownRecord(
        id=found.record.id,
        text=_cut(mask(found.record.text)),
        figure=describe_figure(found.record, found.standing),
        group=found.record.group,
        private=found.record.private,
    )


def describe_figure(record: Record, standing: Standing | None) -> str:
    """`open rate 38 % of 2,100; group 24 %; adjusted 34 %`, `approved`; empty where nothing is known."""
    if (result := record.result) is None:
        return record.verdict or ("" if record.score is None else f"scored {record.score:g}")
    value, n, se, pooled = result.value, result.n, result.se, ""
    if standing and standing.values:
        value, n, se, pooled = standing.value, standing.n, None, _describe_pool(result, standing)
    basis = f" ± {se:.2g}" if se is not None else ", n unknown"
    if n is not None:
        basis = f" of {n:,}" if is_share_of(result) else f", n {n:,}"
    figure = f"{result.metric}{pooled} {show_number(result, value)}{basis}"
    if standing is None or standing.size < 2 or not record.group:
        return figure
    mean, adjusted = (show_number(result, each) for each in (standing.mean, standing.shrunken))
    return f"{figure}; group {mean}; adjusted {adjusted}"


def show_number(result: RecordedOutcome, value: float) -> str:
    return f"{value * 100:.3g} %" if is_share_of(result) else f"{value:.4g}"


def is_share_of(result: RecordedOutcome) -> bool:
    return 0 <= result.value <= 1 and (result.n is not None or is_rate(result.metric))


def _describe_pool(result: RecordedOutcome, standing: Standing) -> str:
    """`, sent twice: 25.1 and 28.7 %, together`; of many results the least and the most."""
    *others, last = (show_number(result, each) for each in sorted(standing.values))
    numbers = [each.removesuffix(" %") for each in others]
    shown = " and ".join([*numbers, last]) if len(numbers) < 4 else f"{numbers[0]} to {last}"
    times = "twice" if len(numbers) == 1 else f"{len(numbers) + 1:,} times"
    return f", {'sent' if result.metric == 'open rate' else 'measured'} {times}: {shown}, together"


def _choose(found: Sequence[IndexedRecord], near: Collection[str]) -> ShownOutcomes:
    """The best and the worst, those near the brief first, without near-duplicates, as they are shown."""
    ranked = sorted(found, key=lambda each: (-_score(each), each.record.id))
    # What nobody counted may be luck: it is shown where nothing else is.
    others = [e for e in ranked if (r := e.record.result) and (r.n, r.se) == (None, None)]
    counted = [each for each in ranked if each not in others]

    def thin(candidates: Iterable[IndexedRecord]) -> tuple[ShownRecord, ...]:
        kept: list[IndexedRecord] = []
        for each in sorted(candidates, key=lambda e: (e in others, e.record.id not in near)):
            similar = (is_too_similar(each.record.text, other.record.text) for other in kept)
            if len(kept) < LISTED and not any(similar):
                kept.append(each)
        return tuple(map(show, kept))

    return ShownOutcomes(
        well=thin(each for each in (*counted, *others) if _score(each) > 0),
        badly=thin(each for each in (*counted[::-1], *others[::-1]) if _score(each) < 0),
    )


def _choose_quoted(index: Index, query: SearchQuery, kind: RecordKind) -> tuple[ShownRecord, ...]:
    """Facts or lines of style, the nearest first, then the others."""
    if not index.count("kind = ?", kind):
        return ()
    found = chain(index.nearest(query.text, (kind,)), index.strongest((kind,)))
    # Facts of the same group or day give nothing away.
    anything = query._replace(text="", group="", before="")
    return tuple(map(show, islice(_admit(found, anything), _MAX_FACTS)))


def _count_left_out(index: Index, query: SearchQuery, similar: int) -> dict[str, int]:
    found = {
        "private": 0 if query.private else index.count("private"),
        "addresses a model": 0 if query.to_models else index.count("to_models"),
        "same group": index.count("grp = ?", query.group) if query.group else 0,
        "later": index.count("day >= ?", query.before[:10]) if query.before else 0,
        "too similar": similar,
        "measured by another metric": sum([*index.metrics.values()][1:]),
        "no better and no worse than its group": index.count("kind = 'outcome' AND strength = 0"),
    }
    return {reason: number for reason, number in found.items() if number}


def _score(found: IndexedRecord) -> float:
    score = found.standing.score if found.standing else 0.0
    if score or found.record.result or not found.record.verdict:
        return score
    # A verdict counts where its group says nothing, after all that is compared.
    return _VERDICT if found.record.verdict == "approved" else -_VERDICT


def _cut(text: str) -> str:
    words = text.split()
    limit = MAX_WORDS * _SIGNS_PER_WORD
    short = text if len(words) <= MAX_WORDS else " ".join(words[:MAX_WORDS]) + " …"
    return short if len(short) <= limit + 2 else short[:limit].rstrip() + " …"
