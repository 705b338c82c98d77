"""Records of CodeContests, as its data set and its protocol buffers are written in JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.answer_comparison import Checker
from autoreason.programs.problems.native_format import build_problem
from autoreason.programs.problems.problem import MAX_SECONDS, MEMORY_RANGE_MB, Problem
from autoreason.programs.problems.record_fields import (
    Record,
    number_field,
    record_name,
    text_field,
    texts_field,
)
from autoreason.programs.problems.statement_hints import (
    allows_any_case,
    has_several_answers,
    stated_tolerance,
)

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
    """Read a record: public tests are public; private and generated ones are private."""
    record = {_CAPITAL.sub("_", key).lower(): value for key, value in raw.items()}
    name, statement = text_field(record, "name"), text_field(record, "description")
    for field in ("input_file", "output_file"):
        if (file := text_field(record, field, "")) not in _STREAMS:
            raise InvalidInput(
                f"{record_name(raw)}: it uses the file {file!r}; only streams are judged"
            )
    return build_problem(
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
            "ignore_case": allows_any_case(statement),
            "solution": _solution(record),
            "tags": tuple(tag for tag in texts_field(record, "cf_tags") if tag),
            "source": _source(record),
        }
    )


def stated_checker(statement: str) -> Checker:
    """How answers are compared, according to the statement."""
    if has_several_answers(statement):
        return "special"
    return "tokens" if stated_tolerance(statement) is None else "float"


def _tests(record: Record, field: str) -> Iterator[Example]:
    """Tests from a list of objects, or from one object of lists."""
    for entered, printed in _pairs(record, field, "input", "output"):
        if not (isinstance(entered, str) and isinstance(printed, str)):
            raise InvalidInput(
                f"{record_name(record)}: `{field}` has values that are not text; correct it"
            )
        yield Example(input=entered, output=printed)


def _pairs(record: Record, field: str, one: str, other: str) -> list[tuple[Any, Any]]:
    value: Any = record.get(field)
    match value:
        case None:
            return []
        case {**columns}:
            first, second = columns.get(one), columns.get(other)
            if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
                return list(zip(first, second, strict=True))
        case [*rows] if all(isinstance(row, dict) for row in rows):
            # Protocol buffers leave out what is empty.
            return [(row.get(one, ""), row.get(other, "")) for row in rows]
    raise InvalidInput(
        f"{record_name(record)}: `{field}` is not a set of `{one}` and `{other}`; correct it"
    )


def _difficulty(record: Record) -> str:
    rating = number_field(record, "cf_rating")
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
    """At least the default limit: contests set theirs for compiled languages."""
    value = record.get("time_limit")
    if isinstance(value, dict):
        limit = (number_field(value, "seconds") or 0) + (number_field(value, "nanos") or 0) / 1e9
    else:
        limit = number_field({"": str(value).removesuffix("s")}, "") or 0
    return min(max(limit, _SECONDS), MAX_SECONDS)


def _megabytes(record: Record) -> int:
    limit = number_field(record, "memory_limit_bytes") or 0
    return int(min(max(limit / 1_000_000, _MEGABYTES), MEMORY_RANGE_MB[1]))


def _solution(record: Record) -> str:
    solutions = _pairs(record, "solutions", "language", "solution")
    programs = (program for language, program in solutions if language in _PYTHON)
    return next((program for program in programs if isinstance(program, str)), "")


def _source(record: Record) -> str:
    match record.get("source"):
        case int(code) if 0 < code < len(_SOURCES):
            return f"CodeContests/{_SOURCES[code]}"
        case str(word) if word:
            known = {one.replace(" ", "").upper(): one for one in _SOURCES if one}
            return f"CodeContests/{known.get(word.upper(), word)}"
        case _:
            return "CodeContests"
