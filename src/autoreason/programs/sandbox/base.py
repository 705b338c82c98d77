"""The interface of every sandbox: a program is opened once, then run many times, each time in a new process."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from msgspec import Struct

from autoreason.programs.sandbox.idle import IdleTimer

Level = Literal["bubblewrap", "landlock", "seccomp", "none"]
"""The strength of a sandbox, best first; `none` is no sandbox at all."""


SOURCE_LIMIT = 64 * 1024
"""Maximum size of a source in bytes; compiling megabytes takes seconds."""


class RunLimits(Struct, frozen=True, kw_only=True):
    """The limits of one run."""

    seconds: float = 10.0
    """Processor time; by the clock it may be idle for three times as long, and a second."""
    memory: int = 512 << 20
    """Bytes of address space beyond what a bare interpreter takes."""
    output: int = 16 << 20
    """Bytes written to standard output; of standard error only the end is kept."""


EndReason = Literal["exit", "signal", "cpu", "wall", "memory", "output", "broken"]
"""Why a run ended; `broken` is a failure of the sandbox and says nothing about the program."""


class ProgramRun(Struct, frozen=True, kw_only=True):
    """One run of one program."""

    end_reason: EndReason
    status: int = 0
    """Exit status, or the signal's number."""
    seconds: float = 0.0
    """Processor time."""
    wall: float = 0.0
    memory: int | None = None
    """Peak, in bytes, where it could be measured."""
    stdout: bytes = b""
    stderr: bytes = b""
    """Only its end: the last lines of a traceback."""
    detail: str = ""


class Session(Protocol):
    """One program, compiled once."""

    async def run(
        self, stdin: bytes, *, channel: int | None = None, idle: IdleTimer | None = None
    ) -> ProgramRun:
        """Run it in a fresh process; `channel` is a connected socket it finds as descriptor 3.

        Runs that work on one test together share `idle`: while one computes, the other may wait for it.
        """
        ...


ProgramRole = Literal["program", "candidate", "tests", "checker", "artifact", "evaluator"]
"""A whole program; for functions, the program called and the tests that call it; a problem's own checker; for
research, an artifact's modules and the evaluator that calls them."""
ROLES_WITH_SLOT: tuple[ProgramRole, ...] = ("program", "candidate")
"""Tests and checkers belong to a program that has a slot, and never wait for one; artifacts have their own limit."""


class Sandbox(Protocol):
    """Runs programs. There is one slot per core: opening a program or a candidate waits for a free one."""

    @property
    def level(self) -> Level:
        """The strength of this sandbox."""
        ...

    def open(
        self, source: str, limits: RunLimits, *, role: ProgramRole = "program"
    ) -> AbstractAsyncContextManager[Session]:
        """A program ready to run; one that cannot be compiled ends as it would anywhere, with a traceback."""
        ...

    async def close(self) -> None:
        """End every process it started."""
        ...
