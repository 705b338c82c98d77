"""One at a time: a packet is either being rated by one server, or being opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autoreason.errors import InvalidInput, JournalError
from autoreason.journal.locks import lock_file

_PATIENCE = 0.2


@contextmanager
def lock_packet(folder: Path) -> Iterator[Callable[[str], None]]:
    """Lock a packet; the function it gives records where it is in use, for others who try."""
    path = folder / ".in-use"
    try:
        with lock_file(path, _PATIENCE) as lock:
            if lock is None:
                raise InvalidInput(_occupied(folder, path))
            yield lambda where: _write(lock, where)
    except JournalError:
        raise InvalidInput(
            f"cannot write into {folder}; allow writing there, or copy the packet"
        ) from None


def _write(lock: int, where: str) -> None:
    os.pwrite(lock, where.encode(), 0)


def _occupied(folder: Path, path: Path) -> str:
    try:
        where = path.read_text("utf-8", "replace").strip()
    except OSError:
        where = ""
    at = f" at {where}" if where else ""
    return f"{folder} is being rated{at}; end that first, with Ctrl-C where it was started"
