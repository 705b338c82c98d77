"""The interface of every sandbox: a program is opened once, then run many times, each time in a new process."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import time
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

_EXTRA_SECONDS = 1.0
_CHECK_SECONDS = 1.0
"""The longest time between two checks: a thread that ends in between is not counted."""
_MIN_CHECK_SECONDS = 0.02


def printable(text: str) -> str:
    """A text that can be encoded: a program may print characters that cannot."""
    return text.encode("utf-8", "backslashreplace").decode()


def max_idle_seconds(seconds: float) -> float:
    """How long a run with this limit on processor time may sleep or wait."""
    return 3 * seconds + _EXTRA_SECONDS


def load_per_core() -> float:
    """Processes that compute or wait per core, at least 1; 1 where that is not known."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except (AttributeError, OSError):
        return 1.0


def pid_of(pidfd: int) -> int | None:
    """The pid of a process handle; None where it cannot be read."""
    try:
        text = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
    except OSError:
        return None
    return next((int(line[4:]) for line in text.splitlines() if line.startswith("Pid:")), None)


class IdleTimer:
    """Measures how long none of the processes of one test computed or waited for a core."""

    def __init__(self) -> None:
        self._pids: list[int | None] = []
        self._busy: dict[str, float] = {}
        self._updated = time.monotonic()
        self._seconds = 0.0

    def add(self, pid: int | None, since: float = 0.0) -> None:
        """Add a process that started `since` seconds ago; None for one that cannot be inspected."""
        if not self._pids:
            self._updated, self._seconds = time.monotonic() - since, 0.0
        self._pids.append(pid)

    def update(self) -> float:
        elapsed = time.monotonic() - self._updated
        self._updated += elapsed
        busy = {task: took for pid in self._pids for task, took in _tasks(pid).items()}
        if busy:
            elapsed -= sum(took - self._busy.get(task, 0.0) for task, took in busy.items())
        else:
            # This system has no such numbers; only its load is known.
            elapsed /= load_per_core()
        self._busy |= busy
        self._seconds += max(0.0, elapsed)
        return self._seconds

    def next_check(self, max_idle: float) -> float:
        """Seconds until it could have been idle for that long, or until the next check is due."""
        return min(_CHECK_SECONDS, max(_MIN_CHECK_SECONDS, max_idle - self._seconds))


def _tasks(pid: int | None) -> dict[str, float]:
    """Seconds for which each thread of a process has run or waited for a core."""
    seconds = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir() if pid else ():
            ran, waited, _ = (task / "schedstat").read_text().split()
            seconds[str(task)] = (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):
        # The process or one of its threads has just ended.
        return seconds
    return seconds


Level = Literal["bubblewrap", "landlock", "seccomp", "none"]
"""The strength of a sandbox, best first; `none` is without a sandbox."""


SOURCE_LIMIT = 64 * 1024
"""Maximum size of a source in bytes; compiling megabytes takes seconds."""


class RunLimits(Struct, frozen=True, kw_only=True):
    """The limits of one run."""

    seconds: float = 10.0
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
    def level(self) -> Level: ...

    def open(
        self, source: str, limits: RunLimits, *, role: ProgramRole = "program"
    ) -> AbstractAsyncContextManager[Session]:
        """A program ready to run; one that cannot be compiled ends as it would anywhere, with a traceback."""
        ...

    async def close(self) -> None: ...


async def run_jointly(
    caller: Session, caller_stdin: bytes, callee: Session, callee_stdin: bytes = b""
) -> tuple[ProgramRun, ProgramRun]:
    """Run both until they end; each sees when the other has. The runs of caller and callee."""
    (caller_end, callee_end), idle = socket.socketpair(), IdleTimer()
    with caller_end, callee_end:
        async with asyncio.TaskGroup() as group:
            called = group.create_task(
                callee.run(callee_stdin, channel=callee_end.fileno(), idle=idle)
            )
            calling = group.create_task(
                caller.run(caller_stdin, channel=caller_end.fileno(), idle=idle)
            )
            called.add_done_callback(lambda _: _shut_down(callee_end))
            calling.add_done_callback(lambda _: _shut_down(caller_end))
    return calling.result(), called.result()


def _shut_down(end: socket.socket) -> None:
    """Let the other side see that this one has ended, although a copy of its socket is still open."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


_PAUSE = 0.005


async def wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process to end; kill it if it takes longer, or if the waiting is cancelled.

    Not with asyncio's own subprocesses: one whose loop is closed while it starts can never be waited for.
    """
    try:
        for _ in range(int(seconds / _PAUSE)):
            if process.poll() is not None:
                break
            await asyncio.sleep(_PAUSE)
    finally:
        process.kill()
        process.wait()
