"""Real programs of others, only ever started where nothing but the loopback can be reached."""

from __future__ import annotations

import json
import os
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
_LOOPBACK = ("unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"')
_QUIET = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING")


def output_alone(program: str, home: Path, *command: str) -> str:
    """What a command prints, `SCRIPT` in it being that of a program; skips the test where that cannot be alone."""
    script = AGENTS / "node_modules" / _SCRIPTS[program.removesuffix("-workflow")]
    if not script.is_file():
        pytest.skip("the program is not here; `make machine ALL=1` fetches it")
    if subprocess.run([*_LOOPBACK, "sh", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    here = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    ran = subprocess.run(
        [*_LOOPBACK, "sh", *(str(script) if each == "SCRIPT" else each for each in command)],
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
