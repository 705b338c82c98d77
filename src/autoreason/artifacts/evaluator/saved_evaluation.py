"""An evaluation saved by its digest: evaluator, items and sealed set, checked before every look."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from autoreason.artifacts.research_task import EvaluationSource
from autoreason.errors import InvalidInput
from autoreason.files import write_atomically
from autoreason.paths import data_folder

_FUNCTION_MARK = ".py:"
_MARK_LENGTH = 16
"""Hexadecimal digits that tell items apart."""


def function_of(evaluate: str) -> tuple[str, str] | None:
    """File and function of `file.py:function`; None for a command."""
    file, mark, name = evaluate.strip().rpartition(_FUNCTION_MARK)
    return (f"{file}.py", name) if mark and name.isidentifier() and " " not in file else None


def save_evaluation(source: EvaluationSource) -> str:
    """Save an evaluation, readable by its owner alone, and return its digest."""
    saved = data_folder().resolve()
    for mount in source.mounts:
        path = Path(mount).resolve()
        if saved.is_relative_to(path) or path.is_relative_to(saved):
            raise InvalidInput(f"`mounts`: {mount} contains the sealed items; name less of it")
    body = _encode(source)
    digest = sha256(body).hexdigest()
    path = evaluation_path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, body, private=True)
    return digest


def digest_of(source: EvaluationSource) -> str:
    """The digest under which an evaluation is saved."""
    return sha256(_encode(source)).hexdigest()


def _encode(source: EvaluationSource) -> bytes:
    # Items as JSON, whose integers have no limit.
    items, sealed = (tuple(map(json.dumps, each)) for each in (source.items, source.sealed))
    return msgspec.msgpack.encode(
        replace(source, items=items, sealed=sealed), order="deterministic"
    )


class SavedEvaluation:
    """A saved evaluation, which must stay as it was saved."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        self._path = evaluation_path(digest)
        self._signature: tuple[int, ...] = ()
        self.source = self._load()

    def verify(self) -> None:
        """Check the saved copy."""
        if signature(self._path) != self._signature:
            self._load()

    def _load(self) -> EvaluationSource:
        found = signature(self._path)
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
        self._signature = found
        source = msgspec.msgpack.decode(body, type=EvaluationSource)
        items, sealed = (tuple(map(json.loads, each)) for each in (source.items, source.sealed))
        return replace(source, items=items, sealed=sealed)


def signature(path: Path) -> tuple[int, ...]:
    """What changes when a file does, and cannot be set back; empty where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def write_files(folder: Path, files: Mapping[str, str | bytes], mode: int = 0o644) -> None:
    """Write files into a folder; scripts are executable, since tasks often name them as commands."""
    for name, text in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidInput(f"{name!r} is no path inside the artifact")
        path.parent.mkdir(parents=True, exist_ok=True)
        body = text if isinstance(text, bytes) else text.encode(errors="replace")
        path.write_bytes(body)
        path.chmod(mode | 0o111 if body.startswith(b"#!") else mode)


def is_checked(evaluation: str, start: Mapping[str, str]) -> bool:
    """Whether no artifact like this start could write its own score when that was tried."""
    return _check_path(evaluation, start).exists()


def record_check(evaluation: str, start: Mapping[str, str]) -> None:
    """Record that an evaluation keeps its score from artifacts like this start."""
    write_atomically(_check_path(evaluation, start), b"", private=True)


def count_openings(sealed: Sequence[Any]) -> int:
    """How many end tests have opened a sealed set, or another that has most of its items."""
    return len(_openings_of(_item_marks(sealed)))


def record_opening(sealed: Sequence[Any], test: str) -> int:
    """Record that an end test opens a sealed set, once however often it is resumed; how many have by now."""
    marks = _item_marks(sealed)
    if test not in _openings_of(marks):
        path = _openings_path()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One line for each: two runs at once must not overwrite each other's.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, f"{test}\t{' '.join(sorted(marks))}\n".encode())
        finally:
            os.close(handle)
    return len(_openings_of(marks))


def _item_marks(sealed: Sequence[Any]) -> set[str]:
    """Digests of single items, so that neither their order nor a few others make another set."""
    texts = (json.dumps(item, sort_keys=True) for item in sealed)
    return {sha256(text.encode()).hexdigest()[:_MARK_LENGTH] for text in texts}


def _openings_of(marks: set[str]) -> set[str]:
    """The end tests that opened more than half of these items."""
    path = _openings_path()
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    openings = (line.partition("\t") for line in lines)
    return {
        test
        for test, _, items in openings
        if 2 * len(marks.intersection(items.split())) > len(marks)
    }


def _openings_path() -> Path:
    return data_folder() / "evaluations" / "sealed.opened"


def _check_path(evaluation: str, start: Mapping[str, str]) -> Path:
    digest = sha256(json.dumps([evaluation, start], sort_keys=True).encode()).hexdigest()
    return data_folder() / "evaluations" / f"{digest}.checked"


def evaluation_path(digest: str) -> Path:
    """Where an evaluation is saved."""
    return data_folder() / "evaluations" / f"{digest}.msgpack"
