"""What the tests want on this machine beside Python: `python tools/machine.py` installs it, `--leave` only names it.

Without it some tests are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_WANTED = {
    "chromium": (BROWSERS, "pages are tested in a browser"),
    "bubblewrap": (("bwrap",), "programs are jailed in it"),
}
"""Debian's packages, the commands of which one will do, and what for."""


def missing() -> list[str]:
    """The packages that are not here."""
    return [
        package
        for package, (commands, _) in _WANTED.items()
        if not any(map(shutil.which, commands))
    ]


def prepare(*, leave: bool) -> None:
    """Install what is missing where that can be done, after saying so; else say what is skipped."""
    packages = missing()
    if not packages:
        return
    reasons = ", ".join(f"{package} ({_WANTED[package][1]})" for package in packages)
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
    """Why it came to nothing, below what apt-get said; empty where it did not."""
    command = ["apt-get", "install", "-qq", "-y", *packages]
    if _said(command) is None:
        return ""
    # A fresh machine has no lists of packages yet.
    said = _said(["apt-get", "update", "-qq"]) or _said(command)
    if said is None:
        return ""
    print(said, file=sys.stderr, flush=True)
    return "apt-get failed"


def _said(command: list[str]) -> str | None:
    """What a command that failed said; None if it did not fail."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return done.stdout.strip() or "it did not say why" if done.returncode else None


if __name__ == "__main__":
    prepare(leave="--leave" in sys.argv[1:])
