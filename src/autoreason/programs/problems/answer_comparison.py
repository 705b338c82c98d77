"""Whether an answer is right by the rules of contest judges, and where it first differs."""

from __future__ import annotations

import math
import re
import sys
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Literal

from msgspec import Struct

from autoreason.programs.sandbox.canonical_values import number_text

Checker = Literal["tokens", "exact", "float", "special"]
"""How answers are compared; `special`: several are right, and a comparison cannot decide."""

TOLERANCE = 1e-6
"""The default for problems that compare numbers."""

_ANSWERS = frozenset(
    {b"yes", b"no", b"true", b"false", b"possible", b"impossible", b"ok", b"none", b"never"}
)
# Possessive throughout: what a program prints must not make matching slow.
_INTEGER = re.compile(rb"[+-]?\d++")
_WHOLE = re.compile(rb"([+-]?)(\d++)(?:\.0*+)?")
_NUMBER = re.compile(rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,4})?")
# Enough range for everything the pattern above matches, so that nothing overflows to infinity.
_ARITHMETIC = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_ROUNDING = 4 * sys.float_info.epsilon
"""An upper bound of the rounding error of two doubles, their difference and the tolerance."""
_MAX_SHOWN = 40


class Comparison(Struct, frozen=True, kw_only=True):
    """How the answers of one problem are compared."""

    checker: Checker = "tokens"
    tolerance: float = TOLERANCE
    """Absolute or relative; for `float` only."""
    ignore_case: bool = False
    """Tokens match in any case; for `tokens` and `float`."""


class Difference(Struct, frozen=True, kw_only=True):
    """The first difference of an answer from the one expected."""

    message: str
    """In words: `line 3, token 2: expected 17, got 18`."""
    line: int
    """Of the answer, from 1."""
    expected_at: int
    """Where it begins in the text expected, in characters from 0."""
    got_at: int

    def __str__(self) -> str:
        return self.message


def compare(expected: str, got: str, how: Comparison) -> Difference | None:
    """The first significant difference; None where the answer is right."""
    if expected == got:
        return None
    if how.checker == "exact":
        return _compare_exactly(expected, got)
    expected_text, got_text = _bytes(expected), _bytes(got)
    expected_tokens, got_tokens = expected_text.split(), got_text.split()
    if expected_tokens == got_tokens:
        return None
    for place, (one, other) in enumerate(zip(expected_tokens, got_tokens, strict=False)):
        if one != other and not _match(one, other, how):
            return _token_difference(expected_text, got_text, place, one, other)
    if len(expected_tokens) == len(got_tokens):
        return None
    return _length_difference(expected_text, got_text, expected_tokens, got_tokens)


def canonical(answer: str, how: Comparison) -> str:
    """An answer as text that is the same for equal answers, except for numbers at the edge of the tolerance."""
    if how.checker == "exact":
        return answer.rstrip("\r\n")
    tokens = [_canonical(token, how) for token in _bytes(answer).split()]
    return b" ".join(tokens).decode("utf-8", "surrogatepass")


def _canonical(token: bytes, how: Comparison) -> bytes:
    if how.checker == "float" and (token.lower() in _ANSWERS or how.ignore_case):
        return _bytes(_fold(token))
    if how.checker == "float" and _NUMBER.fullmatch(token) and not _INTEGER.fullmatch(token):
        digits = max(1, math.floor(-math.log10(how.tolerance or TOLERANCE)))
        return _bytes(number_text(float(token), digits))
    return _bytes(_fold(token)) if how.ignore_case else token


def _bytes(text: str) -> bytes:
    # Bytes split at ASCII white space, as judges do; text would also split at that of Unicode.
    return text.encode("utf-8", "surrogatepass")


def _match(expected: bytes, got: bytes, how: Comparison) -> bool:
    """Whether two different tokens count as equal."""
    if how.ignore_case and _fold(expected) == _fold(got):
        return True
    if how.checker != "float":
        return False
    if expected.lower() in _ANSWERS:
        return expected.lower() == got.lower()
    return _same_number(expected, got, how.tolerance)


def _fold(token: bytes) -> str:
    return token.decode("utf-8", "surrogatepass").casefold()


def _same_number(expected: bytes, got: bytes, tolerance: float) -> bool:
    whole = _WHOLE.fullmatch(got)
    if whole and _INTEGER.fullmatch(expected):
        # Digit by digit: integers of any length, none of them rounded to a double.
        return _digits(_WHOLE.fullmatch(expected)) == _digits(whole)
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(got)):
        return False
    within = _is_within(float(expected), float(got), tolerance)
    if within is not None:
        return within
    right, actual = Decimal(expected.decode()), Decimal(got.decode())
    distance = _ARITHMETIC.abs(_ARITHMETIC.subtract(right, actual))
    scale = max(Decimal(1), _ARITHMETIC.abs(right))
    return distance <= _ARITHMETIC.multiply(Decimal(str(tolerance)), scale)


def _is_within(right: float, actual: float, tolerance: float) -> bool | None:
    """Whether a value is within the tolerance; None where doubles are not exact enough to decide."""
    distance, allowed = abs(right - actual), tolerance * max(1.0, abs(right))
    doubt = _ROUNDING * (abs(right) + abs(actual) + allowed)
    return distance < allowed if abs(distance - allowed) > doubt else None


def _digits(number: re.Match[bytes] | None) -> tuple[bool, bytes]:
    assert number is not None
    sign, digits = number.groups()
    significant = digits.lstrip(b"0")
    return sign == b"-" and significant != b"", significant


def _place(text: bytes, token: int) -> int:
    """Where a token begins, counted from 0; the end of the text where it has no such token."""
    parts = text.split(None, token)
    return len(text) - len(parts[token]) if len(parts) > token else len(text)


def _characters(text: bytes, end: int) -> int:
    return len(text[:end].decode("utf-8", "surrogatepass"))


def _difference(message: str, expected_text: bytes, got_text: bytes, token: int) -> Difference:
    at = _place(got_text, token)
    return Difference(
        message=message,
        line=got_text.count(b"\n", 0, at) + 1,
        expected_at=_characters(expected_text, _place(expected_text, token)),
        got_at=_characters(got_text, at),
    )


def _token_difference(
    expected_text: bytes, got_text: bytes, token: int, one: bytes, other: bytes
) -> Difference:
    at = _place(got_text, token)
    start = got_text.rfind(b"\n", 0, at) + 1
    line, place_in_line = got_text.count(b"\n", 0, at) + 1, len(got_text[start:at].split()) + 1
    expected, got = (each.decode("utf-8", "surrogatepass") for each in (one, other))
    message = f"line {line}, token {place_in_line}: {_describe(expected, got)}"
    return _difference(message, expected_text, got_text, token)


def _length_difference(
    expected_text: bytes, got_text: bytes, expected_tokens: list[bytes], got_tokens: list[bytes]
) -> Difference:
    """The difference where one answer is the beginning of the other."""
    missing = len(expected_tokens) - len(got_tokens)
    common = min(len(expected_tokens), len(got_tokens))
    first = (expected_tokens if missing > 0 else got_tokens)[common].decode(
        "utf-8", "surrogatepass"
    )
    tokens = "token" if abs(missing) == 1 else "tokens"
    shown = _shorten(first, 0)
    if missing > 0 and not got_tokens:
        message = f"nothing was printed; expected {missing} {tokens}, the first {shown}"
    elif missing > 0:
        message = f"the output ends too early: expected {missing} more {tokens}, the next {shown}"
    else:
        message = f"the output goes on too long: {-missing} {tokens} too many, the first {shown}"
    return _difference(message, expected_text, got_text, common)


def _compare_exactly(expected: str, got: str) -> Difference | None:
    """Compare every character except line ends at the very end."""
    expected_text, got_text = expected.rstrip("\r\n"), got.rstrip("\r\n")
    if expected_text == got_text:
        return None
    at = _first_difference(expected_text, got_text)
    line = got_text.count("\n", 0, at) + 1
    start = got_text.rfind("\n", 0, at) + 1
    expected_line, got_line = (
        repr(text[start:].partition("\n")[0]) for text in (expected_text, got_text)
    )
    if expected_line == got_line:
        # They differ after the line: one of the two ends with it.
        message = f"line {line}: expected {'an end' if len(expected_text) < len(got_text) else 'more lines'}"
    else:
        message = f"line {line}: {_describe(expected_line, got_line)}"
    return Difference(message=message, line=line, expected_at=at, got_at=at)


def _first_difference(one: str, other: str) -> int:
    """The first position of a difference, by halving: comparing long texts is faster than a loop."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _describe(expected: str, got: str) -> str:
    """Both texts; long ones only around the character where they differ."""
    at = _first_difference(expected, got)
    long = max(len(expected), len(got)) > _MAX_SHOWN
    where = f" (they differ at character {at + 1})" if long else ""
    return f"expected {_shorten(expected, at)}, got {_shorten(got, at)}{where}"


def _shorten(text: str, at: int) -> str:
    if len(text) <= _MAX_SHOWN:
        return text
    start = max(0, min(at - _MAX_SHOWN // 2, len(text) - _MAX_SHOWN))
    end = start + _MAX_SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
