"""What a program returns, as text that is the same for values that tests would call equal.

Standard library only: this runs inside the jail.
"""

from __future__ import annotations

import json
import math
import os

# Not from `hashlib`: every process of the sandbox would carry OpenSSL along.
from _blake2 import blake2b
from collections.abc import Callable, Sequence

MAX_TEXT = 200
"""Characters of a value that are kept as they are; longer ones are replaced by a digest."""
DIGITS = 6
"""Significant digits in which fractions must agree."""
_INTEGER_TOLERANCE = 1e-9
"""Relative distance at which a number counts as an integer."""


def record(calls: Sequence[Callable[[], object]]) -> None:
    """Make each call and write its result at once: the next call may end the process."""
    for call in calls:
        try:
            entry = ["value", shorten(canonical(call()))]
        except Exception as error:
            entry = ["failure", type(error).__name__]
        os.write(1, json.dumps(entry).encode() + b"\n")


def shorten(text: str) -> str:
    """A text of bounded length, different for different texts."""
    if len(text) <= MAX_TEXT:
        return text
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32)
    return f"{text[: MAX_TEXT // 2]}… {digest.hexdigest()}"


def canonical(value: object) -> str:
    """A plain value as text: `1`, `1.0` and `True` alike, sets in order, numbers within the usual tolerance."""
    match value:
        case None | str() | bytes() | bytearray() | range():
            return repr(value)
        case int() | float():
            return number_text(value)
        case complex():
            imaginary = f" {number_text(value.imag)}j" if value.imag else ""
            return number_text(value.real) + imaginary
        case list():
            return f"[{', '.join(map(canonical, value))}]"
        case tuple():
            return f"({', '.join(map(canonical, value))},)"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(canonical, value)))}}}"
        case dict():
            items = (f"{canonical(key)}: {canonical(each)}" for key, each in value.items())
            return f"{{{', '.join(sorted(items))}}}"
    return f"<{type(value).__name__}>"


def number_text(value: float, digits: int = DIGITS) -> str:
    """A number as text: integers exact, others to this many significant digits."""
    if isinstance(value, int):
        # Not in decimals: for a long integer that takes long, and Python refuses.
        return str(int(value)) if value.bit_length() <= 1024 else hex(value)
    if not math.isfinite(value):
        return str(value)
    whole = round(value)
    if abs(value - whole) <= _INTEGER_TOLERANCE * max(1.0, abs(value)):
        return number_text(whole)
    return f"{value:.{digits}g}"
