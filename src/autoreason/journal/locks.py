"""Who writes to a run: an operating-system lock on a small file, let go by the kernel at a kill."""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.errors import JournalError, RunLocked
from autoreason.journal.names import check_name

_PATIENCE = 0.2
"""Seconds; whoever looks for a holder takes the lock for an instant."""
_PAUSE = 0.01
_LONGEST_COMMAND = 200


class Holder(Struct, frozen=True, kw_only=True):
    """Who holds a run; None where it could not be read."""

    pid: int | None = None
    host: str | None = None
    user: str | None = None
    since: datetime | None = None
    command: str | None = None

    def __str__(self) -> str:
        said = [f"process {self.pid}" if self.pid else "another process"]
        said += [f"of {self.user}"] if self.user else []
        said += [f"on {self.host}"] if self.host else []
        said += [f"since {self.since.astimezone():%Y-%m-%d %H:%M}"] if self.since else []
        said += [f"(`{self.command}`)"] if self.command else []
        return " ".join(said)


@contextmanager
def hold(folder: Path, run: str) -> Iterator[None]:
    """Be the only one who writes to a run."""
    path = _lock_file(folder, run)
    with exclusive(path, _PATIENCE) as lock:
        if lock is None:
            raise RunLocked(
                f"{run} is held by {holder(folder, run) or 'another process'};"
                f" wait for it, or end it with `autoreason stop {run}`"
            )
        try:
            os.pwrite(lock, msgspec.json.encode(_myself()), 0)
        except OSError as error:
            raise _cannot_lock(path, error) from None
        yield


@contextmanager
def exclusive(path: Path, patience: float) -> Iterator[int | None]:
    """Lock a file that exists only while it is locked; None when somebody else keeps it locked."""
    try:
        make_folder(path.parent)
        lock = _acquire(path, time.monotonic() + patience)
    except OSError as error:
        raise _cannot_lock(path, error) from None
    try:
        yield lock
    finally:
        if lock is not None:
            # Removed while still locked: whoever opened it meanwhile sees that it is gone.
            with suppress(OSError):
                path.unlink()
            os.close(lock)


def _cannot_lock(path: Path, error: OSError) -> JournalError:
    return JournalError(
        f"cannot lock {path}: {error.strerror}; allow writing there or name another journal"
        " with AUTOREASON_JOURNAL"
    )


def holder(folder: Path, run: str) -> Holder | None:
    """Who holds a run now, if anybody."""
    try:
        lock = os.open(_lock_file(folder, run), os.O_RDONLY)
    except OSError:
        return None
    try:
        return _read(lock) if _is_locked(lock) else None
    finally:
        os.close(lock)


def held(folder: Path) -> frozenset[str]:
    """Every run that is held now."""
    try:
        names = [name.removesuffix(".lock") for name in os.listdir(folder)]  # noqa: PTH208
    except OSError:
        return frozenset()
    return frozenset(name for name in names if holder(folder, name))


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, for the user's eyes only; what exists stays as it is."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    for above in reversed(missing):
        above.mkdir(mode=0o700, exist_ok=True)


def _lock_file(folder: Path, run: str) -> Path:
    check_name(run)
    return folder / f"{run}.lock"


def _acquire(path: Path, deadline: float) -> int | None:
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _still_there(lock, path):
                # A fresh file is left alone: one that was emptied may be put on the disk as it is closed.
                if os.fstat(lock).st_size:
                    os.ftruncate(lock, 0)
                return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                os.close(lock)
                return None
            time.sleep(_PAUSE)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _still_there(lock: int, path: Path) -> bool:
    """Whether the file behind a name is the one we locked, not a newer one."""
    try:
        return os.path.samestat(os.fstat(lock), path.stat())
    except FileNotFoundError:
        return False


def _is_locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _read(lock: int) -> Holder:
    # A holder that has just locked has not written its name yet.
    for _ in range(5):
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(os.pread(lock, 65536, 0), type=Holder)
        time.sleep(_PAUSE)
    return Holder()


def _myself() -> Holder:
    words = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
    # What the shell passed need not be text.
    command = words.encode("utf-8", "replace").decode()
    if len(command) > _LONGEST_COMMAND:
        command = command[: _LONGEST_COMMAND - 1] + "…"
    return Holder(
        pid=os.getpid(),
        host=os.uname().nodename,
        user=os.environ.get("USER") or f"user {os.getuid()}",
        since=datetime.now(UTC),
        command=command,
    )
