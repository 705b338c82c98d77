"""What passes between the loop and the examiner's process: frames of a length and a message."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct

from autoreason.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.programs.problems.sets import Broken

_HEADER = 4


class Opening(Struct, frozen=True, kw_only=True, tag=True):
    """Which set of problems is to be examined, and how."""

    source: str = ""
    """A file to read; or"""
    digest: str = ""
    """the name under which an earlier examiner kept the set."""
    only: tuple[str, ...] = ()
    """Ids of the problems wanted; all where none are named."""
    seconds: float | None = None
    """The time limit of every problem, instead of its own."""
    memory_mb: int | None = None
    """The memory limit of every problem, instead of its own."""
    unsafe: bool = False
    workers: int | None = None


class Opened(Struct, frozen=True, kw_only=True, tag=True):
    """The set as the loop may know it, and the sandbox that was found."""

    digest: str
    format: str
    assignments: tuple[Assignment, ...]
    broken: tuple[Broken, ...]
    level: str
    reasons: tuple[str, ...]
    """Why a better sandbox is not to be had here."""


class Question(Struct, frozen=True, kw_only=True, tag=True):
    """One examination under a number."""

    number: int
    examination: Examination


class Answer(Struct, frozen=True, kw_only=True, tag=True):
    """What an examination brought."""

    number: int
    examined: Examined


class Look(Struct, frozen=True, kw_only=True, tag=True):
    """A program to be watched on inputs, under a number."""

    number: int
    probe: Probe


class Seen(Struct, frozen=True, kw_only=True, tag=True):
    """What such a program did."""

    number: int
    observed: Observed


class Refusal(Struct, frozen=True, kw_only=True, tag=True):
    """Why there is no answer, in one sentence."""

    number: int | None = None
    """Of the question; none where the set could not be opened."""
    sentence: str
    mistake: bool = True
    """Whether it can be mended by whoever asked; otherwise the examiner itself failed."""


Asked = Opening | Question | Look
Told = Opened | Answer | Seen | Refusal

_encode = msgspec.msgpack.Encoder().encode
_asked = msgspec.msgpack.Decoder(Asked)
_told = msgspec.msgpack.Decoder(Told)


def framed(message: Asked | Told) -> bytes:
    """A message as it is sent."""
    body = _encode(message)
    return len(body).to_bytes(_HEADER, "big") + body


async def read_asked(reader: asyncio.StreamReader) -> Asked | None:
    """The next message of the loop; None when it has gone."""
    body = await _frame(reader)
    return None if body is None else _asked.decode(body)


async def read_told(reader: asyncio.StreamReader) -> Told | None:
    """The next message of the examiner; None when it has gone."""
    body = await _frame(reader)
    return None if body is None else _told.decode(body)


async def _frame(reader: asyncio.StreamReader) -> bytes | None:
    try:
        header = await reader.readexactly(_HEADER)
        return await reader.readexactly(int.from_bytes(header, "big"))
    except (asyncio.IncompleteReadError, OSError):
        return None
