"""How long tests wait for what must happen, and which processes are there."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 100.0
"""Seconds. Only ever reached where something is wrong, however busy the machine; less than a test may take in all."""


def until(true: Callable[[], object]) -> None:
    """Wait for what must happen."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def processes_with(mark: str) -> dict[int, str]:
    """Command lines of processes of this machine which contain a word, by their numbers."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if mark in text:
            found[int(path.parent.name)] = text
    return found
