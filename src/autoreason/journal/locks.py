"""Locks of runs: an operating-system lock on a small file, released by the kernel when a process is killed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from autoreason.errors import JournalError
from autoreason.journal.run_names import check_name
from autoreason.journal.store import LockOwner, disk_error, locked_error, this_process

_PATIENCE = 0.2
"""Seconds; a process that looks for the owner takes the lock for an instant."""
_PAUSE = 0.01


@contextmanager
def lock_run(folder: Path, run: str) -> Iterator[None]:
    """Lock a run for writing."""
    path = _lock_path(folder, run)
    with lock_file(path, _PATIENCE) as lock:
        if lock is None:
            raise locked_error(run, lock_owner(folder, run))
        try:
            os.pwrite(lock, msgspec.json.encode(this_process()), 0)
        except OSError as error:
            raise _cannot_lock(path, error) from None
        yield


@contextmanager
def lock_file(path: Path, patience: float) -> Iterator[int | None]:
    """Lock a file that exists only while it is locked; None while another process has it locked."""
    try:
        make_folder(path.parent)
        lock = _acquire(path, time.monotonic() + patience)
    except OSError as error:
        raise _cannot_lock(path, error) from None
    try:
        yield lock
    finally:
        if lock is not None:
            # Removed while still locked: a process that opened it meanwhile sees that it is gone.
            with suppress(OSError):
                path.unlink()
            os.close(lock)


def _cannot_lock(path: Path, error: OSError) -> JournalError:
    remedy = "allow writing there or name another journal with AUTOREASON_JOURNAL"
    return disk_error(error, f"cannot lock {path}", remedy)


def lock_owner(folder: Path, run: str) -> LockOwner | None:
    """The process that has a run locked; None where there is none."""
    try:
        lock = os.open(_lock_path(folder, run), os.O_RDONLY)
    except OSError:
        return None
    try:
        return _read_owner(lock) if _is_locked(lock) else None
    finally:
        os.close(lock)


def locked_runs(folder: Path) -> frozenset[str]:
    """Every run that is locked now."""
    try:
        names = [name.removesuffix(".lock") for name in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return frozenset()
    return frozenset(name for name in names if lock_owner(folder, name))


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, private to the user; what exists stays as it is."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    for above in reversed(missing):
        above.mkdir(mode=0o700, exist_ok=True)


def _lock_path(folder: Path, run: str) -> Path:
    check_name(run)
    return folder / f"{run}.lock"


def _acquire(path: Path, deadline: float) -> int | None:
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whether the path still names the file we locked, not a newer one.
            if os.path.samestat(os.fstat(lock), path.stat()):
                # A new file is not truncated: a truncated one may be flushed to the disk when it is closed.
                if os.fstat(lock).st_size:
                    os.ftruncate(lock, 0)
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(_PAUSE)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _is_locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _read_owner(lock: int) -> LockOwner:
    # A process that has just locked the file may not have written its name yet.
    for _ in range(5):
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(os.pread(lock, 65536, 0), type=LockOwner)
        time.sleep(_PAUSE)
    return LockOwner()
