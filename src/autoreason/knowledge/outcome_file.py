"""What really happened, appended to a folder of records."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path

import msgspec

from autoreason.errors import InvalidInput
from autoreason.files import named
from autoreason.knowledge.folder import read_config
from autoreason.knowledge.tables import TableReading, read_table, read_table_file
from autoreason.knowledge_records import Record

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
    with (
        named(file),
        os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o666)) as stream,
    ):
        fcntl.flock(stream, fcntl.LOCK_EX)
        written = Path(file).read_bytes()
        known = {record.id for record in read_table(FILE, written).records}
        new = list({record.id: record for record in records if record.id not in known}.values())
        lines = written.splitlines(keepends=True)
        renewed = {same(record): record.id for record in records}
        kept = [line for line in lines if not _is_renewed(line, same, renewed)]
        # A line that a full disk has cut must not spoil the next.
        gap = b"\n" if kept and not kept[-1].endswith(b"\n") else b""
        if new:
            try:
                _write(stream.fileno(), b"".join(kept) + gap + encode_records(new), written)
            except OSError:
                _write(stream.fileno(), written, b"")
                raise
    return new, len(lines) - len(kept)


def _write(file: int, body: bytes, before: bytes) -> None:
    """Make the file say `body`; what it has from `before` is not written again."""
    at = len(before) if body.startswith(before) else 0
    while at < len(body):
        at += os.pwrite(file, body[at:], at)
    os.ftruncate(file, len(body))
    os.fsync(file)


def _is_renewed(
    line: bytes, same: Callable[[Record], Hashable], renewed: Mapping[Hashable, str]
) -> bool:
    try:
        record = msgspec.json.decode(line, type=Record)
    except msgspec.MsgspecError:
        return False
    return renewed.get(same(record), record.id) != record.id


def read_outcomes(file: str | Path, folder: str | Path) -> TableReading:
    """The records of a table by what the folder's `kb.toml` says of columns, and lines that cannot be used."""
    path = Path(file).expanduser()
    config = read_config(folder)
    found = read_table_file(path, config.columns_of(path.name), config.better)
    if not found.records:
        raise InvalidInput(
            f"no line of {file} says how a text did ({'; '.join(found.problems[:2]) or 'it is empty'}); "
            "name its columns in kb.toml"
        )
    return found
