"""Whether an answer is right by the rules of contest judges, and where it first differs."""

from __future__ import annotations

import math
import re
import sys
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
_WHOLE = re.compile(rb"([+-]?\d++)(?:\.0*+)?")
_NUMBER = re.compile(rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,4})?")
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
    expected_at: int
    """Where it begins in the text expected, in characters from 0."""
    got_at: int


def compare(expected: str, got: str, how: Comparison) -> Difference | None:
    """The first significant difference; None where the answer is right."""
    if expected == got:
        return None
    if how.checker == "exact":
        return _compare_exactly(expected, got)
    # Bytes split at ASCII white space, as judges do; text would also split at that of Unicode.
    expected_text, got_text = _bytes(expected), _bytes(got)
    wanted, tokens = expected_text.split(), got_text.split()
    if wanted == tokens:
        return None
    common = min(len(wanted), len(tokens))
    pairs = enumerate(zip(wanted, tokens, strict=False))
    place = next((n for n, pair in pairs if pair[0] != pair[1] and not _match(*pair, how)), common)
    at = _start_of(got_text, place)
    if place < common:
        line_start = got_text.rfind(b"\n", 0, at) + 1
        line = got_text.count(b"\n", 0, at) + 1
        token = len(got_text[line_start:at].split()) + 1
        difference = _describe(_text(wanted[place]), _text(tokens[place]))
        message = f"line {line}, token {token}: {difference}"
    elif len(wanted) == len(tokens):
        return None
    else:
        message = _describe_length(wanted, tokens)
    return Difference(
        message=message,
        expected_at=len(_text(expected_text[: _start_of(expected_text, place)])),
        got_at=len(_text(got_text[:at])),
    )


def canonical(answer: str, how: Comparison) -> str:
    """An answer as text that is the same for equal answers, except for numbers at the edge of the tolerance."""
    if how.checker == "exact":
        return answer.rstrip("\r\n")
    return " ".join(_canonical(token, how) for token in _bytes(answer).split())


def _canonical(token: bytes, how: Comparison) -> str:
    if how.ignore_case or (how.checker == "float" and token.lower() in _ANSWERS):
        return _text(token).casefold()
    if how.checker == "float" and _NUMBER.fullmatch(token) and not _INTEGER.fullmatch(token):
        digits = max(1, math.floor(-math.log10(how.tolerance or TOLERANCE)))
        return number_text(float(token), digits)
    return _text(token)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _match(expected: bytes, got: bytes, how: Comparison) -> bool:
    """Whether two different tokens count as equal."""
    if how.ignore_case and _text(expected).casefold() == _text(got).casefold():
        return True
    if how.checker != "float":
        return False
    if expected.lower() in _ANSWERS:
        return expected.lower() == got.lower()
    if _INTEGER.fullmatch(expected) and (whole := _WHOLE.fullmatch(got)):
        # Digit by digit: integers of any length, none of them rounded to a double.
        return _digits(expected) == _digits(whole[1])
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(got)):
        return False
    right = float(expected)
    return abs(right - float(got)) <= (how.tolerance + _ROUNDING) * max(1.0, abs(right))


def _digits(number: bytes) -> tuple[bool, bytes]:
    significant = number.lstrip(b"+-").lstrip(b"0")
    return number.startswith(b"-") and significant != b"", significant


def _start_of(text: bytes, token: int) -> int:
    """Where a token begins, counted from 0; the end of the text where it has no such token."""
    parts = text.split(None, token)
    return len(text) - len(parts[token]) if len(parts) > token else len(text)


def _describe_length(wanted: list[bytes], tokens: list[bytes]) -> str:
    """The difference where one answer is the beginning of the other."""
    missing = len(wanted) - len(tokens)
    first = (wanted if missing > 0 else tokens)[min(len(wanted), len(tokens))]
    shown, plural = _shorten(_text(first), 0), "token" if abs(missing) == 1 else "tokens"
    if missing < 0:
        return f"the output goes on too long: {-missing} {plural} too many, the first {shown}"
    if not tokens:
        return f"nothing was printed; expected {missing} {plural}, the first {shown}"
    return f"the output ends too early: expected {missing} more {plural}, the next {shown}"


def _compare_exactly(expected: str, got: str) -> Difference | None:
    """Compare every character except line ends at the very end."""
    expected, got = expected.rstrip("\r\n"), got.rstrip("\r\n")
    if expected == got:
        return None
    at = _first_difference(expected, got)
    start = got.rfind("\n", 0, at) + 1
    lines = [repr(text[start:].partition("\n")[0]) for text in (expected, got)]
    # Lines that are equal differ after their end: one of the two texts ends with it.
    ended = "expected an end" if len(expected) < len(got) else "expected more lines"
    difference = ended if lines[0] == lines[1] else _describe(*lines)
    message = f"line {got.count(chr(10), 0, at) + 1}: {difference}"
    return Difference(message=message, expected_at=at, got_at=at)


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
