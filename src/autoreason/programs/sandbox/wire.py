"""Messages between the client, the fork server and the solution processes. Standard library only."""

from __future__ import annotations

import struct
from typing import NamedTuple

ROLES = ("program", "candidate", "tests", "checker", "artifact", "evaluator")
END_REASONS = ("exit", "signal", "cpu", "wall", "memory", "output", "broken", "died", "running")
"""How a run ended, by number; `died` is the end of the solution process itself, reported by the fork server.

`running` is no end: it reports a run that takes longer than most, with a handle of its process.
"""
RUN, STOP = b"run", b"stop"
"""Requests to a solution process."""

MAX_MESSAGE_BYTES = 128 * 1024
"""Size of a message; what can be large is not sent but passed in memory files."""

_SPEC = struct.Struct("<BdQQ")
_REPORT = struct.Struct("<BiddQ")


class ProgramSpec(NamedTuple):
    """A program and the limits of each of its runs."""

    role: str
    seconds: float
    memory: int
    output: int
    source: str

    def pack(self) -> bytes:
        """As a message."""
        head = _SPEC.pack(ROLES.index(self.role), self.seconds, self.memory, self.output)
        return head + self.source.encode("utf-8", "surrogatepass")

    @classmethod
    def unpack(cls, message: bytes) -> ProgramSpec:
        """From a message."""
        role, seconds, memory, output = _SPEC.unpack_from(message)
        source = message[_SPEC.size :].decode("utf-8", "surrogatepass")
        return cls(ROLES[role], seconds, memory, output, source)


class RunReport(NamedTuple):
    """How a run ended and what it used; its output is in the memory files that came with the request."""

    end_reason: str
    status: int
    seconds: float = 0.0
    wall: float = 0.0
    memory: int = 0

    def pack(self) -> bytes:
        """As a message."""
        return _REPORT.pack(END_REASONS.index(self.end_reason), *self[1:])

    @classmethod
    def unpack(cls, message: bytes) -> RunReport:
        """From a message."""
        end_reason, *rest = _REPORT.unpack(message)
        return cls(END_REASONS[end_reason], *rest)
