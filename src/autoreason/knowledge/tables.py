"""Exports of mail and campaign tools as records: CSV and JSONL, which column is what."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.knowledge.encodings import check_encoding, decode_text
from autoreason.knowledge.values import (
    guess_date_format,
    guess_number_format,
    is_measurable,
    is_missing,
    is_rate,
    read_date,
)
from autoreason.knowledge_records import CHOSEN, Chosen, Record, RecordedOutcome, RecordKind

_NUMERIC = re.compile(r"[\s\u00a0\d.,'’%+eE-]+")
_SAMPLE = 500
"""Rows from which columns are guessed."""
MAX_TEXT = 1_000_000
"""Characters of the longest text that is read."""
TOO_LONG = f"a text is over {MAX_TEXT:,} characters; shorten or split it"
_KINDS = get_args(RecordKind)
_PAIRS = (("winner", "loser"), ("chosen", "rejected"))
"""Names of the two texts where a line says which of two was preferred."""
_YES, _NO = (
    frozenset(words.split())
    for words in (
        "approved accepted approve accept yes y true 1 good published sim ja si oui",
        "rejected declined reject decline no n false 0 bad nao nein non",
    )
)
_NOT_PRIVATE = frozenset(["no", "n", "false", "0", "nao", "nein", "non", "public"])


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """Which column is what, by its name; empty where there is none. Some may also be the value itself."""

    text: str = ""
    value: str = ""
    """A rate or another number; not needed where there are `count` and `n`."""
    count: str = ""
    """How many opened, clicked or bought."""
    n: str = ""
    """Of how many."""
    se: str = ""
    group: str = ""
    when: str = ""
    audience: str = ""
    verdict: str = ""
    score: str = ""
    pair: str = ""
    private: str = ""
    note: str = ""
    metric: str = ""
    better: str = ""
    chosen: str = ""
    encoding: str = ""
    """No column: what the table is encoded in where it is not UTF-8."""

    def __post_init__(self) -> None:
        check_encoding(self.encoding)

    def named(self) -> dict[str, str]:
        """Those that are known."""
        return {name: column for name in self.__struct_fields__ if (column := getattr(self, name))}


_CONSTANTS = ("metric", "better", "chosen")
_NAMES = {
    role: tuple(names.split(", "))
    for role, names in {
        "text": "text, subject line, email subject, subject, headline, message, ad copy, copy, body, content, assunto, "
        "betreff, asunto, objet, 标题, 主题, 件名, title, description, name",
        "n": "n, sample size, impressions, delivered, successful deliveries, deliveries, emails delivered, sent, "
        "emails sent, total sent, sends, recipients, total recipients, visitors, views, sessions, users, impressoes, "
        "enviados, entregues, enviadas, empfanger, versendet, 发送数, 送达数, 配信数",
        "count": "unique opens, opens, opened, total opens, aberturas, offnungen, unique clicks, clicks, clicked, "
        "total clicks, cliques, klicks, clics, conversions, purchases, signups, successes, 打开数, 点击数, 開封数",
        "value": "value, open rate, unique open rate, taxa de abertura, offnungsrate, tasa de apertura, click rate, "
        "ctr, click through rate, conversion rate, rate, result, klickrate",
        "se": "se, standard error, stderr, std error",
        "group": "group, test, test id, ab test, experiment, experiment id, topic, prompt, campaign, campaign name, "
        "campaign id, campanha, kampagne, campana, list, audience, segment, newsletter",
        "when": "when, date, send date, sent at, sent date, sent on, sent, send time, publish date, published, day, "
        "week, month, timestamp, created at, time, data, datum, fecha, 日期, 日付",
        "audience": "audience, segment, list, audiencia, lista",
        "verdict": "verdict, decision, approved, status",
        "score": "score, rating, mark, nota",
        "pair": "pair",
        "private": "private, confidential",
        "note": "note, notes, comment, comments",
        "metric": "metric",
        "better": "better",
        "chosen": "chosen, how chosen",
    }.items()
}
"""What tools and people call their columns, the likeliest first."""
_SEEN = ("impressions", "views", "visitors", "sessions", "users", "impressoes")
"""What is clicked rather than opened."""


class MissingColumn(InvalidInput):
    """A table has no column of a name that was given."""


class TableReading(NamedTuple):
    """What a table came to."""

    records: list[Record]
    columns: Columns
    problems: list[str]
    """One sentence for every line that could not be used."""
    dates: str = ""
    """One date and what it was read as, where it is not written as YYYY-MM-DD."""


class _Row(NamedTuple):
    line: int
    cells: Mapping[str, Any]


def read_table(
    name: str, data: bytes, given: Columns | None = None, better: str = "", *, private: bool = False
) -> TableReading:
    """The records of a CSV or JSONL file; `given` columns come before guesses."""
    given = given or Columns()
    text, encoding = decode_text(data, given.encoding)
    given = msgspec.structs.replace(given, encoding=encoding)
    problems: list[str] = []
    commas = False
    if name.lower().endswith((".jsonl", ".ndjson")):
        found = _read_json_lines(name, text, problems)
    else:
        delimiter = _find_delimiter(text)
        commas = delimiter == ";"
        found = _read_csv(name, text, delimiter, problems)
    found = _leave_out_long(name, found, problems)
    sample = list(islice(found, _SAMPLE))
    others = [row for row in sample if not _is_own(row.cells)]
    columns = _ColumnGuess(others, _check_given(given, others)).columns()
    reader = _RowReader(name, columns, sample, better=better, commas=commas, private=private)
    records = []
    for row in chain(sample, found):
        try:
            records.append(reader.read(row))
        except (ValueError, ArithmeticError) as error:
            problems.append(f"{name}, line {row.line}: {error}")
    return TableReading(records, columns, problems, reader.show_date(sample))


def read_table_file(path: Path, given: Columns, better: str = "") -> TableReading:
    """The records of a table that a person names; refused by its name where it cannot be read."""
    try:
        with open_input(path) as file:
            return read_table(path.name, file.read(), given, better)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except InvalidInput as error:
        raise type(error)(f"{path}: {error}") from None


def _find_delimiter(text: str) -> str:
    first = text[:20_000]
    if stated := re.match(r"sep=(.)\r?\n", first):
        return stated[1]

    def fit(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(io.StringIO(first, ""), delimiter=delimiter)]
        wide = max(widths, default=1)
        return (widths.count(wide) if wide > 1 else 0, wide)

    return max(",;\t|", key=fit)


def _leave_out_long(name: str, rows: Iterator[_Row], problems: list[str]) -> Iterator[_Row]:
    for row in rows:
        if any(isinstance(cell, str) and len(cell) > MAX_TEXT for cell in row.cells.values()):
            problems.append(f"{name}, line {row.line}: {TOO_LONG}")
        else:
            yield row


def _read_csv(name: str, text: str, delimiter: str, problems: list[str]) -> Iterator[_Row]:
    # What is too long is named later, with its line.
    csv.field_size_limit(1 << 30)
    stream = io.StringIO(text, "")
    reader = csv.reader((line.replace("\0", "") for line in stream), delimiter=delimiter)
    header: list[str] | None = None
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error:
            problems.append(f"{name}, line {line}: this is no line of a table")
            line = reader.line_num + 1
            continue
        if header is None:
            # Some exports begin with a title or a line for spreadsheets.
            if sum(bool(cell.strip()) for cell in cells) > 1:
                header = [cell.strip() for cell in cells]
        elif (
            0 < len(cells) < len(header)
            and "\n" in cells[-1].rstrip()
            and stream.tell() == len(text)
        ):
            problems.append(f"{name}, line {line}: a quotation mark is not closed; close it")
        elif any(cell.strip() for cell in cells):
            yield _Row(line, dict(zip(header, cells, strict=False)))
        line = reader.line_num + 1


def _read_json_lines(name: str, text: str, problems: list[str]) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            problems.append(f"{name}, line {number}: this is not valid JSON")
            continue
        if isinstance(value, dict):
            yield from (_Row(number, cells) for cells in _spread(value, f"{name}:{number}"))
        else:
            problems.append(f"{name}, line {number}: this is not a JSON object")


def _spread(fields: dict[str, Any], source: str) -> Iterator[dict[str, Any]]:
    """One row for each text of a line: itself, the arms of a test, or the two of a pair."""
    plain = {
        key: value for key, value in fields.items() if isinstance(value, str | int | float | bool)
    }
    if _is_own(fields):
        yield fields
        return
    for winner, loser in _PAIRS:
        if isinstance(fields.get(winner), str) and isinstance(fields.get(loser), str):
            for name, verdict in ((winner, "approved"), (loser, "rejected")):
                shared = {key: plain[key] for key in plain if key not in (winner, loser)}
                yield {**shared, "text": plain[name], "verdict": verdict, "pair": source}
            return
    for value in fields.values():
        if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            yield from ({**plain, **each} for each in value)
            return
    yield plain


def _is_own(cells: Mapping[str, Any]) -> bool:
    """Whether a row is a record as `export` writes it."""
    kind = cells.get("kind")
    if not isinstance(cells.get("text"), str) or kind not in _KINDS:
        return False
    outcome = isinstance(cells.get("result"), dict) or "verdict" in cells or "score" in cells
    return outcome or kind not in ("outcome", "verdict")


def _check_given(given: Columns, sample: Sequence[_Row]) -> Columns:
    for role, column in given.named().items():
        if (
            role not in (*_CONSTANTS, "encoding")
            and sample
            and not any(column in row.cells for row in sample)
        ):
            raise MissingColumn(f"there is no column {column!r}, which kb.toml names for {role}")
    return given


class _ColumnGuess:
    """Which column is what, by the columns' names and by what is in them."""

    def __init__(self, sample: Sequence[_Row], given: Columns) -> None:
        self._sample = sample
        self._headers = list(dict.fromkeys(key for row in sample for key in row.cells))
        self._by_name = {_plain_name(header): header for header in reversed(self._headers)}
        self._chosen = given.named()

    def columns(self) -> Columns:
        """What is given, and guesses for the rest."""
        self._choose("text", self._candidates("text") or self._longest_texts())
        self._choose_result()
        for role in ("verdict", "pair", "private", "note", *_CONSTANTS, "when"):
            self._choose(role, self._candidates(role))
        # A column in which every row differs groups nothing.
        self._choose("group", list(filter(self._repeats, self._candidates("group"))))
        self._choose("audience", self._candidates("audience"))
        if "verdict" in self._chosen and not self._has_verdicts(self._chosen["verdict"]):
            del self._chosen["verdict"]
        return Columns(**self._chosen)

    def _choose_result(self) -> None:
        self._choose("n", self._numeric("n"))
        counts = self._numeric("count")
        if _plain_name(self._chosen.get("n", "")) in _SEEN:
            # A thing that is seen is clicked, a mail is opened.
            counts.sort(key=lambda each: "open" in each.casefold())
        if "n" in self._chosen and "value" not in self._chosen:
            self._choose("count", counts)
        if "count" not in self._chosen:
            self._choose("value", self._numeric("value"))
        for role in ("se", "score"):
            self._choose(role, self._numeric(role))

    def _choose(self, role: str, among: Sequence[str]) -> None:
        if among:
            self._chosen.setdefault(role, among[0])

    def _candidates(self, role: str) -> list[str]:
        taken = {column for other, column in self._chosen.items() if other != "audience"}
        found = [self._by_name[name] for name in _NAMES[role] if name in self._by_name]
        return [column for column in found if column not in taken]

    def _numeric(self, role: str) -> list[str]:
        return [each for each in self._candidates(role) if _are_numbers(self._known(each))]

    def _known(self, header: str) -> list[Any]:
        values = (row.cells.get(header) for row in self._sample)
        return [value for value in values if not is_missing(value)]

    def _longest_texts(self) -> list[str]:
        """Columns of words by their length, the longest first."""
        lengths = {
            header: sum(len(str(value)) for value in values)
            for header in self._headers
            if not _are_numbers(values := self._known(header))
        }
        return sorted(lengths, key=lengths.__getitem__, reverse=True)

    def _repeats(self, header: str) -> bool:
        values = self._known(header)
        return len(set(map(str, values))) < len(values)

    def _has_verdicts(self, header: str) -> bool:
        values = self._known(header)
        return sum(_plain_name(str(value)) in _YES | _NO for value in values) * 2 > len(values)


def _are_numbers(values: Sequence[object]) -> bool:
    numbers = [value for value in values if not isinstance(value, str) or _NUMERIC.fullmatch(value)]
    return len(numbers) * 2 > len(values)


def _plain_name(header: str) -> str:
    plain = unicodedata.normalize("NFKD", header.casefold())
    letters = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return " ".join(re.findall(r"[^\W_]+", letters))


def read_better(value: object) -> Literal["higher", "lower"]:
    """Which way is better, higher where nobody says; raises ValueError for anything else."""
    said = "higher" if is_missing(value) else str(value).casefold()
    if said not in ("higher", "lower"):
        raise ValueError(f"`better` is {value!r:.60}; give higher or lower")
    return "lower" if said == "lower" else "higher"


def check_outcome(found: RecordedOutcome) -> RecordedOutcome:
    """The outcome itself; raises ValueError where no world could give it."""
    if found.n is not None and not (found.n >= 1 and is_measurable(found.n)):
        raise ValueError(f"n is {found.n!s:.60}, which is impossible")
    if found.se is not None and not (found.se >= 0 and is_measurable(found.se)):
        raise ValueError(f"the standard error is {found.se:g}, which is impossible")
    if not is_measurable(found.value) or (found.value < 0 and is_rate(found.metric)):
        raise ValueError(f"{found.metric:.60} is {found.value:g}, which is impossible")
    return found


class _RowReader:
    """Rows of one table as records."""

    def __init__(
        self,
        name: str,
        columns: Columns,
        sample: Sequence[_Row],
        *,
        better: str,
        commas: bool,
        private: bool,
    ) -> None:
        self._name, self._columns, self._better = name, columns, better
        self._private = private

        def values(column: str) -> list[object]:
            return [row.cells.get(column) for row in sample]

        self._formats = {
            column: guess_number_format(column, values(column), commas=commas)
            for column in (columns.value, columns.count, columns.n, columns.se, columns.score)
        }
        self._dates = guess_date_format(values(columns.when), day_first=commas)
        own = [row.cells.get("when") for row in sample if _is_own(row.cells)]
        self._own_dates = guess_date_format(own, day_first=commas)

    def show_date(self, sample: Sequence[_Row]) -> str:
        """How the first date was read, where that had to be guessed."""
        for row in sample if self._dates else ():
            value = row.cells.get(self._columns.when)
            with suppress(ValueError):
                if found := read_date(value, self._dates):
                    return f"{value}, read as {found}"
        return ""

    def read(self, row: _Row) -> Record:
        """The record of a row; raises ValueError with what is wrong."""
        cells, columns = row.cells, self._columns
        source = f"{self._name}:{row.line}"
        if _is_own(cells):
            return self._read_own(cells, source)
        text = str(cells.get(columns.text) or "").strip()
        if not columns.text or not text:
            raise ValueError("there is no text")
        result = self._read_result(cells)
        verdict = _plain_name(str(cells.get(columns.verdict, "")))
        score = self._number(columns.score, cells)
        known = verdict in _YES | _NO
        if result is None and not known and score is None:
            raise ValueError("nothing says how the text did")
        return Record(
            text=text,
            kind="outcome" if result else "verdict",
            result=result,
            verdict=("approved" if verdict in _YES else "rejected") if known else None,
            score=score,
            group=self._text(columns.group, cells),
            pair=self._text(columns.pair, cells),
            when=read_date(cells.get(columns.when), self._dates),
            audience=self._text(columns.audience, cells),
            source=source,
            chosen=self._chosen(cells),
            private=self._private or self._is_private(cells),
            note=self._text(columns.note, cells),
        )

    def _read_own(self, cells: Mapping[str, Any], source: str) -> Record:
        try:
            record = msgspec.convert(cells, Record)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        if not record.text.strip():
            raise ValueError("there is no text")
        if record.result:
            check_outcome(record.result)
        if record.score is not None and not is_measurable(record.score):
            raise ValueError(f"{record.score:g} is no score")
        return msgspec.structs.replace(
            record,
            source=source,
            when=read_date(record.when, self._own_dates),
            private=record.private or self._private,
        )

    def _read_result(self, cells: Mapping[str, Any]) -> RecordedOutcome | None:
        columns = self._columns
        n = self._count(columns.n, cells)
        hits = self._count(columns.count, cells)
        value = self._number(columns.value, cells)
        metric = self._constant("metric", cells) or columns.value
        if columns.count:
            metric = self._constant("metric", cells) or f"{columns.count}/{columns.n}"
            value = hits / n if hits is not None and n else None
            if value is not None and value > 1:
                raise ValueError(f"{columns.count} is {hits:,} of {n:,}, which is impossible")
        if value is None:
            return None
        return check_outcome(
            RecordedOutcome(
                metric=metric.casefold(),
                value=value,
                n=n,
                se=self._number(columns.se, cells),
                better=read_better(self._constant("better", cells) or self._better),
            )
        )

    def _number(self, column: str, cells: Mapping[str, Any]) -> float | None:
        return self._formats[column].read(cells.get(column)) if column else None

    def _count(self, column: str, cells: Mapping[str, Any]) -> int | None:
        return self._formats[column].read_count(cells.get(column)) if column else None

    def _text(self, column: str, cells: Mapping[str, Any]) -> str:
        value = cells.get(column)
        return "" if is_missing(value) else str(value).strip()

    def _constant(self, role: str, cells: Mapping[str, Any]) -> str:
        """What a column says, or, where there is no such column, its name in kb.toml."""
        column = getattr(self._columns, role)
        return self._text(column, cells) if column in cells else str(column)

    def _chosen(self, cells: Mapping[str, Any]) -> Chosen:
        said = self._constant("chosen", cells).casefold()
        return next((each for each in CHOSEN if each == said), "unknown")

    def _is_private(self, cells: Mapping[str, Any]) -> bool:
        # Whatever is no clear no: what is shown by mistake cannot be taken back.
        said = self._text(self._columns.private, cells)
        return bool(said) and _plain_name(said) not in _NOT_PRIVATE
