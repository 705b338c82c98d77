"""The sealed key: which text is which, out of sight until somebody means to look."""

from __future__ import annotations

import base64
import textwrap
import zlib
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.studies.raters import packet as packets
from autoreason.studies.raters.packet import Packet

_LABEL = (
    "The sealed key of a rating packet. `autoreason rate report` opens it, and that ends the\n"
    "blind rating: whoever knows the key can no longer rate.\n"
)
_COLUMNS = 76


class NamedTask(Struct, frozen=True):
    """A task with the names behind its codes."""

    source: str
    names: dict[str, str]
    """By code."""


class Key(Struct, frozen=True, kw_only=True):
    """What nobody who rates may know."""

    packet: str
    seed: int
    tasks: tuple[NamedTask, ...]


class Opening(Struct, frozen=True, kw_only=True):
    """That a key was opened."""

    at: datetime
    ratings: dict[str, str]
    """The SHA-256 of every person's ratings at that moment, by file."""


def seal(key: Key) -> bytes:
    """A key as a file that nobody reads by accident."""
    hidden = base64.b85encode(zlib.compress(msgspec.json.encode(key), 9)).decode()
    return "\n".join(
        [_LABEL, *textwrap.wrap(hidden, _COLUMNS, break_on_hyphens=False), ""]
    ).encode()


def unseal(sealed: bytes) -> Key:
    """The key in a file that `seal` made."""
    _, _, hidden = sealed.partition(b"\n\n")
    plain = zlib.decompress(base64.b85decode(b"".join(hidden.split())))
    return msgspec.json.decode(plain, type=Key)


def opening(folder: Path) -> Opening | None:
    """When the key of a packet was opened, if it was."""
    path = folder / packets.OPENING
    return packets.decode(path.read_bytes(), Opening, path) if path.exists() else None


def open_key(folder: Path, packet: Packet, now: datetime) -> tuple[Key, Opening]:
    """The key of a packet; the first opening is recorded before anything is known."""
    sealed = _sealed(folder, packet)
    opened = opening(folder)
    if opened is None:
        opened = Opening(at=now, ratings=rating_digests(folder))
        data = msgspec.json.format(msgspec.json.encode(opened), indent=2)
        packets.write_durably(folder / packets.OPENING, data + b"\n")
    try:
        return unseal(sealed), opened
    except (ValueError, zlib.error, msgspec.MsgspecError):
        raise _damaged(folder) from None


def _sealed(folder: Path, packet: Packet) -> bytes:
    try:
        sealed = (folder / packets.KEY).read_bytes()
    except OSError:
        raise _damaged(folder) from None
    if packets.digest(sealed) != packet.key:
        raise _damaged(folder)
    return sealed


def rating_digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every person's ratings as they are now, by file."""
    files = sorted((folder / packets.RATINGS).glob("*.jsonl"))
    return {path.name: packets.digest(path.read_bytes()) for path in files}


def _damaged(folder: Path) -> InvalidInput:
    return InvalidInput(
        f"{folder / packets.KEY} is not the key this packet was made with; restore it from a copy"
    )
