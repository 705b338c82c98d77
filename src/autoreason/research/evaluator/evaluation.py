"""An evaluator with its files, items and sealed set: collected, saved by digest, and checked before every look."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.files import write_atomically
from autoreason.paths import data_folder
from autoreason.research.measurement import Files
from autoreason.research.research_task import LookLimits

_FUNCTION_MARK = ".py:"
_MAX_BYTES = 1 << 30


class Evaluation(Struct, frozen=True, kw_only=True):
    """Everything a look needs besides the artifact."""

    evaluate: str
    """A command, or `file.py:function`."""
    files: dict[str, bytes] = {}
    """The evaluator's files by path, relative to the task's folder."""
    items: tuple[str, ...] = ()
    """One line each: JSON or text."""
    sealed: tuple[str, ...] = ()
    metric: str = "score"
    limits: LookLimits = LookLimits()
    mounts: tuple[str, ...] = ()
    """Folders and files of this machine that a command reads: data, libraries."""


def collect_evaluation(
    folder: Path,
    evaluate: str,
    *,
    needs: Iterable[str] = (),
    items: Path | None = None,
    sealed: Path | None = None,
    metric: str = "score",
    limits: LookLimits | None = None,
    mounts: Iterable[str] = (),
) -> Evaluation:
    """Read what a task names: the files in the command that are in its folder, globs of others, items."""
    function = function_of(evaluate)
    try:
        words = [function[0]] if function else shlex.split(evaluate)
    except ValueError as error:
        raise InvalidInput(f"`evaluate: {evaluate}` is no command ({error}); quote it") from None
    if not words:
        raise InvalidInput("`evaluate` is empty; name a command, or file.py:function")
    paths = {folder / word for word in words if word and (folder / word).is_file()}
    if function and not paths:
        raise InvalidInput(f"no file {folder / function[0]} for `evaluate: {evaluate}`")
    for pattern in needs:
        matches = {path for path in folder.glob(pattern) if path.is_file()}
        if not matches:
            raise InvalidInput(f"no file matches `needs: {pattern}` in {folder}")
        paths |= matches
    if sum(path.stat().st_size for path in paths) > _MAX_BYTES:
        raise InvalidInput("the evaluator's files are larger than 1 GB; name them in `mounts`")
    return Evaluation(
        evaluate=evaluate,
        files={_inside(path, folder): path.read_bytes() for path in sorted(paths)},
        items=read_items(items) if items else (),
        sealed=read_items(sealed) if sealed else (),
        metric=metric,
        limits=limits or LookLimits(),
        mounts=tuple(_absolute(mount, folder) for mount in mounts),
    )


def function_of(evaluate: str) -> tuple[str, str] | None:
    """File and function of `file.py:function`; None for a command."""
    file, mark, name = evaluate.strip().rpartition(_FUNCTION_MARK)
    return (f"{file}.py", name) if mark and name.isidentifier() and " " not in file else None


def read_items(path: Path) -> tuple[str, ...]:
    """The lines of a file of items that are not empty."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read the items in {path}: {error}") from None
    items = tuple(line for line in lines if line.strip())
    if not items:
        raise InvalidInput(f"{path} has no items; write one on each line")
    return items


def parse_items(lines: Sequence[str]) -> list[Any]:
    """Items as an evaluator gets them: parsed where all are JSON, else lines of text."""
    try:
        return [json.loads(line) for line in lines]
    except ValueError:
        return list(lines)


def _inside(path: Path, folder: Path) -> str:
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        raise InvalidInput(
            f"{path} is outside of the task's folder; copy it there, or name it in `mounts`"
        ) from None


def _absolute(mount: str, folder: Path) -> str:
    path = (folder / Path(mount).expanduser()).resolve()
    if not path.exists():
        raise InvalidInput(f"no {path} for `mounts`")
    saved = data_folder().resolve()
    if saved.is_relative_to(path) or path.is_relative_to(saved):
        raise InvalidInput(f"`mounts: {mount}` would show the sealed items; name what is needed")
    return str(path)


def save_evaluation(evaluation: Evaluation) -> str:
    """Save an evaluation, readable by its owner alone, and return its digest."""
    body = msgspec.msgpack.encode(evaluation, order="deterministic")
    digest = sha256(body).hexdigest()
    path = _path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, body, private=True)
    return digest


class SavedEvaluation:
    """A saved evaluation, and a read-only folder with its files for the looks of one process."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        self._path = _path(digest)
        self._signature: tuple[int, ...] = ()
        self.evaluation = self._load()
        self._temporary = tempfile.TemporaryDirectory(prefix="autoreason-evaluator-")
        self._signatures: dict[Path, tuple[int, ...]] = {}

    @property
    def folder(self) -> Path:
        """The evaluator's files."""
        return Path(self._temporary.name, "task")

    def verify(self) -> None:
        """Check the saved copy, and write the files anew if one of them was touched."""
        if _signature(self._path) != self._signature:
            self._load()
        if not self._signatures or any(
            _signature(path) != known for path, known in self._signatures.items()
        ):
            self._write_files()

    def close(self) -> None:
        """Remove the folder."""
        _make_writable(self.folder)
        self._temporary.cleanup()

    def _load(self) -> Evaluation:
        signature = _signature(self._path)
        try:
            body = self._path.read_bytes()
        except OSError:
            raise InvalidInput(
                f"the evaluator of this run is not saved here (no {self._path}); start again from its task"
            ) from None
        if sha256(body).hexdigest() != self.digest:
            raise InvalidInput(
                f"{self._path} was changed; remove it and start again from the task's own files"
            )
        self._signature = signature
        return msgspec.msgpack.decode(body, type=Evaluation)

    def _write_files(self) -> None:
        Path(self._temporary.name).chmod(0o755)
        _make_writable(self.folder)
        for path in sorted(self.folder.rglob("*"), reverse=True) if self.folder.exists() else ():
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.folder.mkdir(exist_ok=True)
        self._signatures = {}
        for name, body in self.evaluation.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
            # Scripts of a task are often named as commands.
            path.chmod(0o555 if body.startswith(b"#!") else 0o444)
        for path in (self.folder, *self.folder.rglob("*")):
            if path.is_dir():
                path.chmod(0o555)
            self._signatures[path] = _signature(path)


def _make_writable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")) if folder.exists() else ():
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def _signature(path: Path) -> tuple[int, ...]:
    """What changes when a file does, and cannot be set back; empty where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def write_files(folder: Path, files: Files) -> None:
    """Write an artifact into a folder; scripts are executable."""
    for name, text in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidInput(f"{name!r} is no path inside the artifact")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace", newline="")
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def count_openings(sealed: Sequence[str]) -> int:
    """How many runs have opened a sealed set."""
    return len(_read_openings(_openings_path(sealed)))


def record_opening(sealed: Sequence[str], run: str) -> None:
    """Record that a run opens a sealed set; a run that is resumed counts once."""
    path = _openings_path(sealed)
    runs = _read_openings(path)
    if run not in runs:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One line for each: two runs at once must not overwrite each other's.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{run}\n".encode())
        finally:
            os.close(handle)


def _read_openings(path: Path) -> set[str]:
    return set(path.read_text(encoding="utf-8").splitlines()) if path.exists() else set()


def _openings_path(sealed: Sequence[str]) -> Path:
    digest = sha256("\n".join(sealed).encode()).hexdigest()
    return data_folder() / "evaluations" / f"sealed-{digest}.opened"


def _path(digest: str) -> Path:
    return data_folder() / "evaluations" / f"{digest}.msgpack"
