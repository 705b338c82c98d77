"""The command line as a user has it: a process of its own, in a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import rich.console  # noqa: F401  # It keeps the environment of its import, which must not be a shell's.
from tests.cli.inside import Inside
from tests.cli.server import Server, serving
from tests.patience import PATIENCE

BRIEF = "Write about tides and boats"
FAST = ("-m", "echo/echo", "--rounds", "2", "--seed", "7")
NO_END = ("--set", "reviewers=0", "--set", "confirmation=0")
"""Nothing comes after the passes: any limit of calls lets such a run begin."""
VOTES = ("--set", "judges=3", "--set", "candidates=B+AB", "--set", "review_every=0")
"""A contest in every round."""


class Shell:
    """Runs `autoreason` where nothing of the developer's machine is seen."""

    def __init__(self, home: Path) -> None:
        self.home = home
        kept = ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT", "COVERAGE_PROCESS_START")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ} | {
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "PYTHONWARNINGS": "error::ResourceWarning",
        }

    @property
    def journal(self) -> Path:
        return self.home / "data" / "autoreason" / "journal.db"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "autoreason.cli", *arguments]

    def __call__(
        self, *arguments: str, stdin: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=self.environment | environment,
            cwd=self.home,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            text=True,
            encoding="utf-8",
            env=self.environment,
            cwd=self.home,
            **options,
        )


class QuickShell(Shell):
    """Runs it within the test's own process, where nothing about a process of its own is to be shown."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        super().__init__(home)
        self._inside = Inside(home, capture)

    def __call__(
        self, *arguments: str, stdin: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        if any(name.startswith("PYTHON") for name in environment):
            return super().__call__(*arguments, stdin=stdin, **environment)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.home)
            patch.setattr(os, "environ", self.environment | environment)
            patch.setattr(sys, "stdin", TextIOWrapper(BytesIO((stdin or "").encode()), "utf-8"))
            return subprocess.CompletedProcess(arguments, *self._inside(*arguments))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def quick_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """The same, quicker."""
    return QuickShell(tmp_path, capsys)


@pytest.fixture
def finished(quick_shell: Shell) -> Shell:
    """With one finished run."""
    assert quick_shell("run", BRIEF, *FAST, "-q").returncode == 0
    return quick_shell


@pytest.fixture
def paused(quick_shell: Shell) -> Shell:
    """With one run that reached its budget in its first pass."""
    assert quick_shell("run", BRIEF, *FAST, "-q", "--call-limit", "2", *NO_END).returncode == 3
    return quick_shell


@pytest.fixture
def server() -> Iterator[Server]:
    """A model server that answers once its gate is open."""
    with serving() as server:
        yield server


@pytest.fixture
def inside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Inside:
    """The command line within this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Inside(tmp_path, capsys)
