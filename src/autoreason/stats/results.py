"""What a statistic comes to: a value with its interval, or a test; or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct


class Estimate(Struct, frozen=True):
    """A figure with its interval; what could not be worked out is None and `reason` says why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """How many independent things it rests on."""
    reason: str = ""


class Test(Struct, frozen=True):
    """How likely chance alone is to give as much or more; None, with a reason, where nobody can say."""

    # Else pytest takes it for a class of tests wherever it is imported.
    __test__: ClassVar[bool] = False

    p: float | None
    statistic: float | None = None
    n: int = 0
    """How many independent things it rests on."""
    reason: str = ""


def counted(number: int, noun: str) -> str:
    """`there is one judge`, `there are 3 judges`, `there is none`: the second half of a reason."""
    if number == 0:
        return "there is none"
    return f"there is one {noun}" if number == 1 else f"there are {number} {noun}s"


def percent(share: float) -> str:
    """A share as a whole percentage; never a false 0 % or 100 %."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{share * 100:.0f} %"


def p_value(p: float | None) -> str:
    """`0.041`, `< 0.001`."""
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def losing(names: Sequence[str]) -> str:
    """`, but c and d lose beyond chance`: what follows where nobody wins; empty where nobody loses either."""
    if not names:
        return ""
    *most, last = names
    listed = f"{', '.join(most)} and {last}" if most else last
    return f", but {listed} {'lose' if most else 'loses'} beyond chance"
