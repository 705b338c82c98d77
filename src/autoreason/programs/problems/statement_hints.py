"""What a statement says about judging its answers: a tolerance, any case, several right answers."""

from __future__ import annotations

import re

_MINUS = r"[-\u2212\u2013]"
_POWER = re.compile(
    rf"10\s*(?:\^|\*\*|<sup>)?\s*\{{?\s*{_MINUS}\s*(?P<power>\d{{1,2}})(?!\d)"
    rf"|1(?:\.0)?[eE]{_MINUS}0?(?P<exponent>\d{{1,2}})(?!\d)"
    r"|0\.(?P<zeros>0+)1(?!\d)"
)
_ABOUT_ERRORS = re.compile(
    r"error|precision|accura|inaccura|tolerance|differ|deviat|considered (?:correct|valid)|accepted",
    re.IGNORECASE,
)
_NEAR = 200
_FINEST = 15
_ANY_CASE = re.compile(
    r"in any (?:letter )?case|case[- ]insensitive|any register|(?:upper|lower)[- ]?case or (?:upper|lower)"
    r"|regardless of case|case (?:does not|doesn't) matter",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"any (?:one )?of (?:them|these|the)\b|in any order|any order you"
    r"|(?:print|output|return|construct|give) any\b"
    r"|any (?:valid|correct|suitable|optimal|possible|acceptable|such) (?:answer|solution|one|output)"
    r"|(?:multiple|several|many|various) (?:\w+ )?(?:answers|solutions|outputs)"
    r"|more than one (?:\w+ )?(?:answer|solution)",
    re.IGNORECASE,
)


def stated_tolerance(statement: str) -> float | None:
    """The error an answer may have, where the statement mentions errors and a small number."""
    for match in _POWER.finditer(statement):
        if _ABOUT_ERRORS.search(statement, max(0, match.start() - _NEAR), match.start()):
            power, exponent, zeros = match.group("power", "exponent", "zeros")
            digits = len(zeros) + 1 if zeros else int(power or exponent)
            if 1 <= digits <= _FINEST:
                return float(f"1e-{digits}")
    return None


def allows_any_case(statement: str) -> bool:
    """Whether letters may be printed in upper or lower case."""
    return _ANY_CASE.search(statement) is not None


def has_several_answers(statement: str) -> bool:
    """Whether it says that more than one answer is right."""
    return _SEVERAL.search(statement) is not None
