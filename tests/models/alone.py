"""Real programs of others, only ever started where nothing but the loopback can be reached."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools.machine import AGENTS

ROOT = Path(__file__).parents[2]
_SCRIPTS = {
    "claude-code": "@anthropic-ai/claude-code/cli-wrapper.cjs",
    "codex": "@openai/codex/bin/codex.js",
    "gemini-cli": "@google/gemini-cli/bundle/gemini.js",
}
_UP = 'ip link set lo up && exec "$@"'
_LOOPBACK = ("unshare", "--net", "--map-root-user", "sh", "-c", _UP, "sh")
_QUIET = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING")


def loopback() -> tuple[str, ...]:
    """What a program of others is started with, so that it reaches the loopback alone; skips where that cannot be."""
    here = shutil.which("unshare")
    if (
        not here
        or subprocess.run([*_LOOPBACK, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no network namespace can be made here")
    return _LOOPBACK


def output_alone(program: str, home: Path, *command: str) -> str:
    """What a command prints, `SCRIPT` in it being that of a program; skips the test where that cannot be alone."""
    script = AGENTS / "node_modules" / _SCRIPTS[program.removesuffix("-workflow")]
    if not script.is_file():
        pytest.skip("the program is not here; `make machine ALL=1` fetches it")
    here = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    ran = subprocess.run(
        [*loopback(), *(str(script) if each == "SCRIPT" else each for each in command)],
        cwd=ROOT,
        env=here | dict.fromkeys(_QUIET, "1") | {"HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def alone(module: str, program: str, folder: Path) -> Any:
    """What a module of these tests finds out about a program."""
    command = (sys.executable, "-m", module, program, "SCRIPT", str(folder))
    return json.loads(output_alone(program, folder, *command))
