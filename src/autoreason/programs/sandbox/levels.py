"""The strongest sandbox of this machine, found by running a program in it."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.programs.sandbox.base import Level, ProgramRun, RunLimits, Sandbox

if TYPE_CHECKING:
    from autoreason.programs.sandbox.linux import Isolation

_MACHINES = ("x86_64", "aarch64")


class DetectedLevel(Struct, frozen=True):
    """The best level that works here, and why no better one does, each with its fix."""

    level: Level
    reasons: tuple[str, ...] = ()
    namespaces: bool = False
    """Whether each test has its own process namespace."""


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
        problem = _find_problem(isolation, python)
        if not problem:
            return DetectedLevel(isolation.level, tuple(reasons.values()), isolation.namespaces)
        reasons[isolation.level] = _reason(isolation, problem)
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
        from autoreason.programs.sandbox.unsafe import UnsafeSandbox

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
        return "not installed"

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
    return ran.detail or f"a first program ended by {ran.end_reason}, {ran.status}"


def _reason(isolation: Isolation, problem: str) -> str:
    match isolation:
        case ("bubblewrap", _) if problem == "not installed":
            return "bubblewrap is not installed: apt-get install bubblewrap"
        case ("bubblewrap", True):
            return f"bubblewrap cannot give each test its own process namespace here ({problem})"
        case ("bubblewrap", False):
            return f"bubblewrap needs user namespaces, which this host refuses ({problem})"
        case ("landlock", _):
            return f"Landlock does not work here, which needs Linux 5.13 or newer ({problem})"
    return f"system calls cannot be filtered here ({problem})"
