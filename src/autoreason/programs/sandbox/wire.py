"""What passes between the client, the fork server and the solution processes. Standard library only."""

from __future__ import annotations

import struct
from typing import NamedTuple

PARTS = ("program", "candidate", "tests", "checker")
ENDINGS = ("exit", "signal", "cpu", "wall", "memory", "output", "broken", "died", "running")
"""How a run ended, by number; `died` is the solution process itself, told by the fork server.

`running` is no end: a run that takes longer than most, with a handle of its process.
"""
RUN, STOP = b"run", b"stop"
"""What a solution process is asked for."""

LARGEST = 128 * 1024
"""Bytes of a message; nothing that can be large is sent: it lies in memory files."""

_OPENING = struct.Struct("<BdQQ")
_REPLY = struct.Struct("<BiddQ")


class Opening(NamedTuple):
    """A program and what each of its runs may take."""

    part: str
    seconds: float
    memory: int
    output: int
    source: str

    def pack(self) -> bytes:
        """As a message."""
        head = _OPENING.pack(PARTS.index(self.part), self.seconds, self.memory, self.output)
        return head + self.source.encode("utf-8", "surrogatepass")

    @classmethod
    def unpack(cls, message: bytes) -> Opening:
        """From a message."""
        part, seconds, memory, output = _OPENING.unpack_from(message)
        source = message[_OPENING.size :].decode("utf-8", "surrogatepass")
        return cls(PARTS[part], seconds, memory, output, source)


class Reply(NamedTuple):
    """How a run ended and what it took; what it wrote lies in the memory files that came with the request."""

    ended: str
    status: int
    seconds: float = 0.0
    wall: float = 0.0
    memory: int = 0

    def pack(self) -> bytes:
        """As a message."""
        return _REPLY.pack(ENDINGS.index(self.ended), *self[1:])

    @classmethod
    def unpack(cls, message: bytes) -> Reply:
        """From a message."""
        ended, *rest = _REPLY.unpack(message)
        return cls(ENDINGS[ended], *rest)
