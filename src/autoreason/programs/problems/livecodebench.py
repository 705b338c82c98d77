"""Records of LiveCodeBench, with their packed private tests."""

from __future__ import annotations

import base64
import binascii
import pickletools
import re
import zlib
from typing import Any

import msgspec

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.contests import stated_checker
from autoreason.programs.problems.native_format import build_problem
from autoreason.programs.problems.problem import Problem
from autoreason.programs.problems.record_fields import Record, record_name, text_field
from autoreason.programs.problems.statement_hints import allows_any_case

MAX_UNPACKED_BYTES = 256 << 20
"""Bytes of unpacked private tests."""

_HARMLESS_OPCODES = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
_TEXT_OPCODES = frozenset({"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_TYPING = re.compile(
    r"\b(?:Any|Callable|DefaultDict|Deque|Dict|Iterator|List|Optional|Set|Tuple|Union)\b"
)


def read_livecodebench(raw: Record) -> Problem:
    """Read a record: tests public and private as given; a function is a method of `Solution`."""
    public = _tests(raw, "public_test_cases")
    private = _tests(raw, "private_test_cases")
    question = text_field(raw, "question_content")
    method = any(test.get("testtype") == "functional" for test in (*public, *private))
    fields = {
        "id": text_field(raw, "question_id"),
        "title": text_field(raw, "question_title", ""),
        "difficulty": text_field(raw, "difficulty", ""),
        "source": "/".join(filter(None, ("LiveCodeBench", text_field(raw, "platform", "")))),
    }
    if method:
        return build_problem(fields | _function(raw, question, public, private))
    return build_problem(
        fields
        | {
            "statement": question,
            "public_tests": tuple(_stdio_test(raw, test) for test in public),
            "private_tests": tuple(_stdio_test(raw, test) for test in private),
            "checker": stated_checker(question),
            "ignore_case": allows_any_case(question),
        }
    )


def _function(raw: Record, question: str, public: list[Record], private: list[Record]) -> Record:
    name, starter = _method(raw), text_field(raw, "starter_code", "")
    if needed := sorted(set(_TYPING.findall(starter))):
        starter = f"from typing import {', '.join(needed)}\n\n\n{starter}"
    suffix = f":\n\n```python\n{starter.rstrip()}\n```" if starter.strip() else "."
    return {
        "statement": f"{question}\n\nWrite the class `Solution` with the method `{name}`{suffix}",
        "kind": "function",
        "entry_point": "Solution",
        "starter": starter,
        "public_tests": tuple(_function_test(raw, test, name) for test in public),
        "private_tests": tuple(_function_test(raw, test, name) for test in private),
    }


def _method(raw: Record) -> str:
    value = raw.get("metadata")
    metadata = _json(value) if isinstance(value, str) else value
    name = metadata.get("func_name") if isinstance(metadata, dict) else None
    if not (isinstance(name, str) and name.isidentifier()):
        raise InvalidInput(
            f"{record_name(raw)}: no `func_name` in `metadata`; name the method there"
        )
    return name


def _tests(raw: Record, field: str) -> list[Record]:
    """Tests from a list, from JSON, or from packed JSON: pickled, compressed and in base64."""
    value = raw.get(field)
    if value is None or value == "":
        return []
    tests = _json(value) if isinstance(value, str) else value
    if tests is None and isinstance(value, str):
        tests = _json(_unpack(value) or "")
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        raise InvalidInput(
            f"{record_name(raw)}: `{field}` cannot be unpacked; fetch the record again"
        )
    return tests


def _unpack(packed: str) -> str | None:
    """The text that was pickled. Nothing is unpickled: a pickle of anything but one text is refused."""
    try:
        engine = zlib.decompressobj()
        data = engine.decompress(base64.b64decode(packed, validate=True), MAX_UNPACKED_BYTES)
        if not engine.eof:
            return None
        steps = [(step.name, argument) for step, argument, _ in pickletools.genops(data)]
    except (ValueError, binascii.Error, zlib.error):
        return None
    texts_found = [value for name, value in steps if name in _TEXT_OPCODES]
    others = {name for name, _ in steps} - _TEXT_OPCODES - _HARMLESS_OPCODES
    return texts_found[0] if len(texts_found) == 1 and not others else None


def _stdio_test(raw: Record, test: Record) -> Example:
    return Example(input=_text_of(raw, test, "input"), output=_text_of(raw, test, "output"))


def _function_test(raw: Record, test: Record, name: str) -> Example:
    """A test of a function: one argument per line, each as JSON like the expected value."""
    lines = [line for line in _text_of(raw, test, "input").split("\n") if line.strip()]
    *arguments, wanted = (_literal(raw, one) for one in (*lines, _text_of(raw, test, "output")))
    return Example(code=f"assert Solution().{name}({', '.join(arguments)}) == {wanted}")


def _text_of(raw: Record, test: Record, field: str) -> str:
    value = test.get(field, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{record_name(raw)}: `{field}` of a test is not text; correct it")
    return value


def _literal(raw: Record, source: str) -> str:
    """A JSON value as a Python literal."""
    try:
        return repr(msgspec.json.decode(source))
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{record_name(raw)}: {source[:40]!r} in a test is not JSON; correct it"
        ) from None


def _json(source: str) -> Any:
    try:
        return msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError):
        return None
