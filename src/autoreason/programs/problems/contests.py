"""Records of CodeContests, as its data set and its protocol buffers are written in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autoreason.assignment import Example
from autoreason.errors import InvalidInput
from autoreason.programs.problems.comparison import Checker
from autoreason.programs.problems.fields import Record, named, number, text, texts
from autoreason.programs.problems.own import convert
from autoreason.programs.problems.problem import MEGABYTES, SECONDS, Problem
from autoreason.programs.problems.statements import any_case, several_answers, stated_tolerance

_SOURCES = ("", "CodeChef", "Codeforces", "HackerEarth", "Code Jam", "AtCoder", "Aizu")
_DIFFICULTIES = ("", "easy", "medium", "hard", "harder", "hardest", "")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUV"
_MEDIUM, _HARD = 1400, 2000
"""Ratings at Codeforces from which a problem is no longer easy, or medium."""
_PYTHON = (3, "PYTHON3")
_STREAMS = ("", "stdin", "stdout", "standard input", "standard output")
_SECONDS, _MEGABYTES = 10.0, 512
_TITLE = re.compile(r"^\d+_[A-Z]\w*\.\s+")
_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def read_contest(raw: Record) -> Problem:
    """Public tests are public; private and generated ones are private."""
    record = {_CAPITAL.sub("_", key).lower(): value for key, value in raw.items()}
    name, statement = text(record, "name"), text(record, "description")
    for field in ("input_file", "output_file"):
        if (file := text(record, field, "")) not in _STREAMS:
            raise InvalidInput(f"{named(raw)}: it uses the file {file!r}; only streams are judged")
    return convert(
        {
            "id": name,
            "statement": statement,
            "title": _TITLE.sub("", name),
            "difficulty": _difficulty(record),
            "time_limit_s": _seconds(record),
            "memory_limit_mb": _megabytes(record),
            "public_tests": tuple(_tests(record, "public_tests")),
            "private_tests": (
                *_tests(record, "private_tests"),
                *_tests(record, "generated_tests"),
            ),
            "checker": stated_checker(statement),
            "ignore_case": any_case(statement),
            "solution": _solution(record),
            "tags": tuple(tag for tag in texts(record, "cf_tags") if tag),
            "source": _source(record),
        }
    )


def stated_checker(statement: str) -> Checker:
    """How answers are compared, from what a statement says."""
    if several_answers(statement):
        return "special"
    return "tokens" if stated_tolerance(statement) is None else "float"


def _tests(record: Record, field: str) -> Iterator[Example]:
    """From a list of objects, or from one object of lists."""
    for entered, printed in _pairs(record, field, "input", "output"):
        if not (isinstance(entered, str) and isinstance(printed, str)):
            raise InvalidInput(f"{named(record)}: `{field}` holds what is no text; correct it")
        yield Example(input=entered, output=printed)


def _pairs(record: Record, field: str, one: str, other: str) -> list[tuple[Any, Any]]:
    held: Any = record.get(field)
    match held:
        case None:
            return []
        case {**columns}:
            first, second = columns.get(one), columns.get(other)
            if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
                return list(zip(first, second, strict=True))
        case [*rows] if all(isinstance(row, dict) for row in rows):
            # Protocol buffers leave out what is empty.
            return [(row.get(one, ""), row.get(other, "")) for row in rows]
    raise InvalidInput(f"{named(record)}: `{field}` is no set of `{one}` and `{other}`; correct it")


def _difficulty(record: Record) -> str:
    rating = number(record, "cf_rating")
    if rating:
        return "easy" if rating < _MEDIUM else "medium" if rating < _HARD else "hard"
    match record.get("difficulty"):
        case int(code) if 0 <= code < len(_DIFFICULTIES):
            return _DIFFICULTIES[code]
        case int(code) if 0 <= code - len(_DIFFICULTIES) < len(_LETTERS):
            return _LETTERS[code - len(_DIFFICULTIES)]
        case str(word) if word in _LETTERS:
            return word
        case str(word) if word.lower() in _DIFFICULTIES:
            return word.lower()
        case _:
            return ""


def _seconds(record: Record) -> float:
    """Never under our own limit: contests set theirs for compiled languages."""
    held = record.get("time_limit")
    if isinstance(held, dict):
        given = (number(held, "seconds") or 0) + (number(held, "nanos") or 0) / 1e9
    else:
        given = number({"": str(held).removesuffix("s")}, "") or 0
    return min(max(given, _SECONDS), SECONDS)


def _megabytes(record: Record) -> int:
    given = number(record, "memory_limit_bytes") or 0
    return int(min(max(given / 1_000_000, _MEGABYTES), MEGABYTES[1]))


def _solution(record: Record) -> str:
    solutions = _pairs(record, "solutions", "language", "solution")
    ours = (program for language, program in solutions if language in _PYTHON)
    return next((program for program in ours if isinstance(program, str)), "")


def _source(record: Record) -> str:
    match record.get("source"):
        case int(code) if 0 < code < len(_SOURCES):
            return f"CodeContests/{_SOURCES[code]}"
        case str(word) if word:
            known = {one.replace(" ", "").upper(): one for one in _SOURCES if one}
            return f"CodeContests/{known.get(word.upper(), word)}"
        case _:
            return "CodeContests"
