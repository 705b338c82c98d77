"""Numbers that must hold, whatever the metric says: `p50_ms: "<= 5"`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from statistics import fmean

from autoreason.artifacts.measurement import Measurement
from autoreason.errors import InvalidInput

_GUARD = re.compile(r"\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


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
