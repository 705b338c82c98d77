"""Messages between the loop and the examiner's process."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from autoreason.programs.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.programs.examiner.service import ErrorReply
from autoreason.programs.problems.problem import BrokenRecord


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
    assignments: tuple[Assignment, ...]
    broken: tuple[BrokenRecord, ...]
    level: str


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


client_decoder = msgspec.msgpack.Decoder(OpenRequest | ExamineRequest | ObserveRequest)
examiner_decoder = msgspec.msgpack.Decoder(OpenReply | ExamineReply | ObserveReply | ErrorReply)
