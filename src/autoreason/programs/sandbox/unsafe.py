"""No sandbox at all: a plain process with limits, an empty environment and a folder of its own. Only by `--unsafe`."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from autoreason.programs.sandbox.base import Ended, Level, Limits, Part, Ran, Session
from autoreason.programs.sandbox.idle import Idle, most_idle

_OURS = Path(__file__).parents[3]
_INTERPRETER = 64 << 20
"""Address space that Python itself takes."""
_TAIL = 64 << 10
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONINTMAXSTRDIGITS": "0", "PYTHONUTF8": "1"}
_FUNCTION = """
import sys
part, channel, ours = sys.argv[1:]
sys.path.append(ours)
from autoreason.programs.sandbox import rpc_server, test_driver
with open("solution.py", encoding="utf-8") as file:
    code = compile(file.read(), "solution.py", "exec", dont_inherit=True)
(rpc_server.serve if part == "candidate" else test_driver.drive)(code, int(channel))
"""


class UnsafeSandbox:
    """Runs programs as any program runs, one a core."""

    level: Level = "none"

    def __init__(self, workers: int | None = None) -> None:
        self._slots = asyncio.Semaphore(workers or os.cpu_count() or 1)

    @asynccontextmanager
    async def open(
        self, source: str, limits: Limits, *, part: Part = "program"
    ) -> AsyncIterator[Session]:
        """A program in a folder of its own; what belongs to the tests needs no slot."""
        free = part in ("tests", "checker")
        if not free:
            await self._slots.acquire()
        folder = Path(tempfile.mkdtemp(prefix="autoreason-"))
        try:
            body = source.encode("utf-8", "replace")
            (folder / "solution.py").write_bytes(body)
            yield UnsafeSession(folder, limits, part)
        finally:
            if not free:
                self._slots.release()
            shutil.rmtree(folder, ignore_errors=True)

    async def close(self) -> None:
        """Nothing outlives its run."""


class UnsafeSession:
    """One program in its folder."""

    def __init__(self, folder: Path, limits: Limits, part: Part) -> None:
        self._folder, self._limits, self._part = folder, limits, part

    async def run(
        self, stdin: bytes, *, channel: int | None = None, idle: Idle | None = None
    ) -> Ran:
        """Run it in a process of its own and read what it wrote."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            begun = time.monotonic()
            try:
                process = self._start((given.fileno(), out.fileno(), err.fileno()), channel)
            except (OSError, subprocess.SubprocessError) as error:
                return Ran(ended="broken", detail=f"cannot start Python: {error}")
            over = await self._wait(process, Idle() if idle is None else idle)
            wall = time.monotonic() - begun
            errors = _read(err.fileno(), _TAIL, from_the_end=True)
            wrote = os.fstat(out.fileno()).st_size
            return Ran(
                ended=_ended(over, wrote, errors, self._limits),
                status=abs(over.status),
                seconds=over.seconds,
                wall=wall,
                memory=over.memory,
                stdout=_read(out.fileno(), self._limits.output),
                stderr=errors,
            )

    def _start(self, streams: tuple[int, int, int], channel: int | None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command(channel),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            cwd=self._folder,
            env=_environment(),
            start_new_session=True,
            pass_fds=() if channel is None else (channel,),
            preexec_fn=partial(_limit, self._limits) if os.name == "posix" else None,
        )

    def _command(self, channel: int | None) -> list[str]:
        python = [getattr(sys, "_base_executable", sys.executable), "-P", "-s"]
        if self._part in ("program", "checker"):
            return [*python, "solution.py"]
        return [*python, "-c", _FUNCTION, self._part, str(channel), str(_OURS)]

    async def _wait(self, process: subprocess.Popen[bytes], idle: Idle) -> Over:
        """Let it run to its end, or until it has been idle for too long."""
        most, late = most_idle(self._limits.seconds), False
        waiting = asyncio.create_task(asyncio.to_thread(_wait_for, process))
        idle.add(process.pid)
        try:
            while not late and not waiting.done():
                await asyncio.wait([waiting], timeout=idle.next_look(most))
                late = not waiting.done() and idle.look() >= most
        finally:
            _kill(process)
            if not waiting.done():
                # Stopped, or interrupted; the process is dead, and its end is near.
                await asyncio.wait([waiting])
        return waiting.result()._replace(late=late)


class Over(NamedTuple):
    """How a process ended and what it took."""

    status: int
    """Negative: a signal."""
    seconds: float
    memory: int
    late: bool = False


def _environment() -> dict[str, str]:
    kept = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if "SYSTEMROOT" in os.environ else {}
    return _ENVIRONMENT | kept


def _limit(limits: Limits) -> None:
    """What the process may take; runs in it before Python starts."""
    import resource

    whole = math.ceil(limits.seconds)
    for what, most in (
        (resource.RLIMIT_CPU, (whole, whole + 1)),
        (resource.RLIMIT_AS, (limits.memory + _INTERPRETER,) * 2),
        (resource.RLIMIT_FSIZE, (limits.output,) * 2),
        (resource.RLIMIT_CORE, (0, 0)),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, most)


def _wait_for(process: subprocess.Popen[bytes]) -> Over:
    if os.name != "posix":
        begun = time.monotonic()
        return Over(process.wait(), time.monotonic() - begun, 0)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Over(process.returncode, usage.ru_utime + usage.ru_stime, peak)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End it and whatever it started."""
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _ended(over: Over, wrote: int, errors: bytes, limits: Limits) -> Ended:
    last = errors.rstrip().rpartition(b"\n")[2]
    reasons: tuple[tuple[bool, Ended], ...] = (
        (over.seconds > limits.seconds or over.status == -getattr(signal, "SIGXCPU", 0), "cpu"),
        (over.late, "wall"),
        (wrote >= limits.output, "output"),
        (over.status != 0 and last.startswith(b"MemoryError"), "memory"),
        (over.status < 0, "signal"),
    )
    return next((ended for happened, ended in reasons if happened), "exit")


def _read(file: int, most: int, *, from_the_end: bool = False) -> bytes:
    size = os.fstat(file).st_size
    os.lseek(file, max(0, size - most) if from_the_end else 0, os.SEEK_SET)
    parts = []
    while most > 0 and (part := os.read(file, min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)
