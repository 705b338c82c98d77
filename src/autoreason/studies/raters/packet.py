"""A packet: texts under codes in a folder, for people who must not know where they come from."""

from __future__ import annotations

import hashlib
import os
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput

PACKET = "packet.json"
INSTRUCTIONS = "INSTRUCTIONS.md"
KEY = "key.sealed"
OPENING = "unsealed.json"
RATINGS = "ratings"
FORMAT = 1

T = TypeVar("T")


class BlindTask(Struct, frozen=True):
    """A brief and the codes of the texts that were written for it."""

    title: str
    codes: tuple[str, ...]


class Packet(Struct, frozen=True, kw_only=True):
    """What may be known of a packet before its key is opened."""

    format: int
    id: str
    created: datetime
    orders_seed: int
    """From which the order of texts for each person is drawn."""
    tasks: tuple[BlindTask, ...]
    files: dict[str, str]
    """Briefs and texts by name, each with the SHA-256 of its contents."""
    key: str
    """The SHA-256 of the sealed key: it cannot be exchanged without notice."""


def brief_file(task: int) -> str:
    """Where the brief of a task is; tasks are counted from 0, and from 1 for people."""
    return f"task-{task + 1}/brief.md"


def text_file(task: int, code: str) -> str:
    """Where a text is."""
    return f"task-{task + 1}/{code}.md"


def read_packet(folder: Path) -> Packet:
    """The packet in a folder."""
    path = folder / PACKET
    if not path.is_file():
        raise InvalidInput(f"{folder} is no packet; make one with `autoreason rate new {folder}`")
    packet = decode(path.read_bytes(), Packet, path)
    if packet.format != FORMAT:
        raise InvalidInput(f"{path} is of format {packet.format}; a newer autoreason can read it")
    return packet


def read_part(folder: Path, packet: Packet, name: str) -> str:
    """A brief or text of a packet, as it was when the packet was built."""
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"cannot read {path}: {error.strerror}; restore it from a copy"
        ) from None
    if digest(data) != packet.files.get(name):
        raise InvalidInput(f"{path} is not what it was; restore it from a copy")
    return data.decode()


def decode(data: bytes, kind: type[T], path: Path) -> T:
    """A JSON file of a packet; one clear sentence where it is damaged."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise InvalidInput(f"{path} is damaged; restore it from a copy") from None


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def write_durably(path: Path, data: bytes) -> None:
    """All of a file or nothing, and on the disk before it counts as written."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
