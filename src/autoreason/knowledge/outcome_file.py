"""What really happened, appended to a folder of records."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
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
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise InvalidInput(f"no folder {folder} for outcomes; make it first or correct its name")
    file = root / FILE
    with (
        named(file),
        os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)) as stream,
    ):
        fcntl.flock(stream, fcntl.LOCK_EX)
        written = Path(file).read_bytes()
        known = {record.id for record in read_table(FILE, written).records}
        new = list({record.id: record for record in records if record.id not in known}.values())
        # A line that a full disk has cut must not spoil the next.
        gap = b"\n" if written and not written.endswith(b"\n") else b""
        body = gap + encode_records(new) if new else b""
        try:
            while body:
                body = body[os.write(stream.fileno(), body) :]
            os.fsync(stream.fileno())
        except OSError:
            os.ftruncate(stream.fileno(), len(written))
            raise
    return new


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
