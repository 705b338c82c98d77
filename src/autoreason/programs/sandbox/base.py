"""What every sandbox offers: a program opened once, then run again and again, each time in a process of its own."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from msgspec import Struct

from autoreason.programs.sandbox.idle import Idle

Level = Literal["bubblewrap", "landlock", "seccomp", "none"]
"""How well it holds, best first; `none` is no sandbox at all."""


SOURCE_LIMIT = 64 * 1024
"""Bytes of source; compiling megabytes takes seconds."""


class Limits(Struct, frozen=True, kw_only=True):
    """What one run may take."""

    seconds: float = 10.0
    """Processor time; by the clock it may be idle for three times as long, and a second."""
    memory: int = 512 << 20
    """Bytes of address space beyond what a bare interpreter takes."""
    output: int = 16 << 20
    """Bytes written to standard output; of standard error only the end is kept."""


Ended = Literal["exit", "signal", "cpu", "wall", "memory", "output", "broken"]
"""Why a run was over; `broken` is the sandbox's own failure and says nothing of the program."""


class Ran(Struct, frozen=True, kw_only=True):
    """One run of one program."""

    ended: Ended
    status: int = 0
    """Exit status, or the signal's number."""
    seconds: float = 0.0
    """Processor time."""
    wall: float = 0.0
    memory: int | None = None
    """Peak, in bytes, where it could be measured."""
    stdout: bytes = b""
    stderr: bytes = b""
    """Its end: a traceback's last lines."""
    detail: str = ""


class Session(Protocol):
    """One program, compiled once."""

    async def run(
        self, stdin: bytes, *, channel: int | None = None, idle: Idle | None = None
    ) -> Ran:
        """Run it in a fresh process; `channel` is a connected socket it finds as descriptor 3.

        Runs that work on one test together share `idle`: while one computes, the other may wait for it.
        """
        ...


Part = Literal["program", "candidate", "tests", "checker"]
"""A whole program; for functions, the one called and the one that calls; a problem's own program, that checks."""


class Sandbox(Protocol):
    """A place to run programs. One slot a core: opening a program or a candidate waits for a free one.

    Tests and checkers belong to a program that has its slot, and never wait.
    """

    @property
    def level(self) -> Level:
        """How well it holds."""
        ...

    def open(
        self, source: str, limits: Limits, *, part: Part = "program"
    ) -> AbstractAsyncContextManager[Session]:
        """A program ready to run; what cannot be compiled runs and ends as it would anywhere, with a traceback."""
        ...

    async def close(self) -> None:
        """End every process it started."""
        ...
