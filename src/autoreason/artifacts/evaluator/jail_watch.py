"""A process that outlives the evaluator's, however that ends, and kills the jails it leaves behind. Linux only.

Jails die with their parent by themselves, but not while they are being set up.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

_pipe: int | None = None
"""Where process groups are announced; a jail that starts has it open until it has announced its own."""


def start_watch() -> None:
    """Fork the watcher; to be called before there are threads or anything that it must not have."""
    global _pipe
    # This process keeps both ends: to write to a pipe that nothing reads would kill a jail that starts.
    read_end, _pipe = os.pipe()
    os.set_blocking(_pipe, False)
    if os.fork():
        return
    status = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for each in (0, _pipe):
            # Open here, neither the client nor this process would ever see the evaluator's end.
            os.dup2(null, each)
        _watch(read_end)
        status = 0
    finally:
        os._exit(status)


def enter() -> None:
    """Announce this process, which leads the group of a jail that starts."""
    _announce(os.getpid())


def leave(group: int) -> None:
    """Say that a jail has ended, before its number can be another's."""
    _announce(-group)


def _announce(number: int) -> None:
    if _pipe is not None:
        with suppress(OSError):
            os.write(_pipe, f"{number}\n".encode())


def _watch(read_end: int) -> None:
    """Until the pipe ends, which no process has open then that could start another jail."""
    groups: set[int] = set()
    with os.fdopen(read_end, encoding="ascii") as lines:
        for number in map(int, lines):
            if number > 0:
                groups.add(number)
            else:
                groups.discard(-number)
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
