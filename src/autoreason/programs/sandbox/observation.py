"""What a program returns, written down so that values which tests would call equal are the same text.

Standard library only: this runs inside the jail.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

LONGEST = 200
"""Characters of a value that are kept as they are; of longer ones a digest."""
DIGITS = 6
"""Significant digits in which numbers must agree that are no integers."""
_WHOLE = 1e-9
"""How near to an integer a number is one, relatively."""


def record(calls: Sequence[Callable[[], object]]) -> None:
    """Make each call and write down at once what came of it: the next may be the last."""
    for call in calls:
        try:
            written = ["value", shortened(canonical(call()))]
        except Exception as error:
            written = ["failure", type(error).__name__]
        os.write(1, json.dumps(written).encode() + b"\n")


def shortened(text: str) -> str:
    """A text of bounded length that is the same for the same text only."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}… {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def canonical(value: object) -> str:
    """A plain value as text: `1`, `1.0` and `True` alike, sets in order, numbers within the usual tolerance."""
    match value:
        case None | str() | bytes() | bytearray() | range():
            return repr(value)
        case int():
            return number(value)
        case float():
            return number(value)
        case complex():
            return (
                f"({number(value.real)}, {number(value.imag)})j"
                if value.imag
                else number(value.real)
            )
        case list():
            return f"[{', '.join(map(canonical, value))}]"
        case tuple():
            return f"({', '.join(map(canonical, value))},)"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(canonical, value)))}}}"
        case dict():
            return f"{{{', '.join(sorted(map(_item, value.items())))}}}"
    return f"<{type(value).__name__}>"


def _item(item: tuple[Any, Any]) -> str:
    key, value = item
    return f"{canonical(key)}: {canonical(value)}"


def number(value: float, digits: int = DIGITS) -> str:
    """A number as text: integers whole, others to so many significant digits."""
    if isinstance(value, int):
        # Not in decimals: of a long integer that takes its time, and Python refuses.
        return str(int(value)) if value.bit_length() <= 1024 else hex(value)
    if not math.isfinite(value):
        return str(value)
    whole = round(value)
    if abs(value - whole) <= _WHOLE * max(1.0, abs(value)):
        return number(whole)
    return f"{value:.{digits}g}"
