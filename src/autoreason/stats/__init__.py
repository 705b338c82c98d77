"""Intervals and tests: pure functions, each named after the rule it is, and what they return."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

BEYOND_CHANCE = 0.05
"""A result that chance gives more seldom than this is called beyond chance."""


class Estimate(Struct, frozen=True):
    """A figure with its interval; what could not be worked out is None and `reason` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """How many independent things it rests on."""
    reason: str = ""


class Test(Struct, frozen=True):
    """How likely chance alone is to give as much or more; None, with a reason, where it is unknown."""

    # Else pytest takes it for a class of tests wherever it is imported.
    __test__: ClassVar[bool] = False

    p_value: float | None
    statistic: float | None = None
    n: int = 0
    """How many independent things it rests on."""
    reason: str = ""


def counted(number: int, noun: str) -> str:
    """`there is one judge`, `there are 3 judges`, `there is none`: the second half of a reason."""
    if number == 0:
        return "there is none"
    return f"there is one {noun}" if number == 1 else f"there are {number} {noun}s"
