"""How long a run has been idle: neither computing nor waiting for a core. Only that time is held against it."""

from __future__ import annotations

import os
import time
from pathlib import Path

_EXTRA = 1.0
_LOOK_SECONDS = 1.0
"""How often at least it is looked: of a thread that has ended since, nothing is known."""
_SOONEST = 0.02


def most_idle(seconds: float) -> float:
    """How long a run that may compute for so many seconds may sleep, or wait for what never comes."""
    return 3 * seconds + _EXTRA


def crowding() -> float:
    """How many wait for each core, this one included; 1 where that is not known."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except (AttributeError, OSError):
        return 1.0


def pid_of(pidfd: int) -> int | None:
    """The number by which we know the process of a handle."""
    try:
        about = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
    except OSError:
        return None
    return next((int(line[4:]) for line in about.splitlines() if line.startswith("Pid:")), None)


class Idle:
    """Time in which none of the processes that work on one test computed or waited for a core."""

    def __init__(self) -> None:
        self._pids: list[int | None] = []
        self._busy: dict[str, float] = {}
        self._looked = time.monotonic()
        self._seconds = 0.0

    def add(self, pid: int | None, since: float = 0.0) -> None:
        """One more process, which began `since` seconds ago; None for one that cannot be looked at."""
        if not self._pids:
            self._looked, self._seconds = time.monotonic() - since, 0.0
        self._pids.append(pid)

    def look(self) -> float:
        """Seconds so far."""
        passed = time.monotonic() - self._looked
        self._looked += passed
        busy = {task: took for pid in self._pids for task, took in _tasks(pid).items()}
        if busy:
            passed -= sum(took - self._busy.get(task, 0.0) for task, took in busy.items())
        else:
            # No such numbers on this system: what is known is how crowded it is.
            passed /= crowding()
        self._busy |= busy
        self._seconds += max(0.0, passed)
        return self._seconds

    def next_look(self, most: float) -> float:
        """Seconds until it could have been idle for that long, or until it should be looked again."""
        return min(_LOOK_SECONDS, max(_SOONEST, most - self._seconds))


def _tasks(pid: int | None) -> dict[str, float]:
    """Seconds for which each thread of a process has run or waited for a core."""
    found = {}
    try:
        for task in Path(f"/proc/{pid}/task").iterdir() if pid else ():
            ran, waited, _ = (task / "schedstat").read_text().split()
            found[str(task)] = (int(ran) + int(waited)) / 1e9
    except (OSError, ValueError):
        # It has just ended, or part of it has.
        return found
    return found
