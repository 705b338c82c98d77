"""The native format: one JSON object per problem, checked for spelling and written canonically."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args

import msgspec

from autoreason.errors import InvalidInput, plainly
from autoreason.programs.assignment import Example
from autoreason.programs.problems.answer_comparison import Checker
from autoreason.programs.problems.problem import Problem, check_problem
from autoreason.programs.problems.record_fields import Record, record_name

FIELDS = Problem.__struct_fields__
CHECKERS = get_args(Checker)
_TESTS = ("public_tests", "private_tests")
_OTHER_TEST_FIELDS = ("tests", "test", "test_cases")
_IGNORED_FIELDS = frozenset(
    {"contest", "index", "difficulty_code", "max_test_s", "wrong_solutions"}
)
"""Known fields of published sets that are not used."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Problem)


def read_native(raw: Record) -> Problem:
    """Read a problem as people write it: tests as pairs, objects or asserts, implied fields left out."""
    known = {key: value for key, value in raw.items() if key in FIELDS}
    _check_spelling(raw)
    name = record_name(raw)
    if isinstance(known.get("difficulty"), int | float):
        known["difficulty"] = str(known["difficulty"])
    for field in _TESTS:
        known[field] = _tests(known.get(field), name, field)
    tests = known["public_tests"] + known["private_tests"]
    if "kind" not in known and (known.get("entry_point") or any(test.code for test in tests)):
        known["kind"] = "function"
    if "checker" not in known and known.get("tolerance") is not None:
        known["checker"] = "float"
    if "checker" not in known and known.get("checker_program"):
        known["checker"] = "special"
    return build_problem(known)


def build_problem(fields: Record) -> Problem:
    """A checked problem from its fields; a field of the wrong type is named."""
    name = record_name(fields)
    for field in ("id", "statement"):
        if fields.get(field) is None:
            raise InvalidInput(f"{name}: `{field}` is missing; give it")
    if fields.get("checker", CHECKERS[0]) not in CHECKERS:
        raise InvalidInput(
            f"{name}: unknown checker {fields['checker']!r}; known are {', '.join(CHECKERS)}"
        )
    try:
        problem = msgspec.convert(fields, Problem)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{name}: {plainly(error)}; correct it") from None
    return check_problem(problem)


def encode_set(problems: Sequence[Problem]) -> bytes:
    """Problems as one line each, always the same bytes for the same problems."""
    return _encoder.encode_lines(problems)


def decode_set(data: bytes) -> tuple[Problem, ...]:
    """Read what `encode_set` wrote."""
    try:
        return tuple(check_problem(problem) for problem in _decoder.decode_lines(data))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InvalidInput(
            "this copy of a set of problems is damaged; give the set itself again"
        ) from None


def _check_spelling(raw: Record) -> None:
    for key in raw:
        if key in FIELDS or key in _IGNORED_FIELDS:
            continue
        if key in _OTHER_TEST_FIELDS:
            raise InvalidInput(
                f"{record_name(raw)}: unknown field `{key}`; give those that models may see as `public_tests` "
                "and those that only score as `private_tests`"
            )
        if similar := get_close_matches(key, FIELDS, n=1, cutoff=0.8):
            raise InvalidInput(
                f"{record_name(raw)}: unknown field `{key}`; did you mean `{similar[0]}`?"
            )


def _tests(value: Any, name: str, field: str) -> tuple[Example, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidInput(f"{name}: `{field}` is not a list; give a list of tests")
    return tuple(_test(test, f"{name}: `{field}[{number}]`") for number, test in enumerate(value))


def _test(value: Any, where: str) -> Example:
    match value:
        case Example():
            return value
        case str(code):
            return Example(code=code)
        case [str(input_), str(printed)]:
            return Example(input=input_, output=printed)
        case {**fields} if fields and set(fields) <= set(Example.__struct_fields__):
            try:
                return msgspec.convert(fields, Example)
            except msgspec.ValidationError as error:
                raise InvalidInput(f"{where}: {plainly(error)}; correct it") from None
        case _:
            raise InvalidInput(
                f"{where} is not a test; give [input, output], an object with `input` and `output`, "
                "or, for a function, an assert"
            )
