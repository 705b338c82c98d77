"""What the tests need on this machine besides Python: `python tools/machine.py` installs it, `--leave` only names it.

Without it some tests are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_PACKAGES = {
    "chromium": (BROWSERS, "pages are tested in a browser"),
    "bubblewrap": (("bwrap",), "programs are jailed in it"),
    "postgresql": (("pg_ctlcluster", "initdb"), "journals are tested on a server"),
}
"""Debian's packages, the commands of which one will do, and what for."""


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
