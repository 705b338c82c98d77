"""What the kernel says of the processes below this one."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from types import TracebackType

from msgspec import Struct

_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGESIZE")
_PROC = Path("/proc")


def adopt_orphans() -> None:
    """Whatever is left below this process becomes its child, so that nothing can slip away."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process(Struct, frozen=True):
    """One line of the table."""

    pid: int
    parent: int
    state: str
    threads: int
    memory: int
    """Resident, in bytes."""


def processes() -> list[Process]:
    """Everything that runs here."""
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / "stat").read_text(errors="replace")
            except OSError:
                continue
            role = text.rpartition(")")[2].split()
            memory = int(role[21]) * _PAGE
            found.append(Process(int(folder.name), int(role[1]), role[0], int(role[17]), memory))
    return found


def below(root: int | None = None) -> list[Process]:
    """Its children, theirs, and so on; none that is only waiting to be noticed dead."""
    children: dict[int, list[Process]] = {}
    for process in processes():
        children.setdefault(process.parent, []).append(process)
    found, todo = [], [root or os.getpid()]
    while todo:
        mine = children.get(todo.pop(), [])
        found += [process for process in mine if process.state not in "ZX"]
        todo += [process.pid for process in mine]
    return found


def status_of(pid: int) -> dict[str, str]:
    """What the kernel tells of a process to everybody; nothing of one that is gone."""
    try:
        lines = (_PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    parts = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in parts}


def bearing(token: str) -> tuple[str, ...]:
    """Processes below this one with the token in their name or command line."""
    found = []
    for process in below():
        folder = _PROC / str(process.pid)
        try:
            told = (folder / "comm").read_text() + (folder / "cmdline").read_text(errors="replace")
        except OSError:
            continue
        if token in told:
            found.append(f"process {process.pid}")
    return tuple(found)


_OTHERS = 800 << 20
"""Bytes in memory files that whatever else runs on the machine may come to have meanwhile."""


def shared_memory() -> int:
    """Bytes in memory files on the whole machine."""
    for line in (_PROC / "meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            return int(line.split()[1]) << 10
    return 0


class Watch:
    """Looks at the processes below this one again and again while something runs."""

    def __init__(self) -> None:
        self._before = below()
        self._shared = shared_memory()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.processes = 0
        self.threads = 0
        self.memory = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        resident = sum(process.memory for process in self._before)
        while not self._over.wait(0.02):
            now = below()
            grown = sum(process.memory for process in now) - resident
            shared = shared_memory() - self._shared
            if shared < _OTHERS:
                shared = 0
            self.processes = max(self.processes, len(now) - len(self._before))
            self.threads = max([self.threads, *(process.threads for process in now)])
            self.memory = max(self.memory, grown, shared)
