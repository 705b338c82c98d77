"""Sizes that an artifact must keep, checked by code: `pack.py <= 20 kB`; other constraints are words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from autoreason.artifacts.artifact_paths import matches
from autoreason.artifacts.measurement import Files
from autoreason.errors import InvalidInput

_SIZE = re.compile(
    r"\s*(?P<name>\S(?:.*\S)?)\s*<=\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]+)\s*"
)
_UNITS = {
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "kb": 1_000,
    "kib": 1_024,
    "mb": 1_000_000,
    "mib": 1_048_576,
}
"""In lower case; anything else is not a size."""
_COMPARISON = re.compile(r"(?:[<>]=?|[=!]=|≤|≥)\s*[-+.]?\d")


def check_constraint(constraint: str, files: Files) -> None:
    """Refuse a comparison that is no size, and a size of a file that the artifact does not have."""
    if not _read(constraint) and _COMPARISON.search(constraint):
        raise InvalidInput(
            f"`constraints`: {constraint!r} cannot be checked; write a size as `pack.py <= 20 kB`, "
            "another number as a `guard`, and anything else in words"
        )
    if (size := _read(constraint)) and not any(matches(path, (size[0],)) for path in files):
        raise InvalidInput(f"`constraints`: {size[0]!r} is no file of the artifact; check the name")


def broken_constraint(constraints: Iterable[str], files: Files) -> str:
    """The first size that the files exceed, in words; empty where they keep all."""
    for size in filter(None, map(_read, constraints)):
        name, limit, words = size
        for path, text in files.items():
            if matches(path, (name,)) and len(text.encode()) > limit:
                return f"{path} has {len(text.encode()):,} bytes, allowed are {words}"
    return ""


def _read(constraint: str) -> tuple[str, float, str] | None:
    """The path, the bytes and the limit as it is written, of a constraint that is a size."""
    found = _SIZE.fullmatch(constraint)
    factor = _UNITS.get(found["unit"].lower()) if found else None
    if not found or factor is None:
        return None
    return found["name"], float(found["number"]) * factor, f"{found['number']} {found['unit']}"
