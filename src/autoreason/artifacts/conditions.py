"""What an artifact must keep: numbers, as `p50_ms: "<= 5"`, and sizes, as `pack.py <= 20 kB`; checked by code."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from statistics import fmean

from autoreason.artifacts.artifact_paths import matches
from autoreason.artifacts.measurement import Files, Measurement
from autoreason.errors import InvalidInput

_GUARD = re.compile(r"\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
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


def check_guard(name: str, condition: str) -> None:
    """Raise `InvalidInput` for a condition that cannot be read."""
    if not _GUARD.fullmatch(condition):
        raise InvalidInput(
            f'`guard`: {name} is {condition!r}; write a comparison with a number, such as "<= 5"'
        )


def value_within(condition: str) -> float:
    """A number that meets a condition."""
    found = _GUARD.fullmatch(condition)
    return float(found[2]) + (1 if ">" in found[1] else -1) if found else 0.0


def broken_guard(guard: Mapping[str, str], looks: Iterable[Measurement]) -> str:
    """The first guard that the mean of the looks breaks, in words; empty where all hold."""
    looks = list(looks)
    for name, condition in guard.items():
        found = _GUARD.fullmatch(condition)
        values = [each.metrics[name] for each in looks if name in each.metrics]
        if not values:
            return f"the evaluator returned no {name}, which the guard needs"
        mean = fmean(values)
        if found and not _COMPARE[found[1]](mean, float(found[2])):
            return f"{name} is {mean:g}, the guard is {condition.strip()}"
    return ""


def check_constraint(constraint: str, files: Files) -> None:
    """Refuse a comparison that is no size, and a size of a file that the artifact does not have."""
    if not _read_size(constraint) and _COMPARISON.search(constraint):
        raise InvalidInput(
            f"`constraints`: {constraint!r} cannot be checked; write a size as `pack.py <= 20 kB`, "
            "another number as a `guard`, and anything else in words"
        )
    if (size := _read_size(constraint)) and not any(matches(path, (size[0],)) for path in files):
        raise InvalidInput(f"`constraints`: {size[0]!r} is no file of the artifact; check the name")


def broken_constraint(constraints: Iterable[str], files: Files) -> str:
    """The first size that the files exceed, in words; empty where they keep all."""
    for size in filter(None, map(_read_size, constraints)):
        name, limit, words = size
        for path, text in files.items():
            if matches(path, (name,)) and len(text.encode()) > limit:
                return f"{path} has {len(text.encode()):,} bytes, allowed are {words}"
    return ""


def _read_size(constraint: str) -> tuple[str, float, str] | None:
    """The path, the bytes and the limit as it is written, of a constraint that is a size."""
    found = _SIZE.fullmatch(constraint)
    factor = _UNITS.get(found["unit"].lower()) if found else None
    if not found or factor is None:
        return None
    return found["name"], float(found["number"]) * factor, f"{found['number']} {found['unit']}"
