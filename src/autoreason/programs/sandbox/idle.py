"""How long a run has been idle: neither computing nor waiting for a core. Only that time is limited."""

from __future__ import annotations

import os
import time
from pathlib import Path

_EXTRA_SECONDS = 1.0
_CHECK_SECONDS = 1.0
"""The longest time between two checks: a thread that ends in between is not counted."""
_MIN_CHECK_SECONDS = 0.02


def max_idle_seconds(seconds: float) -> float:
    """How long a run with this limit on processor time may sleep or wait."""
    return 3 * seconds + _EXTRA_SECONDS


def load_per_core() -> float:
    """Processes that compute or wait per core, at least 1; 1 where that is not known."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except (AttributeError, OSError):
        return 1.0


def pid_of(pidfd: int) -> int | None:
    """The pid of a process handle; None where it cannot be read."""
    try:
        text = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
    except OSError:
        return None
    return next((int(line[4:]) for line in text.splitlines() if line.startswith("Pid:")), None)


class IdleTimer:
    """Measures how long none of the processes of one test computed or waited for a core."""

    def __init__(self) -> None:
        self._pids: list[int | None] = []
        self._busy: dict[str, float] = {}
        self._updated = time.monotonic()
        self._seconds = 0.0

    def add(self, pid: int | None, since: float = 0.0) -> None:
        """Add a process that started `since` seconds ago; None for one that cannot be inspected."""
        if not self._pids:
            self._updated, self._seconds = time.monotonic() - since, 0.0
        self._pids.append(pid)

    def update(self) -> float:
        """Measure again, and return the idle seconds so far."""
        elapsed = time.monotonic() - self._updated
        self._updated += elapsed
        busy = {task: took for pid in self._pids for task, took in _tasks(pid).items()}
        if busy:
            elapsed -= sum(took - self._busy.get(task, 0.0) for task, took in busy.items())
        else:
            # This system has no such numbers; only its load is known.
            elapsed /= load_per_core()
        self._busy |= busy
        self._seconds += max(0.0, elapsed)
        return self._seconds

    def next_check(self, max_idle: float) -> float:
        """Seconds until it could have been idle for that long, or until the next check is due."""
        return min(_CHECK_SECONDS, max(_MIN_CHECK_SECONDS, max_idle - self._seconds))


def _tasks(pid: int | None) -> dict[str, float]:
    """Seconds for which each thread of a process has run or waited for a core."""
    seconds = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir() if pid else ():
            ran, waited, _ = (task / "schedstat").read_text().split()
            seconds[str(task)] = (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):
        # The process or one of its threads has just ended.
        return seconds
    return seconds
