"""A folder of the user's own records: every file read, and what really happened appended to it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tomllib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.fields import plainly
from autoreason.files import named, write_atomically
from autoreason.knowledge.columns import (
    PERIODS,
    Columns,
    NumberFormat,
    decode_text,
    guess_number_format,
    plain_name,
    read_date,
)
from autoreason.knowledge.standing import add_period, choose_period, divide, one_line
from autoreason.knowledge.tables import (
    MAX_TEXT,
    TOO_LONG,
    TableReading,
    check_outcome,
    join_alike,
    read_better,
    read_named,
    read_table,
)
from autoreason.knowledge_records import CHOSEN, Record, RecordedOutcome, RecordKind
from autoreason.report.numbers import count, shorten
from autoreason.task import split_front_matter

CONFIG = "kb.toml"
_MAX_SHOWN = 200
_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
_TEXTS = (".md", ".markdown", ".txt")
_FOLDERS: dict[str, tuple[RecordKind, Literal["approved", "rejected"] | None]] = {
    "approved": ("verdict", "approved"),
    "rejected": ("verdict", "rejected"),
    "facts": ("fact", None),
    "style": ("style", None),
    "feedback": ("feedback", None),
}
_KEYS = (
    *("result", "metric", "value", "n", "se", "better", "score", "group", "when"),
    *("audience", "chosen", "private", "note"),
)
_MAX_FILE_SIZE = 500_000_000


class FolderConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """`kb.toml`."""

    better: Literal["higher", "lower"] = "higher"
    encoding: str = ""
    """Of files that are not UTF-8; recognised by what is in them where it is empty."""
    private: tuple[str, ...] = ()
    """Patterns of files that only local models may be shown."""
    allow: tuple[str, ...] = ()
    """Patterns of files whose records are shown although lines of theirs address a model."""
    columns: Columns = Columns()
    tables: dict[str, Columns] = {}

    def columns_of(self, table: str) -> Columns:
        own = self.tables.get(table, self.tables.get(f"./{table}", Columns()))
        parts = (Columns(encoding=self.encoding), self.columns, own)
        return Columns(**{role: name for part in parts for role, name in part.named().items()})


class FileReading(Struct, frozen=True, kw_only=True):
    file: str
    records: int
    columns: dict[str, str] = {}
    """Of a table: which column is what. Of any file: its encoding, where that is not UTF-8."""
    dates: str = ""
    """Of a table whose dates could be read otherwise: one of them, and what it was read as."""
    divided: tuple[str, ...] = ()
    """Of a table whose groups run side by side: what its groups are made of instead."""
    unread: tuple[str, ...] = ()
    """Columns of a table that were not used."""
    imported: bool = False
    """Whether these are records of tables that are not in the folder."""

    @property
    def is_table(self) -> bool:
        return self.file.lower().endswith(_TABLES)


class KnowledgeFolder(Struct, frozen=True, kw_only=True):
    path: str
    digest: str
    records: tuple[Record, ...]
    files: tuple[FileReading, ...]
    problems: tuple[str, ...]
    """One sentence for every file or line that could not be used."""


def read_folder(path: str | Path) -> KnowledgeFolder:
    """Read a folder, or a single table, whole; what cannot be read is named while the rest works."""
    root = _check_root(path)
    config = _read_config(root)
    readings: list[tuple[FileReading, list[Record]]] = []
    problems = [f"{CONFIG}: {name!r} matches no file here" for name in _unmatched(root, config)]
    digest = hashlib.sha256()
    for name, data in _contents(root, problems, digest):
        if name == CONFIG:
            continue
        try:
            found = _read_file(name, data, config)
        except InvalidInput as error:
            problems.append(f"{name}: {str(error).removeprefix(f'{name}: ')}")
            continue
        problems += join_alike(found.problems)
        allowed = _matches(name, config.allow)
        records = [replace(each, allowed=True) if allowed else each for each in found.records]
        imported = found.imported if name == FILE else frozenset()
        about: dict[str, Any] = {"columns": found.columns.shown(), "dates": found.dates}
        for apart in (False, True):
            own = [each for each in records if (each.source in imported) is apart]
            about |= {"file": name, "records": len(own), "unread": found.unread, "imported": apart}
            if own or not (records or apart):
                readings.append((FileReading(**about), own))
    problems += _leave_out_duplicates(readings)
    problems += _leave_out_recounts(readings)
    _divide_groups(readings, config)
    return KnowledgeFolder(
        path=str(path),
        digest=digest.hexdigest(),
        records=tuple(record for _, found in readings for record in found),
        files=tuple(reading for reading, _ in readings),
        problems=tuple(problems),
    )


def _leave_out_duplicates(readings: list[tuple[FileReading, list[Record]]]) -> Iterator[str]:
    """Use outcomes that say the same once, as `import` does, private where one of them is; names the others."""
    private = {each.id for _, found in readings for each in found if each.private}
    known: dict[str, str] = {}
    for at, (reading, found) in enumerate(readings):
        kept, twice = list[Record](), Counter[str]()
        for each in found:
            # Marks and verdicts may be alike, since several people give them.
            if each.result and each.id in known:
                twice[known[each.id]] += 1
            else:
                known[each.id] = reading.file
                kept.append(replace(each, private=True) if each.id in private else each)
        readings[at] = replace(reading, records=len(kept)), kept
        for file, number in twice.items():
            yield f"{reading.file}: {count(number, 'duplicate')} left out, already in {file}"


def _leave_out_recounts(readings: list[tuple[FileReading, list[Record]]]) -> Iterator[str]:
    """Use a sending that several lines count otherwise once, by most readers; names the lines."""
    sent: dict[Hashable, list[Record]] = {}
    for each in chain.from_iterable(found for _, found in readings):
        if each.result and each.when:
            same = each.text, each.group, each.audience, each.when, each.result.metric
            sent.setdefault(same, []).append(each)
    # One line may have a test in which a text is twice, with two pictures.
    again = [some for some in sent.values() if len({each.source for each in some}) > 1]
    used: dict[str, Record | None] = {each.id: None for some in again for each in some}
    for some in again:
        most = max(reversed(some), key=lambda each: (each.result and each.result.n) or 0)
        used[most.id] = replace(most, private=any(each.private for each in some))
    for at, (reading, found) in enumerate(readings if again else ()):
        kept = [own for each in found if (own := used.get(each.id, each))]
        readings[at] = replace(reading, records=len(kept)), kept
    lines = "; ".join(" and ".join(each.source for each in some) for some in again)
    if again:
        number = f"{count(len(again), 'sending is', 'sendings are')} there twice with other numbers"
        yield f"{number}; the line with most readers is used: {shorten(lines, _MAX_SHOWN)}"


def _divide_groups(readings: list[tuple[FileReading, list[Record]]], config: FolderConfig) -> None:
    """Group tables by the time as well where their group is a guess that leaves hardly anything to test."""
    tables: dict[str, list[int]] = {}
    for at, (reading, found) in enumerate(readings):
        group = config.columns_of(reading.file).group_parts
        guessed = ("text" in reading.columns or reading.imported) and not group
        if reading.imported:
            guessed &= not any(each.group for each in config.tables.values())
            for period in {*PERIODS}.intersection(group):
                readings[at] = reading, [add_period(each, period) for each in found]
        if guessed and any(record.when for record in found):
            key = reading.file if reading.imported else reading.columns.get("group", "")
            tables.setdefault(plain_name(key), []).append(at)
    for places in tables.values():
        own = [record for at in places for record in readings[at][1]]
        apart = [found for at, (_, found) in enumerate(readings) if at not in places]
        period = choose_period(own, list(chain.from_iterable(apart)))
        divided = iter(divide(own, period) if period else own)
        for at in places if period else ():
            reading, found = readings[at]
            parts = tuple(filter(None, (reading.columns.get("group"), period)))
            columns = {**reading.columns, "group": " and ".join(parts)}
            reading = replace(reading, columns=columns, divided=parts)
            readings[at] = reading, list(islice(divided, len(found)))


def spread_private(records: Sequence[Record]) -> list[Record]:
    """What is private in one file is private in all: it is the text that must not leave."""
    private = {one_line(record.text) for record in records if record.private}
    hide = [one_line(each.text) in private for each in records]
    return [replace(e, private=True) if own else e for e, own in zip(records, hide, strict=True)]


def digest_folder(path: str | Path) -> str:
    """The digest that `read_folder` gives, without understanding a file."""
    digest = hashlib.sha256()
    for _ in _contents(_check_root(path), [], digest):
        pass
    return digest.hexdigest()


def check_private(path: str | Path) -> None:
    """Refuse a folder whose `kb.toml` calls something private that is not there: it may be mistyped."""
    root = _check_root(path)
    config = _read_config(root)
    for name in _unmatched(root, config):
        if name in config.private or (name in config.tables and config.tables[name].private):
            raise InvalidInput(
                f"{path}: {CONFIG}: {name!r} matches no file here, so something private may be mistyped; "
                "correct or remove it"
            )


def _unmatched(root: Path, config: FolderConfig) -> list[str]:
    """Names and patterns of `kb.toml` that no file has."""
    given = (*config.allow, *config.tables, *config.private)
    folder = root if root.is_dir() else root.parent
    files = [name for name, _ in _walk(folder, [])] if given else []
    # A folder may be empty as yet.
    empty = {each for each in given if each.endswith("/*") and Path(folder, each[:-2]).is_dir()}
    named = [each for each in given if each not in empty and each.removeprefix("./") not in files]
    return [each for each in named if not any(_matches(name, (each,)) for name in files)]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern.removeprefix("./")) for pattern in patterns)


def _check_root(path: str | Path) -> Path:
    try:
        root = Path(path).expanduser().resolve()
        if root.is_dir() or (root.is_file() and root.suffix.lower() in _TABLES):
            return root
    except (OSError, RuntimeError, ValueError):
        # A name that no file can have, or one that begins with an unknown user.
        pass
    raise InvalidInput(f"{str(path)[:_MAX_SHOWN]} is neither a folder nor a CSV or JSONL table")


def _read_config(root: Path) -> FolderConfig:
    # Refused where it cannot be read: it says what is private.
    file = (root if root.is_dir() else root.parent) / CONFIG
    if not file.is_file():
        return FolderConfig()
    try:
        return msgspec.convert(tomllib.loads(file.read_text("utf-8-sig")), FolderConfig)
    except (OSError, ValueError) as error:
        said = plainly(error, FolderConfig)
        raise InvalidInput(f"{file} cannot be used: {said}; correct it") from None


def _walk(root: Path, problems: list[str]) -> Iterator[tuple[str, Path]]:
    """The files of a folder by their names in it, sorted; no link is followed."""
    if root.is_file():
        yield root.name, root
        return

    def complain(error: OSError) -> None:
        where = os.path.relpath(error.filename or root, root)
        problems.append(f"{where}: {error.strerror or 'it cannot be read'}")

    for folder, folders, names in os.walk(root, onerror=complain):
        for name in sorted((*folders, *names)):
            path = Path(folder, name)
            # A name may have bytes that are not text.
            shown = os.fsencode(path.relative_to(root)).decode("utf-8", "replace")
            if name.startswith("."):
                continue
            if path.is_symlink():
                problems.append(f"{shown}: a link, which is not followed; copy what it leads to")
            elif name in names and path.is_file():
                yield shown, path
        own = (name for name in folders if name[0] != "." and not Path(folder, name).is_symlink())
        folders[:] = sorted(own)


def _contents(root: Path, problems: list[str], digest: Any) -> Iterator[tuple[str, bytes]]:
    """What files say, by their names; `digest` is that of all of them."""
    for name, file in _walk(root, problems):
        try:
            if file.stat().st_size > _MAX_FILE_SIZE:
                problems.append(f"{name}: it is over {_MAX_FILE_SIZE // 1_000_000} MB; split it")
                continue
            data = file.read_bytes()
        except OSError as error:
            problems.append(f"{name}: {error.strerror or 'it cannot be read'}")
            continue
        digest.update(name.encode() + b"\0")
        digest.update(hashlib.sha256(data).digest())
        yield name, data


def _read_file(name: str, data: bytes, config: FolderConfig) -> TableReading:
    private = _matches(name, config.private)
    ending = Path(name).suffix.lower()
    if ending in _TABLES:
        return read_table(name, data, config.columns_of(name), config.better, private=private)
    folder, _, rest = name.partition("/")
    if ending not in _TEXTS or not rest or folder.casefold() not in _FOLDERS:
        where = f"a text as .md in {', '.join(_FOLDERS)}"
        raise InvalidInput(f"not read; save a table as CSV, {where}")
    kind, verdict = _FOLDERS[folder.casefold()]
    text, encoding = decode_text(data, config.encoding)
    if len(text) > MAX_TEXT:
        raise InvalidInput(TOO_LONG)
    keys, body = split_front_matter(name, text.replace("\r\n", "\n"), _KEYS)
    problems = []
    if unknown := [str(key) for key in keys if key not in _KEYS]:
        # One of them may be `private`, mistyped.
        private = True
        keys_are = f"{name}: unknown keys of its front matter ({', '.join(unknown)})"
        problems.append(f"{keys_are}; until they are corrected or removed, it is private")
    if not body.strip():
        raise InvalidInput("it is empty")
    chosen = keys.get("chosen", "unknown")
    if chosen not in CHOSEN:
        raise InvalidInput(f"`chosen` must be one of {', '.join(CHOSEN)}")
    try:
        record = Record(
            text=body.strip(),
            kind=kind,
            result=_read_result(keys, config),
            verdict=verdict,
            score=NumberFormat().read(keys.get("score")),
            group=str(keys.get("group") or ""),
            when=read_date(keys.get("when")),
            audience=str(keys.get("audience") or ""),
            source=name,
            chosen=chosen,
            private=private or bool(keys.get("private")),
            note=str(keys.get("note") or ""),
        )
    except (ValueError, ArithmeticError) as error:
        raise InvalidInput(str(error)) from None
    return TableReading([record], Columns(encoding=encoding), problems)


def _read_result(keys: dict[str, Any], config: FolderConfig) -> RecordedOutcome | None:
    """`result: 38 %` with n beside it, or `result: {metric: opens, value: 0.38, n: 2100}`."""
    given = keys.get("result", keys.get("value"))
    fields = {**keys, **given} if isinstance(given, dict) else {**keys, "value": given}
    value = fields.get("value")
    if value is None:
        return None
    plain, metric = NumberFormat(), str(fields.get("metric") or "result").casefold()
    number = guess_number_format("", [value], commas=False).read(value) or 0.0
    n, se = plain.read_count(fields.get("n")), plain.read(fields.get("se"))
    better = read_better(fields.get("better", config.better))
    return check_outcome(RecordedOutcome(metric=metric, value=number, n=n, se=se, better=better))


FILE = "outcomes.jsonl"


def encode_records(records: Sequence[Record]) -> bytes:
    """Records as JSON, one a line, as they can be read again."""
    return b"".join(msgspec.json.encode(record) + b"\n" for record in records)


def append_outcomes(folder: str | Path, records: Sequence[Record]) -> list[Record]:
    """Append records that are not there yet, all or none, one process at a time; returns those that are new."""
    return replace_outcomes(folder, records, lambda record: record.id)[0]


def replace_outcomes(
    folder: str | Path, records: Sequence[Record], same: Callable[[Record], Hashable]
) -> tuple[list[Record], int]:
    """Append records in place of older ones of the same thing; returns those that are new and how many went."""
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise InvalidInput(f"no folder {folder} for outcomes; make it first or correct its name")
    file = root / FILE
    lock = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        written = file.read_bytes() if file.exists() else b""
        known = {record.id for record in read_table(FILE, written).records}
        new = list({record.id: record for record in records if record.id not in known}.values())
        lines = written.splitlines(keepends=True)
        renewed = {same(record): record.id for record in records}
        kept = []
        for line in lines:
            with suppress(msgspec.MsgspecError):
                record = msgspec.json.decode(line, type=Record)
                if renewed.get(same(record), record.id) != record.id:
                    continue
            kept.append(line)
        # A line that a full disk has cut must not spoil the next.
        gap = b"\n" if kept and not kept[-1].endswith(b"\n") else b""
        if new:
            with named(file):
                write_atomically(file, b"".join(kept) + gap + encode_records(new))
    finally:
        os.close(lock)
    return new, len(lines) - len(kept)


def import_table(
    file: str | Path, folder: str | Path
) -> tuple[TableReading, int, int, Counter[str]]:
    """Append what is new in a table; returns it, how much is new, how much it replaces, and what was there, by file."""
    path, target = Path(file).expanduser(), Path(folder).expanduser()
    if not target.is_dir():
        remedy = f"make it (mkdir {folder}) or correct it"
        remedy = "the folder comes first, then the file" if path.is_dir() else remedy
        raise InvalidInput(f"{folder} is not a folder of records to import into; {remedy}")
    root = _check_root(folder)
    config = _read_config(root)
    columns = config.columns_of(path.name)
    found = read_named(path, lambda data: read_table(path.name, data, columns, config.better))
    if not found.records:
        why = "; ".join(found.problems[:2]) or "it is empty"
        why = f"no line of {file} says how a text did ({why})"
        raise InvalidInput(f"{why}; name its columns in kb.toml")

    def say(record: Record) -> Hashable:
        """What a record says, in whatever group."""
        return replace(record, group="").id

    tables: dict[Hashable, list[str]] = {}
    for name, data in _contents(root, [], hashlib.sha256()):
        if name != FILE and name.lower().endswith(_TABLES):
            with suppress(InvalidInput):
                for each in _read_file(name, data, config).records:
                    tables.setdefault(say(each), []).append(name)
    there = [(tables.get(say(each)) or [""]).pop() for each in found.records]
    missing = [each for each, name in zip(found.records, there, strict=True) if not name]
    new, old = replace_outcomes(folder, missing, lambda each: (each.source, say(each)))
    known = Counter(filter(None, there)) + Counter({FILE: len(missing) - len(new)})
    return found, len(new), old, known
