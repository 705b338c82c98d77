"""Intervals and tests: pure functions, each named after the rule it is, and what they return."""

from __future__ import annotations

from collections.abc import Callable
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

    def changed(self, to: Callable[[float], float]) -> Estimate:
        """What follows from it by a rule in which more always is more, or always less."""
        value, low, high = (None if n is None else to(n) for n in (self.value, self.low, self.high))
        if low is not None and high is not None:
            low, high = min(low, high), max(low, high)
        return Estimate(value, low, high, self.n, self.reason)


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
