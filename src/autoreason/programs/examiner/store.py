"""Sets of problems kept by digest in the user's data folder, so that a run goes on without the file it began with."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.paths import data_folder
from autoreason.programs.problems.own import decode_set, encode_set
from autoreason.programs.problems.problem import Problem
from autoreason.programs.problems.sets import digest_of


def keep_set(problems: Sequence[Problem]) -> str:
    """Write a set down, readable by its owner alone, and name it by its digest."""
    digest = digest_of(problems)
    path = _path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(encode_set(problems))
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return digest


def find_set(digest: str) -> tuple[Problem, ...]:
    """A set that was kept, whole and unchanged."""
    path = _path(digest)
    try:
        problems = decode_set(path.read_bytes())
    except OSError:
        raise InvalidInput(
            f"the problems of this run are not kept here (no {path}); start again from their file"
        ) from None
    if digest_of(problems) != digest:
        raise InvalidInput(f"{path} was changed; remove it and start again from the set's own file")
    return problems


def _path(digest: str) -> Path:
    return data_folder() / "problems" / f"{digest}.jsonl"
