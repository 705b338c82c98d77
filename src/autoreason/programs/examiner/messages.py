"""Messages between the loop and the examiner's process, framed by their length."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct

from autoreason.programs.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.programs.problems.sets import BrokenRecord

_HEADER = 4


class OpenRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Asks to open a set of problems, and how to examine it."""

    source: str = ""
    """A file to read; or"""
    digest: str = ""
    """the digest under which an earlier examiner saved the set."""
    only: tuple[str, ...] = ()
    """Ids of the problems wanted; all if empty."""
    seconds: float | None = None
    """The time limit of every problem, instead of its own."""
    memory_mb: int | None = None
    """The memory limit of every problem, instead of its own."""
    unsafe: bool = False
    workers: int | None = None


class OpenReply(Struct, frozen=True, kw_only=True, tag=True):
    """The set without its private tests, and the sandbox in use."""

    digest: str
    format: str
    assignments: tuple[Assignment, ...]
    broken: tuple[BrokenRecord, ...]
    level: str
    reasons: tuple[str, ...]
    """Why no better sandbox works here."""


class ExamineRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Asks for one examination."""

    number: int
    examination: Examination


class ExamineReply(Struct, frozen=True, kw_only=True, tag=True):
    """The result of an examination."""

    number: int
    result: Examined


class ObserveRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Asks to run a program on inputs without known answers."""

    number: int
    probe: Probe


class ObserveReply(Struct, frozen=True, kw_only=True, tag=True):
    """What the program did on each input."""

    number: int
    result: Observed


class ErrorReply(Struct, frozen=True, kw_only=True, tag=True):
    """Why there is no result, in one sentence."""

    number: int | None = None
    """Number of the request; None where the set could not be opened."""
    message: str
    user_error: bool = True
    """Whether the user can fix it; otherwise the examiner itself failed."""


ClientMessage = OpenRequest | ExamineRequest | ObserveRequest
ExaminerMessage = OpenReply | ExamineReply | ObserveReply | ErrorReply

_encode = msgspec.msgpack.Encoder().encode
_client_decoder = msgspec.msgpack.Decoder(ClientMessage)
_examiner_decoder = msgspec.msgpack.Decoder(ExaminerMessage)


def encode_frame(message: ClientMessage | ExaminerMessage) -> bytes:
    """A message as it is sent."""
    body = _encode(message)
    return len(body).to_bytes(_HEADER, "big") + body


async def read_client_message(reader: asyncio.StreamReader) -> ClientMessage | None:
    """The next message of the loop; None when it has disconnected."""
    body = await _read_frame(reader)
    return None if body is None else _client_decoder.decode(body)


async def read_examiner_message(reader: asyncio.StreamReader) -> ExaminerMessage | None:
    """The next message of the examiner; None when it has disconnected."""
    body = await _read_frame(reader)
    return None if body is None else _examiner_decoder.decode(body)


async def _read_frame(reader: asyncio.StreamReader) -> bytes | None:
    try:
        header = await reader.readexactly(_HEADER)
        return await reader.readexactly(int.from_bytes(header, "big"))
    except (asyncio.IncompleteReadError, OSError):
        return None
