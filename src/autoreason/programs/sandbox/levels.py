"""The strongest sandbox of this machine, found by running a program in it, and none at all for `--unsafe`."""

from __future__ import annotations

import asyncio
import math
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.programs.sandbox.base import (
    ROLES_WITH_SLOT,
    EndReason,
    IdleTimer,
    Level,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Sandbox,
    Session,
    max_idle_seconds,
)

if TYPE_CHECKING:
    from autoreason.programs.sandbox.linux import Isolation


_SOURCE_FOLDER = Path(__file__).parents[3]
_INTERPRETER = 64 << 20
_MAX_ERROR_BYTES = 64 << 10
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONINTMAXSTRDIGITS": "0", "PYTHONUTF8": "1"}
_FUNCTION = """
import sys
role, channel, source_folder = sys.argv[1:]
sys.path.append(source_folder)
from importlib import import_module
from autoreason.programs.sandbox.rpc import CHANNEL_RUNNERS
module, name = CHANNEL_RUNNERS[role]
run = getattr(import_module(f"autoreason.programs.sandbox.{module}"), name)
with open("solution.py", encoding="utf-8") as file:
    code = compile(file.read(), "solution.py", "exec", dont_inherit=True)
run(code, int(channel))
"""


class UnsafeSandbox:
    """Runs programs as plain processes, one per core."""

    level: Level = "none"

    def __init__(self, workers: int | None = None) -> None:
        self._slots = asyncio.Semaphore(workers or os.cpu_count() or 1)

    @asynccontextmanager
    async def open(
        self, source: str, limits: RunLimits, *, role: ProgramRole = "program"
    ) -> AsyncIterator[Session]:
        async with self._slots if role in ROLES_WITH_SLOT else nullcontext():
            folder = Path(tempfile.mkdtemp(prefix="autoreason-"))
            try:
                (folder / "solution.py").write_bytes(source.encode("utf-8", "replace"))
                yield UnsafeSession(folder, limits, role)
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    async def close(self) -> None:
        """Nothing outlives its run."""


class UnsafeSession:
    def __init__(self, folder: Path, limits: RunLimits, role: ProgramRole) -> None:
        self._folder, self._limits, self._role = folder, limits, role

    async def run(
        self, stdin: bytes, *, channel: int | None = None, idle: IdleTimer | None = None
    ) -> ProgramRun:
        with (
            tempfile.TemporaryFile() as stdin_file,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            stdin_file.write(stdin)
            stdin_file.seek(0)
            started = time.monotonic()
            try:
                process = self._start((stdin_file.fileno(), out.fileno(), err.fileno()), channel)
            except (OSError, subprocess.SubprocessError) as error:
                return ProgramRun(end_reason="broken", detail=f"cannot start Python: {error}")
            end = await self._wait(process, IdleTimer() if idle is None else idle)
            wall = time.monotonic() - started
            output_size, error_size = (os.fstat(each.fileno()).st_size for each in (out, err))
            err.seek(max(0, error_size - _MAX_ERROR_BYTES))
            out.seek(0)
            errors = err.read()
            return ProgramRun(
                end_reason=_end_reason(end, output_size, errors, self._limits),
                status=abs(end.status),
                seconds=end.seconds,
                wall=wall,
                memory=end.memory,
                stdout=out.read(self._limits.output),
                stderr=errors,
            )

    def _start(self, streams: tuple[int, int, int], channel: int | None) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._command(channel),
            stdin=streams[0],
            stdout=streams[1],
            stderr=streams[2],
            cwd=self._folder,
            env=_ENVIRONMENT,
            start_new_session=True,
            pass_fds=() if channel is None else (channel,),
            preexec_fn=partial(_limit, self._limits),
        )

    def _command(self, channel: int | None) -> list[str]:
        python = [getattr(sys, "_base_executable", sys.executable), "-P", "-s"]
        if self._role in ("program", "checker"):
            return [*python, "solution.py"]
        return [*python, "-c", _FUNCTION, self._role, str(channel), str(_SOURCE_FOLDER)]

    async def _wait(self, process: subprocess.Popen[bytes], idle: IdleTimer) -> ProcessEnd:
        max_idle, late = max_idle_seconds(self._limits.seconds), False
        waiting = asyncio.create_task(asyncio.to_thread(_wait_for, process))
        idle.add(process.pid)
        try:
            while not late and not waiting.done():
                await asyncio.wait([waiting], timeout=idle.next_check(max_idle))
                late = not waiting.done() and idle.update() >= max_idle
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            if not waiting.done():
                # Stopped or interrupted: the process was killed and ends soon.
                await asyncio.wait([waiting])
        return waiting.result()._replace(late=late)


class ProcessEnd(NamedTuple):
    """How a process ended and what it used."""

    status: int
    """Negative: a signal."""
    seconds: float
    memory: int
    late: bool = False


def _limit(limits: RunLimits) -> None:
    """Set the limits of the process; runs in it before Python starts."""
    whole = math.ceil(limits.seconds)
    for what, limit in (
        (resource.RLIMIT_CPU, (whole, whole + 1)),
        (resource.RLIMIT_AS, (limits.memory + _INTERPRETER,) * 2),
        (resource.RLIMIT_FSIZE, (limits.output,) * 2),
        (resource.RLIMIT_CORE, (0, 0)),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(what, limit)


def _wait_for(process: subprocess.Popen[bytes]) -> ProcessEnd:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return ProcessEnd(process.returncode, usage.ru_utime + usage.ru_stime, peak)


def _end_reason(end: ProcessEnd, output_size: int, errors: bytes, limits: RunLimits) -> EndReason:
    last = errors.rstrip().rpartition(b"\n")[2]
    reasons: tuple[tuple[bool, EndReason], ...] = (
        (end.seconds > limits.seconds or end.status == -signal.SIGXCPU, "cpu"),
        (end.late, "wall"),
        (output_size >= limits.output, "output"),
        (end.status != 0 and last.startswith(b"MemoryError"), "memory"),
        (end.status < 0, "signal"),
    )
    return next((reason for happened, reason in reasons if happened), "exit")


_MACHINES = ("x86_64", "aarch64")


class DetectedLevel(Struct, frozen=True):
    """The best level that works here, and why no better one does, each with its fix."""

    level: Level
    reasons: tuple[str, ...] = ()
    namespaces: bool = False


@cache
def find_level(only: Level | None = None, python: str | None = None) -> DetectedLevel:
    """The best level here, or whether `only` works; each is tried by running a program in it."""
    if sys.platform != "linux":
        reason = f"the sandbox needs Linux, and this is {sys.platform}"
        return DetectedLevel("none", (reason,))
    if platform.machine() not in _MACHINES:
        return DetectedLevel(
            "none", (f"the sandbox knows no system calls of {platform.machine()}",)
        )
    from autoreason.programs.sandbox.linux import Isolation

    reasons: dict[Level, str] = {}
    for isolation in (
        Isolation("bubblewrap", namespaces=True),
        Isolation("bubblewrap"),
        Isolation("landlock"),
        Isolation("seccomp"),
    ):
        if only is not None and isolation.level != only:
            continue
        reason = _find_problem(isolation, python)
        if not reason:
            return DetectedLevel(isolation.level, tuple(reasons.values()), isolation.namespaces)
        reasons[isolation.level] = reason
    return DetectedLevel("none", tuple(reasons.values()))


def require_level(only: Level | None = None, python: str | None = None) -> DetectedLevel:
    """The same; raises `InvalidInput` where nothing works."""
    detected = find_level(only, python)
    if detected.level == "none":
        raise InvalidInput(
            f"no sandbox works on this machine ({detected.reasons[-1]}), so programs written by a model are not run: "
            "use Linux (on Windows through WSL), or set `unsafe` to run them like any other program"
        )
    return detected


def open_sandbox(
    *,
    unsafe: bool = False,
    workers: int | None = None,
    level: Level | None = None,
    python: str | None = None,
) -> Sandbox:
    """Open the best sandbox of this machine; without any, only `unsafe` runs programs."""
    if unsafe:
        return UnsafeSandbox(workers)
    detected = require_level(level, python)
    from autoreason.programs.sandbox.linux import Isolation, LinuxSandbox

    return LinuxSandbox(
        Isolation(detected.level, detected.namespaces), workers=workers, python=python
    )


def _find_problem(isolation: Isolation, python: str | None) -> str:
    """Why a level does not work here; empty where it does."""
    from autoreason.programs.sandbox.linux import LinuxSandbox

    if isolation.level == "bubblewrap" and shutil.which("bwrap") is None:
        return "bubblewrap is not installed: apt-get install bubblewrap"

    async def run() -> ProgramRun:
        sandbox = LinuxSandbox(isolation, workers=1, python=python)
        try:
            async with sandbox.open(
                "print(1)", RunLimits(seconds=5.0, memory=256 << 20)
            ) as session:
                return await session.run(b"")
        finally:
            await sandbox.close()

    # In another thread: this one may have a loop that is running.
    with ThreadPoolExecutor(1) as pool:
        ran = pool.submit(lambda: asyncio.run(run())).result()
    if ran.end_reason == "exit" and ran.status == 0:
        return ""
    problem = ran.detail or f"a first program ended by {ran.end_reason}, {ran.status}"
    return f"{_PROBLEMS[isolation]} ({problem})"


_PROBLEMS: dict[tuple[Level, bool], str] = {
    ("bubblewrap", True): "bubblewrap cannot give each test its own process namespace here",
    ("bubblewrap", False): "bubblewrap needs user namespaces, which this host refuses",
    ("landlock", False): "Landlock does not work here, which needs Linux 5.13 or newer",
    ("seccomp", False): "system calls cannot be filtered here",
}
