"""Numbers as people read them, written the same way in every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from autoreason.stats.results import Estimate

UNKNOWN = "–"
"""Shown in a table where nothing is known."""
_MOST_DIGITS = 4


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 call`, `2 calls`, `1,200 calls`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def lines(program: str) -> str:
    """How long a program is."""
    return count(len(program.splitlines()), "line")


def decimal(value: float) -> str:
    """`17`, `17.5`."""
    return f"{value:z,.1f}".removesuffix(".0")


def percent(share: float) -> str:
    """A share as a whole percentage; never a false 0 % or 100 %."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{share * 100:z.0f} %"


def percent_range(low: float, high: float) -> str:
    """`62 to 91 %`."""
    return f"{low * 100:.0f} to {high * 100:.0f} %"


def p_value(p: float | None) -> str:
    """`0.041`, `< 0.001`: a cell of a table."""
    if p is None:
        return UNKNOWN
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_statement(p: float | None) -> str:
    """`p = 0.041`, `p < 0.001`: a part of a sentence."""
    return f"p {p_value(p)}" if p is not None and p < 0.001 else f"p = {p_value(p)}"


def money(cost: Decimal | None) -> str:
    """US dollars, with as many digits as a small sum needs; an unknown sum is called unknown."""
    if cost is None:
        return "unknown"
    if cost * 10 >= 1 or cost * 100 == int(cost * 100):
        return f"${cost:,.2f}"
    return f"${cost:.4f}" if cost * 10_000 >= 1 else "under $0.0001"


def duration(seconds: float) -> str:
    """`4.1 s`, `3 min 12 s`, `2 h 05 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def megabytes(size: int) -> str:
    """The size of a file."""
    return f"{size / 1_000_000:,.1f} MB"


def interval(found: Estimate, digits: int = 2) -> str:
    """`2.43 (1.86 to 2.86)`; a dash where nothing is known."""
    return _with_interval(found, *[lambda value: f"{value:z.{digits}f}"] * 2)


def percent_interval(found: Estimate) -> str:
    """`77 % (69 to 83)`, `2.1 % (1.9 to 2.3)`; a dash where nothing is known."""
    digits = digits_of(found)
    if not digits:
        return _with_interval(found, percent, lambda value: f"{value * 100:z.0f}")
    return _with_interval(
        found,
        lambda value: f"{value * 100:z.{digits}f} %",
        lambda value: f"{value * 100:z.{digits}f}",
    )


def points(found: Estimate) -> str:
    """`+4.0 (-2.1 to +9.8)`, `+0.21 (+0.02 to +0.40)`, in points of a hundred."""
    digits = max(digits_of(found), 1)
    ends = [end * 100 for end in (found.low, found.high) if end]
    # An end that is above or below 0 must look so.
    while digits < _MOST_DIGITS and any(not round(end, digits) for end in ends):
        digits += 1
    return _with_interval(found, *[lambda value: f"{value * 100:+z.{digits}f}"] * 2)


def digits_of(found: Estimate) -> int:
    """Decimals of a percentage whose interval would otherwise be narrower than its last digit."""
    if found.low is None or found.high is None or found.low == found.high:
        return 0
    width = (found.high - found.low) * 100
    return next((each for each in range(_MOST_DIGITS) if 10**-each <= width), _MOST_DIGITS)


def _with_interval(
    found: Estimate, show: Callable[[float], str], show_end: Callable[[float], str]
) -> str:
    if found.value is None:
        return UNKNOWN
    if found.low is None or found.high is None:
        return show(found.value)
    return f"{show(found.value)} ({show_end(found.low)} to {show_end(found.high)})"
