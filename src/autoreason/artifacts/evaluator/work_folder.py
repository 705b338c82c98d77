"""Folders of looks, locked so that what a killed process left can be recognised; that of an evaluator's process."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from autoreason.artifacts.evaluator.saved_evaluation import signature, write_files
from autoreason.artifacts.measurement import Files

_PREFIX = "autoreason-evaluator-"
_LOCK = "lock"


class WorkFolder:
    """A folder for the user alone, locked while its process lives, so that others can tell what was left behind."""

    def __init__(self, files: dict[str, bytes]) -> None:
        remove_leftovers(_PREFIX)
        self._files = files
        self.path, self._lock = _make_locked(_PREFIX)
        self.task = self.path / "task"
        self._signatures: dict[Path, tuple[int, ...]] = {}

    def verify(self) -> None:
        """Write the evaluator's files, and write them anew if one of them was touched."""
        known = self._signatures
        if not known or any(signature(path) != each for path, each in known.items()):
            _remove(self.task)
            self._write()

    @contextmanager
    def open_look(self, files: Files, items: Sequence[Any], shim: str) -> Iterator[Path]:
        """A folder for one look: the artifact, the items, a program `artifact`, and one to write to."""
        folder = Path(tempfile.mkdtemp(prefix="look-", dir=self.path))
        try:
            for name, mode in (("artifact", 0o755), ("run", 0o755), ("tmp", 0o700)):
                (folder / name).mkdir()
                (folder / name).chmod(mode)
            write_files(folder / "artifact", files)
            write_files(folder / "run", {"artifact": shim})
            lines = "".join(f"{json.dumps(item)}\n" for item in items)
            write_files(folder, {"items.jsonl": lines})
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove it."""
        _remove(self.path)
        os.close(self._lock)

    def _write(self) -> None:
        self.task.mkdir()
        write_files(self.task, self._files, 0o444)
        written = [self.task, *self.task.rglob("*")]
        for path in written:
            if path.is_dir():
                path.chmod(0o555)
        self._signatures = {path: signature(path) for path in written}


def _remove(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")) if folder.exists() else ():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked_folder(prefix: str) -> Iterator[Path]:
    """A folder for the user alone, in one that is locked until it is removed."""
    path, lock = _make_locked(prefix)
    try:
        (path / "artifact").mkdir()
        yield path / "artifact"
    finally:
        _remove(path)
        os.close(lock)


def _make_locked(prefix: str) -> tuple[Path, int]:
    path = Path(tempfile.mkdtemp(prefix=prefix))
    lock = os.open(path / _LOCK, os.O_CREAT | os.O_RDONLY, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return path, lock


def remove_leftovers(prefix: str) -> None:
    """Remove the folders of processes that were killed: their looks may have had sealed items."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):
            lock = os.open(folder / _LOCK, os.O_RDONLY)
            try:
                if folder.stat().st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)
            finally:
                os.close(lock)
