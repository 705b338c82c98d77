"""Exports of mail and campaign tools as records: CSV and JSONL, which column is what."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import msgspec

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.knowledge.columns import (
    PERIODS,
    ColumnGuess,
    Columns,
    decode_text,
    find_metric,
    guess_day_first,
    guess_number_format,
    is_known,
    is_measurable,
    is_missing,
    is_rate,
    plain_name,
    read_date,
    read_period,
    read_verdict,
)
from autoreason.knowledge_records import CHOSEN, Record, RecordedOutcome, RecordKind
from autoreason.report.numbers import count, shorten

_SAMPLE = 500
MAX_TEXT = 1_000_000
_NOTHING = "nothing says how the text did"
TOO_LONG = f"a text is over {MAX_TEXT:,} characters; shorten or split it"
_KINDS = get_args(RecordKind)
_PAIRS = (("winner", "loser"), ("chosen", "rejected"))
"""Names of the two texts where a line says which of two was preferred."""
_SUMS = (
    "(?:sum|(?:gesamt)?summe|(?:ins)?gesamt|(?:grand )?totals?|totale|somme|suma|soma|average|avg|mean|median|"
    "(?:gesamt)?durchschnitt|mittelwert|mittel|schnitt|moyenne|promedio|[ø∅](?: .*)?)"
)
_SUM = re.compile(rf"{_SUMS}\b ?(.*)|(.*) {_SUMS}")
_TOP, _MANY = 10, 3
"""Lines among which the names of columns are, and which, beside the first, make problems of one kind one sentence."""
_Read = TypeVar("_Read")
_NOT_PRIVATE = frozenset(["no", "n", "false", "0", "nao", "nein", "non", "public"])


class TableReading(NamedTuple):
    records: list[Record]
    columns: Columns
    problems: list[str]
    """One sentence for every line that could not be used."""
    dates: str = ""
    """One date and what it was read as, where it is not written as YYYY-MM-DD."""
    unread: tuple[str, ...] = ()
    """Columns that were not used."""
    imported: frozenset[str] = frozenset()
    """Sources of records of ours that come from another table."""


class Row(NamedTuple):
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
    sample = list(islice(found, _SAMPLE))
    others = [row for row in sample if not _is_own(row.cells)]
    guess = ColumnGuess([row.cells for row in others], given)
    # What kb.toml says of columns means nothing to records that are written as ours.
    columns = guess.columns() if guess.headers else Columns(encoding=encoding)
    reader = _RowReader((name, better, private), columns, sample, commas=commas)
    records = []
    for row in chain(sample, found):
        try:
            records.append(reader.read(row))
        except (ValueError, ArithmeticError) as error:
            problems.append(f"{name}, line {row.line}: {error}")
    if reader.undated:
        dates, (line, why) = count(len(reader.undated), "date"), reader.undated[0]
        undated = f"{name}: {dates} cannot be read, and the lines are used without"
        problems.append(f"{undated} (line {line}: {why})")
    used = {*columns.named().values(), *columns.group_parts}
    unread = tuple(header for header in guess.headers if header and header not in used)
    dates = reader.show_date(sample)
    return TableReading(records, columns, problems, dates, unread, frozenset(reader.imported))


def read_named(path: Path, read: Callable[[bytes], _Read]) -> _Read:
    """What is made of a table that a person names; refused by its name where it cannot be read."""
    try:
        with open_input(path) as file:
            return read(file.read())
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def read_rows(data: bytes) -> list[Row]:
    """The lines of a CSV table, which must all be whole."""
    text, problems = decode_text(data)[0], list[str]()
    rows = list(_read_csv("", text, _find_delimiter(text), problems))
    if problems:
        raise InvalidInput(problems[0].removeprefix(", "))
    return rows


def is_summary(name: str, others: Iterable[object]) -> bool:
    """Whether a row is called a sum or a mean: of all, or of one of `others`."""
    found = _SUM.fullmatch(plain_name(name))
    rest = found and (found[1] or found[2])
    return bool(found) and (not rest or rest in map(plain_name, map(str, others)))


def join_alike(problems: Iterable[str]) -> Iterator[str]:
    """The problems; one sentence for those of one kind that many lines have."""
    kinds: dict[str, list[str]] = {}
    for each in problems:
        kinds.setdefault(re.sub(r"'[^']*'|\d+", "", each), []).append(each)
    for first, *others in kinds.values():
        lines = ", ".join(found[1] for e in others if (found := re.search(r", line (\d+):", e)))
        if len(others) < _MANY or not lines:
            yield from (first, *others)
        else:
            yield f"{first} ({len(others):,} more lines: {shorten(lines, 40)})"


def _find_delimiter(text: str) -> str:
    first = text[:20_000]
    if stated := re.match(r"sep=(.)\r?\n", first):
        return stated[1]

    def fit(delimiter: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(io.StringIO(first, ""), delimiter=delimiter)]
        wide = max(widths, default=1)
        return (widths.count(wide) if wide > 1 else 0, wide)

    return max(",;\t|", key=fit)


def _read_csv(name: str, text: str, delimiter: str, problems: list[str]) -> Iterator[Row]:
    # What is too long is named later, with its line.
    csv.field_size_limit(1 << 30)
    stream = io.StringIO(text, "")
    reader = csv.reader((line.replace("\0", "") for line in stream), delimiter=delimiter)
    header: list[str] | None = None
    line, top = 1, _find_header(text, delimiter)
    for at, cells in enumerate(reader):
        if header is None:
            # Some exports begin with a title or a line for spreadsheets.
            if at >= top and sum(bool(cell.strip()) for cell in cells) > 1:
                names = [cell.strip() for cell in cells]
                header = [
                    f"{each}, column {own + 1}" if each and each in names[:own] else each
                    for own, each in enumerate(names)
                ]
                again = dict.fromkeys(each for each in names if each and names.count(each) > 1)
                problems += (f"{name}: two columns are called {each!r:.60}" for each in again)
        elif (
            0 < len(cells) < len(header)
            and "\n" in cells[-1].rstrip()
            and stream.tell() == len(text)
        ):
            problems.append(f"{name}, line {line}: a quotation mark is not closed; close it")
        elif any(cell.strip() for cell in cells[len(header) :]):
            more = f"it has more cells than columns; quote what has a {delimiter!r} in it"
            problems.append(f"{name}, line {line}: {more}")
        elif any(cell.strip() for cell in cells):
            yield Row(line, dict(zip(header, cells, strict=False)))
        line = reader.line_num + 1


def _find_header(text: str, delimiter: str) -> int:
    """Which row names columns: the first of several cells, or a longer one with more of the usual names."""
    rows = list(islice(csv.reader(io.StringIO(text[:20_000], ""), delimiter=delimiter), _TOP))
    sizes = [sum(bool(cell.strip()) for cell in cells) for cells in rows]
    first = next((size for size in sizes if size > 1), 0)
    longer = [at for at, size in enumerate(sizes) if size > first or at == sizes.index(first)]
    return max(longer, key=lambda at: sum(map(is_known, rows[at])), default=0) if first else 0


def _read_json_lines(name: str, text: str, problems: list[str]) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            problems.append(f"{name}, line {number}: this is not valid JSON")
            continue
        if isinstance(value, dict):
            yield from (Row(number, cells) for cells in _spread(value, f"{name}:{number}"))
        else:
            problems.append(f"{name}, line {number}: this is not a JSON object")


def _spread(fields: dict[str, Any], source: str) -> Iterator[dict[str, Any]]:
    """One row for each text of a line: itself, the arms of a test, or the two of a pair."""
    plain = {key: each for key, each in fields.items() if isinstance(each, str | int | float)}
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


def read_better(value: object) -> Literal["higher", "lower"]:
    """Which way is better, higher where nobody says; raises ValueError for anything else."""
    said = "higher" if is_missing(value) else str(value).casefold()
    if said not in ("higher", "lower"):
        raise ValueError(f"`better` is {value!r:.60}; give higher or lower")
    return "lower" if said == "lower" else "higher"


def check_outcome(found: RecordedOutcome) -> RecordedOutcome:
    """The outcome itself; raises ValueError where no world could give it."""
    if found.n is not None and not (found.n >= 1 and is_measurable(found.n)):
        raise ValueError(f"n is {found.n!s:.60}; give the number of readers, or leave it out")
    if found.se is not None and not (found.se >= 0 and is_measurable(found.se)):
        raise ValueError(f"the standard error is {found.se:g}, which is impossible")
    # A rate of growth may be above 100 %, one of opens or clicks may not.
    most = 1 if find_metric(found.metric) else found.value
    if not is_measurable(found.value) or (is_rate(found.metric) and not 0 <= found.value <= most):
        raise ValueError(f"{found.metric:.60} is {found.value:g}, which is impossible")
    return found


class _RowReader:
    def __init__(
        self, table: tuple[str, str, bool], columns: Columns, sample: Sequence[Row], *, commas: bool
    ) -> None:
        self._name, self._better, self._private = table
        self._columns = columns
        self._headers = {key for row in sample for key in row.cells}
        groups = [(at, row.cells.get(at)) for at in columns.group_parts for row in sample]
        self._groups = {name for at, each in groups for name in (str(each), f"{at} {each}")}

        def values(column: str) -> list[object]:
            return [row.cells.get(column) for row in sample]

        self._formats = {
            column: guess_number_format(column, values(column), commas=commas)
            for column in (columns.value, columns.count, columns.n, columns.se, columns.score)
        }
        self._day_first = guess_day_first(values(columns.when), likely=commas)
        self.imported: set[str] = set()
        self.undated: list[tuple[int, str]] = []
        """Lines whose date cannot be read, and why."""

    def show_date(self, sample: Sequence[Row]) -> str:
        """How a date was read that is not written as YYYY-MM-DD; one whose order was guessed first."""
        values = (str(row.cells.get(self._columns.when, "")) for row in sample)
        for value in sorted(values, key=lambda each: each.find("/") not in (1, 2)):
            with suppress(ValueError):
                found = read_date(value, self._day_first)
                if found[:10] not in value:
                    return f"{value}, read as {found}"
        return ""

    def read(self, row: Row) -> Record:
        cells, columns = row.cells, self._columns
        source = f"{self._name}:{row.line}"
        if any(isinstance(cell, str) and len(cell) > MAX_TEXT for cell in cells.values()):
            raise ValueError(TOO_LONG)
        if _is_own(cells):
            return self._read_own(cells, source, row.line)
        text = str(cells.get(columns.text) or "").strip()
        for each in [*cells.values()] if is_missing(text) else [text]:
            if isinstance(each, str) and is_summary(each, chain(cells.values(), self._groups)):
                raise ValueError(f"{each.strip()!r} is a summary row, not a text")
        if not columns.text or not text:
            raise ValueError("there is no text")
        when = self._read_when(cells.get(columns.when), row.line)
        # What columns say, the time, or a word that is not a column's name.
        times = {part: read_period(when, part) for part in PERIODS}
        own, known = columns.group_parts, self._headers
        parts = [self._text(at, cells) if at in known else times.get(at, at) for at in own]
        result = self._read_result(cells)
        verdict = read_verdict(cells.get(columns.verdict, ""))
        score = self._number(columns.score, cells)
        if result is None and verdict is None and score is None:
            results = (columns.count, columns.n, columns.value, columns.verdict, columns.score)
            missing = [f"no {name}" for name in results if name and not self._text(name, cells)]
            missing += [f"{columns.n} is 0"] * (self._count(columns.n, cells) == 0)
            raise ValueError(": ".join(filter(None, [_NOTHING, " and ".join(missing)])))
        chosen = self._constant("chosen", cells).casefold()
        said = self._text(columns.private, cells)
        return Record(
            text=text,
            kind="outcome" if result else "verdict",
            result=result,
            verdict=verdict,
            score=score,
            group=", ".join(filter(None, parts)),
            pair=self._text(columns.pair, cells),
            when=when,
            audience=self._text(columns.audience, cells) or "".join(parts[:-1][:1]),
            source=source,
            chosen=next((each for each in CHOSEN if each == chosen), "unknown"),
            # Whatever is not a clear no: what is shown by mistake cannot be taken back.
            private=self._private or (bool(said) and plain_name(said) not in _NOT_PRIVATE),
            note=self._text(columns.note, cells),
        )

    def _read_when(self, value: object, line: int) -> str:
        """A date; empty where it cannot be read, which is not a reason to lose how a text did."""
        try:
            return read_date(value, self._day_first)
        except ValueError as error:
            self.undated.append((line, str(error)))
            return ""

    def _read_own(self, cells: Mapping[str, Any], source: str, line: int) -> Record:
        try:
            record = msgspec.convert(cells, Record)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from None
        if not record.text.strip():
            raise ValueError("there is no text")
        if record.result:
            check_outcome(record.result)
        if record.score is not None and not is_measurable(record.score):
            raise ValueError(f"{record.score:g} is not a score")
        if record.source:
            self.imported.add(source)
        when, private = self._read_when(record.when, line), record.private or self._private
        return msgspec.structs.replace(record, source=source, when=when, private=private)

    def _read_result(self, cells: Mapping[str, Any]) -> RecordedOutcome | None:
        columns = self._columns
        if (n := self._count(columns.n, cells)) == 0:
            return None
        measure = columns.count or columns.value
        name = f"{measure}/{columns.n}" if columns.count else measure
        is_share = columns.count or is_rate(measure) or self._formats[measure].percent
        called = find_metric(measure) if is_share else ""
        metric = self._constant("metric", cells) or called or name
        try:
            hits = self._count(columns.count, cells)
        except ValueError:
            # Where the count is a remark, the rate beside it still says how the text did.
            hits = None
            if self._number(columns.value, cells) is None:
                raise
        if hits is not None and n:
            value: float | None = hits / n
            if hits > n:
                raise ValueError(f"{columns.count} is {hits:,} of {n:,}, which is impossible")
        else:
            value = self._number(columns.value, cells)
        if value is None:
            return None
        se, metric = self._number(columns.se, cells), metric.casefold()
        better = read_better(self._constant("better", cells) or self._better)
        return check_outcome(RecordedOutcome(metric=metric, value=value, n=n, se=se, better=better))

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
