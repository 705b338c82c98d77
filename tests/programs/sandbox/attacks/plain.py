"""No sandbox at all: what the attacks are shown to work against."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from autoreason.programs.sandbox.base import Level, ProgramRole, ProgramRun, RunLimits

_PATIENCE = 4.0


class PlainSession:
    """A program in a file."""

    def __init__(self, python: str, file: Path) -> None:
        self._command = [python, str(file)]

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:
        """Run it the way a first script would."""
        return await asyncio.to_thread(self._run, stdin)

    def _run(self, stdin: bytes) -> ProgramRun:
        began = time.monotonic()
        try:
            done = subprocess.run(
                self._command, input=stdin, capture_output=True, timeout=_PATIENCE
            )
        except subprocess.TimeoutExpired:
            return ProgramRun(end_reason="wall", wall=time.monotonic() - began)
        return ProgramRun(
            end_reason="exit" if done.returncode >= 0 else "signal",
            status=abs(done.returncode),
            wall=time.monotonic() - began,
            stdout=done.stdout,
            stderr=done.stderr,
        )


class PlainSandbox:
    """`subprocess.run`, which holds nothing."""

    def __init__(self, python: str) -> None:
        self.python = python

    @property
    def level(self) -> Level:
        """None."""
        return "none"

    @asynccontextmanager
    async def open(
        self, source: str, _limits: RunLimits, *, role: ProgramRole = "program"
    ) -> AsyncIterator[PlainSession]:
        """A program ready to run."""
        assert role == "program"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "solution.py"
            file.write_text(source, encoding="utf-8")
            yield PlainSession(self.python, file)

    async def close(self) -> None:
        """Nothing was kept."""
