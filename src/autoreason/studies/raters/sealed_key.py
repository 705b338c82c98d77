"""The sealed key: which text is which, hidden until it is opened on purpose."""

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
    "blind rating: no one who knows the key can rate.\n"
)
_COLUMNS = 76


class NamedTask(Struct, frozen=True):
    """A task with the names behind its codes."""

    source: str
    names: dict[str, str]
    """By code."""


class PacketKey(Struct, frozen=True, kw_only=True):
    """What no rater may know."""

    packet: str
    seed: int
    tasks: tuple[NamedTask, ...]


class Opening(Struct, frozen=True, kw_only=True):
    """When a key was opened, and on which ratings."""

    at: datetime
    ratings: dict[str, str]
    """The SHA-256 of every person's ratings at that moment, by file."""


def seal(key: PacketKey) -> bytes:
    """A key as a file that no one reads by accident."""
    hidden = base64.b85encode(zlib.compress(msgspec.json.encode(key), 9)).decode()
    return "\n".join(
        [_LABEL, *textwrap.wrap(hidden, _COLUMNS, break_on_hyphens=False), ""]
    ).encode()


def unseal(sealed: bytes) -> PacketKey:
    """The key in a file that `seal` wrote."""
    _, _, hidden = sealed.partition(b"\n\n")
    plain = zlib.decompress(base64.b85decode(b"".join(hidden.split())))
    return msgspec.json.decode(plain, type=PacketKey)


def opening(folder: Path) -> Opening | None:
    """When the key of a packet was opened, if it was."""
    path = folder / packets.OPENING
    return packets.decode(path.read_bytes(), Opening, path) if path.exists() else None


def open_key(folder: Path, packet: Packet, now: datetime) -> tuple[PacketKey, Opening]:
    """The key of a packet; the first opening is recorded before the key is read."""
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
        f"{folder / packets.KEY} is not the key of this packet; restore it from a copy"
    )
