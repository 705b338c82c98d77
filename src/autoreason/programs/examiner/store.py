"""Sets of problems saved by digest in the user's data folder, so that a run can continue without the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.files import write_atomically
from autoreason.paths import data_folder
from autoreason.programs.problems.problem import Problem, decode_set, encode_set, set_digest


def save_set(problems: Sequence[Problem]) -> str:
    """Save a set, readable by its owner alone, and return its digest."""
    digest = set_digest(problems)
    path = set_path(digest)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, encode_set(problems), private=True)
    return digest


def load_set(digest: str) -> tuple[Problem, ...]:
    """A saved set, checked against its digest."""
    path = set_path(digest)
    try:
        problems = decode_set(path.read_bytes())
    except OSError:
        raise InvalidInput(
            f"the problems of this run are not saved here (no {path}); start again from their file"
        ) from None
    if set_digest(problems) != digest:
        raise InvalidInput(f"{path} was changed; remove it and start again from the set's own file")
    return problems


def set_path(digest: str) -> Path:
    """Where a set is saved."""
    return data_folder() / "problems" / f"{digest}.jsonl"
