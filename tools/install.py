"""Install what a lock file lists and show how far it is: `python tools/install.py requirements/dev.lock`.

On a terminal one line is redrawn, package by package; in a log nothing is printed unless it fails.
Needs nothing but pip, for nothing else is there yet.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile

_LOCKED = re.compile(r"^[\w.-]+==", re.MULTILINE)
_FETCHED = re.compile(r"(?:Collecting|Requirement already satisfied:|Ignoring) ([\w.-]+)")
# A lock lists everything, so nothing is left to resolve; older pips would look past its pins for `coverage[toml]`.
_PIP = ("-m", "pip", "install", "--require-hashes", "--no-deps", "--no-input")


def steps(output: Iterable[str], total: int) -> Iterator[str]:
    """What pip does, in a few words, read from its output."""
    fetched = 0
    for line in output:
        if match := _FETCHED.match(line):
            fetched += 1
            yield f"fetching {match[1]} ({fetched} of {max(fetched, total)})"
        elif line.startswith("Installing collected packages"):
            yield f"unpacking {max(fetched, total)} packages"


def install(lock: Path) -> int:
    """Run pip to its end; returns its exit status."""
    total = len(_LOCKED.findall(lock.read_text("utf-8")))
    quiet = ("--progress-bar", "off", "--disable-pip-version-check")
    command = [sys.executable, *_PIP, *quiet, "-r", str(lock)]
    with TemporaryFile("w+") as warnings:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=warnings, text=True) as pip:
            assert pip.stdout is not None
            for step in steps(pip.stdout, total):
                _redraw(f"  {step}")
        _redraw("")
        if pip.returncode:
            warnings.seek(0)
            sys.stderr.write(warnings.read())
    return pip.returncode


def _redraw(line: str) -> None:
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{line[:width]}", end="", flush=True)


if __name__ == "__main__":
    sys.exit(install(Path(sys.argv[1])))
