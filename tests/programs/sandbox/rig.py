"""A sandbox and a loop of its own, so that one start serves many statements; and a machine that is busy."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from autoreason.programs.sandbox.base import Level, ProgramRole, ProgramRun, RunLimits
from autoreason.programs.sandbox.levels import find_level, open_sandbox
from autoreason.programs.sandbox.linux import LinuxSandbox

LEVELS: tuple[Level, ...] = ("bubblewrap", "landlock", "seccomp")

QUICK = RunLimits(seconds=5.0)


class Rig:
    def __init__(self, runner: asyncio.Runner, sandbox: LinuxSandbox) -> None:
        self.runner, self.sandbox = runner, sandbox

    def run(
        self,
        source: str,
        stdin: bytes = b"",
        limits: RunLimits = QUICK,
        role: ProgramRole = "program",
    ) -> ProgramRun:
        return self.runs(source, [stdin], limits, role)[0]

    def runs(
        self,
        source: str,
        inputs: list[bytes],
        limits: RunLimits = QUICK,
        role: ProgramRole = "program",
    ) -> list[ProgramRun]:

        async def all_of_them() -> list[ProgramRun]:
            async with self.sandbox.open(source, limits, role=role) as session:
                return [await session.run(each) for each in inputs]

        return self.runner.run(all_of_them())


def need_level(level: Level) -> None:
    if sys.platform != "linux":
        pytest.skip("needs Linux")
    found = find_level(level)
    if found.level != level:
        pytest.skip(f"no {level} here: {'; '.join(found.reasons)}")


@contextmanager
def rigged(level: Level, *, workers: int = 1, python: str | None = None) -> Iterator[Rig]:
    need_level(level)
    with asyncio.Runner() as runner:
        sandbox = cast(LinuxSandbox, open_sandbox(level=level, workers=workers, python=python))
        try:
            yield Rig(runner, sandbox)
        finally:
            runner.run(sandbox.close())


def public_python() -> str:
    """An interpreter that every user of this machine may run; skips where there is none."""
    for name in ("/usr/bin/python3", "/usr/local/bin/python3"):
        path = Path(name).resolve()
        if path.exists() and all(each.stat().st_mode & 0o001 for each in (path, *path.parents)):
            return str(path)
    pytest.skip("needs a Python that every user may run, such as /usr/bin/python3")


MANY = 10
"""Busy loops a core: a program beside them has an eleventh of it."""


@contextmanager
def busy_cores(loops: int = MANY) -> Iterator[None]:
    command = ["/bin/sh", "-c", "while :; do :; done"]
    started = [subprocess.Popen(command) for _ in range(loops * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()
