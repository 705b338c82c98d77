"""Sheets on the disk: one file per person, one line per click, durable before it counts."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.studies.raters import packet as packets
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.sheets import Click, Sheet, check_click

MAX_NAME_LENGTH = 60


class SheetStart(Struct, frozen=True, tag="began"):
    """A person started."""

    packet: str
    rater: str
    seat: int


class SheetLine(Struct, frozen=True):
    """One line of a file."""

    at: datetime
    what: SheetStart | Click


class OpenSheet:
    """A sheet that can be written on."""

    def __init__(self, path: Path, sheet: Sheet, packet: Packet) -> None:
        self.sheet = sheet
        self._path = path
        self._packet = packet

    def add(self, what: Click, now: datetime) -> None:
        """Store a click."""
        check_click(what, self._packet)
        _append(self._path, SheetLine(now, what))
        self.sheet.take(what)


def open_sheet(folder: Path, packet: Packet, rater: str, now: datetime) -> OpenSheet:
    """The sheet of a person by name: as they left it, or a new one."""
    name = check_name(rater)
    sheets = {path: read_sheet(path, packet) for path in _files(folder)}
    for path, sheet in sheets.items():
        if sheet.rater.casefold() == name.casefold():
            _drop_partial_line(path)
            return OpenSheet(path, sheet, packet)
    seat = 1 + max((sheet.seat for sheet in sheets.values()), default=-1)
    path = folder / packets.RATINGS / f"rater-{seat + 1:02}.jsonl"
    path.parent.mkdir(exist_ok=True)
    # Whole or not at all: a sheet without its first line belongs to no one.
    packets.write_durably(path, _line(SheetLine(now, SheetStart(packet.id, name, seat))))
    return OpenSheet(path, Sheet(name, seat), packet)


def check_name(rater: str) -> str:
    """A person's name without stray white space."""
    name = " ".join(rater.split())
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidInput(
            f"a rater needs a name of 1 to {MAX_NAME_LENGTH} characters; give another"
        )
    return name


def read_sheets(folder: Path, packet: Packet) -> list[Sheet]:
    """All sheets, in the order in which people started."""
    sheets = (read_sheet(path, packet) for path in _files(folder))
    return sorted(sheets, key=lambda sheet: sheet.seat)


def read_sheet(path: Path, packet: Packet) -> Sheet:
    """What is written on one sheet; half a last line is a click that was never confirmed."""
    lines = path.read_bytes().split(b"\n")[:-1]
    first, *others = [_read(line, path, number) for number, line in enumerate(lines, 1)] or [None]
    if not isinstance(first, SheetStart) or first.packet != packet.id:
        raise InvalidInput(f"{path} does not belong to this packet; move it to another folder")
    sheet = Sheet(first.rater, first.seat)
    for number, what in enumerate(others, 2):
        try:
            if what is None or isinstance(what, SheetStart):
                raise _damaged(path, number)
            check_click(what, packet)
        except InvalidInput:
            raise _damaged(path, number) from None
        sheet.take(what)
    return sheet


def _read(line: bytes, path: Path, number: int) -> SheetStart | Click | None:
    try:
        return msgspec.json.decode(line, type=SheetLine).what
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise _damaged(path, number) from None


def _damaged(path: Path, number: int) -> InvalidInput:
    return InvalidInput(f"{path} is damaged in line {number}; fix that line or remove it")


def _files(folder: Path) -> list[Path]:
    return sorted((folder / packets.RATINGS).glob("*.jsonl"))


def _line(mark: SheetLine) -> bytes:
    return msgspec.json.encode(mark) + b"\n"


def _append(path: Path, mark: SheetLine) -> None:
    try:
        with path.open("ab") as file:
            file.write(_line(mark))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        _drop_partial_line(path)
        raise


def _drop_partial_line(path: Path) -> None:
    """Cut off half a last line, so that the next one starts on a line of its own."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
