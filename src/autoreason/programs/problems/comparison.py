"""Whether an answer is right, as a contest's judge decides it, and where it first differs."""

from __future__ import annotations

import math
import re
import sys
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Literal

from msgspec import Struct

from autoreason.programs.sandbox.observation import number_text

Checker = Literal["tokens", "exact", "float", "special"]
"""How answers are compared; `special`: several are right, and comparing cannot tell."""

TOLERANCE = 1e-6
"""Where a problem compares numbers and says nothing else."""

_ANSWERS = frozenset(
    {b"yes", b"no", b"true", b"false", b"possible", b"impossible", b"ok", b"none", b"never"}
)
# Possessive throughout: what a program prints must not make matching slow.
_INTEGER = re.compile(rb"[+-]?\d++")
_WHOLE = re.compile(rb"([+-]?)(\d++)(?:\.0*+)?")
_NUMBER = re.compile(rb"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,4})?")
# Room for whatever the pattern above lets pass, so that nothing overflows to infinity.
_ARITHMETIC = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_ROUNDING = 4 * sys.float_info.epsilon
"""More than two doubles, their difference and what is allowed can be off, each by its own size."""
_SHOWN = 40


class Comparison(Struct, frozen=True, kw_only=True):
    """How the answers of one problem are compared."""

    checker: Checker = "tokens"
    tolerance: float = TOLERANCE
    """Absolute or relative; for `float` only."""
    ignore_case: bool = False
    """Tokens match in any case; for `tokens` and `float`."""


class Difference(Struct, frozen=True, kw_only=True):
    """Where an answer first differs from the one expected."""

    said: str
    """In words: `line 3, token 2: expected 17, got 18`."""
    line: int
    """Of the answer, from 1."""
    expected_at: int
    """Where it begins in the text expected, in characters from 0."""
    got_at: int

    def __str__(self) -> str:
        return self.said


def compare(expected: str, got: str, how: Comparison) -> Difference | None:
    """The first difference that counts; None where the answer is right."""
    if expected == got:
        return None
    if how.checker == "exact":
        return _compare_exactly(expected, got)
    wanted, had = _bytes(expected), _bytes(got)
    ours, theirs = wanted.split(), had.split()
    if ours == theirs:
        return None
    for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other and not _match(one, other, how):
            return _differing(wanted, had, place, one, other)
    if len(ours) == len(theirs):
        return None
    return _ending(wanted, had, ours, theirs)


def canonical(answer: str, how: Comparison) -> str:
    """An answer as text that is the same for answers which count as the same, but for numbers at a tolerance's edge."""
    if how.checker == "exact":
        return answer.rstrip("\r\n")
    tokens = [_canonical(token, how) for token in _bytes(answer).split()]
    return b" ".join(tokens).decode("utf-8", "surrogatepass")


def _canonical(token: bytes, how: Comparison) -> bytes:
    if how.checker == "float" and (token.lower() in _ANSWERS or how.ignore_case):
        return _bytes(_folded(token))
    if how.checker == "float" and _NUMBER.fullmatch(token) and not _INTEGER.fullmatch(token):
        digits = max(1, math.floor(-math.log10(how.tolerance or TOLERANCE)))
        return _bytes(number_text(float(token), digits))
    return _bytes(_folded(token)) if how.ignore_case else token


def _bytes(text: str) -> bytes:
    # Bytes split at the blanks judges know; text would also split at those of Unicode.
    return text.encode("utf-8", "surrogatepass")


def _match(expected: bytes, got: bytes, how: Comparison) -> bool:
    """Whether two tokens that are not the same mean the same."""
    if how.ignore_case and _folded(expected) == _folded(got):
        return True
    if how.checker != "float":
        return False
    if expected.lower() in _ANSWERS:
        return expected.lower() == got.lower()
    return _same_number(expected, got, how.tolerance)


def _folded(token: bytes) -> str:
    return token.decode("utf-8", "surrogatepass").casefold()


def _same_number(expected: bytes, got: bytes, tolerance: float) -> bool:
    whole = _WHOLE.fullmatch(got)
    if whole and _INTEGER.fullmatch(expected):
        # Digit by digit: integers of any length, none of them rounded to a double.
        return _digits(_WHOLE.fullmatch(expected)) == _digits(whole)
    if not (_NUMBER.fullmatch(expected) and _NUMBER.fullmatch(got)):
        return False
    near = _plainly_within(float(expected), float(got), tolerance)
    if near is not None:
        return near
    right, given = Decimal(expected.decode()), Decimal(got.decode())
    apart = _ARITHMETIC.abs(_ARITHMETIC.subtract(right, given))
    scale = max(Decimal(1), _ARITHMETIC.abs(right))
    return apart <= _ARITHMETIC.multiply(Decimal(str(tolerance)), scale)


def _plainly_within(right: float, given: float, tolerance: float) -> bool | None:
    """Whether it is within the tolerance where doubles are exact enough to tell; None where they are not."""
    apart, allowed = abs(right - given), tolerance * max(1.0, abs(right))
    doubt = _ROUNDING * (abs(right) + abs(given) + allowed)
    return apart < allowed if abs(apart - allowed) > doubt else None


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


def _difference(said: str, wanted: bytes, had: bytes, token: int) -> Difference:
    at = _place(had, token)
    return Difference(
        said=said,
        line=had.count(b"\n", 0, at) + 1,
        expected_at=_characters(wanted, _place(wanted, token)),
        got_at=_characters(had, at),
    )


def _differing(wanted: bytes, had: bytes, token: int, one: bytes, other: bytes) -> Difference:
    at = _place(had, token)
    start = had.rfind(b"\n", 0, at) + 1
    line, within = had.count(b"\n", 0, at) + 1, len(had[start:at].split()) + 1
    ours, theirs = (each.decode("utf-8", "surrogatepass") for each in (one, other))
    said = f"line {line}, token {within}: {_in_words(ours, theirs)}"
    return _difference(said, wanted, had, token)


def _ending(wanted: bytes, had: bytes, ours: list[bytes], theirs: list[bytes]) -> Difference:
    """One is the beginning of the other."""
    missing = len(ours) - len(theirs)
    common = min(len(ours), len(theirs))
    first = (ours if missing > 0 else theirs)[common].decode("utf-8", "surrogatepass")
    tokens = "token" if abs(missing) == 1 else "tokens"
    shown = _shortened(first, 0)
    if missing > 0 and not theirs:
        said = f"nothing was printed; expected {missing} {tokens}, the first {shown}"
    elif missing > 0:
        said = f"the output ends too early: expected {missing} more {tokens}, the next {shown}"
    else:
        said = f"the output goes on too long: {-missing} {tokens} too many, the first {shown}"
    return _difference(said, wanted, had, common)


def _compare_exactly(expected: str, got: str) -> Difference | None:
    """Every character counts, but for line ends at the very end."""
    wanted, had = expected.rstrip("\r\n"), got.rstrip("\r\n")
    if wanted == had:
        return None
    at = _first_difference(wanted, had)
    line = had.count("\n", 0, at) + 1
    start = had.rfind("\n", 0, at) + 1
    ours, theirs = (repr(text[start:].partition("\n")[0]) for text in (wanted, had))
    if ours == theirs:
        # They differ in what follows the line: one of the two ends with it.
        said = f"line {line}: expected {'an end' if len(wanted) < len(had) else 'more lines'}"
    else:
        said = f"line {line}: {_in_words(ours, theirs)}"
    return Difference(said=said, line=line, expected_at=at, got_at=at)


def _first_difference(one: str, other: str) -> int:
    """By halving: the standard library compares long texts faster than a loop does."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _in_words(expected: str, got: str) -> str:
    """Long tokens only around the character where they differ."""
    at = _first_difference(expected, got)
    long = max(len(expected), len(got)) > _SHOWN
    where = f" (they differ at character {at + 1})" if long else ""
    return f"expected {_shortened(expected, at)}, got {_shortened(got, at)}{where}"


def _shortened(text: str, at: int) -> str:
    if len(text) <= _SHOWN:
        return text
    start = max(0, min(at - _SHOWN // 2, len(text) - _SHOWN))
    end = start + _SHOWN
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
