"""Records of LiveCodeBench, with their packed private tests."""

from __future__ import annotations

import base64
import binascii
import pickletools
import re
import zlib
from typing import Any

import msgspec

from autoreason.assignment import Example
from autoreason.errors import InvalidInput
from autoreason.programs.problems.contests import stated_checker
from autoreason.programs.problems.fields import Record, named, text
from autoreason.programs.problems.own import convert
from autoreason.programs.problems.problem import Problem
from autoreason.programs.problems.statements import any_case

LARGEST = 256 << 20
"""Bytes of unpacked private tests."""

_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
_TEXTS = frozenset({"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_TYPING = re.compile(
    r"\b(?:Any|Callable|DefaultDict|Deque|Dict|Iterator|List|Optional|Set|Tuple|Union)\b"
)


def read_livecodebench(raw: Record) -> Problem:
    """Tests as given, public and private; a function is a method of `Solution`."""
    shown = _tests(raw, "public_test_cases")
    hidden = _tests(raw, "private_test_cases")
    question = text(raw, "question_content")
    method = any(test.get("testtype") == "functional" for test in (*shown, *hidden))
    fields = {
        "id": text(raw, "question_id"),
        "title": text(raw, "question_title", ""),
        "difficulty": text(raw, "difficulty", ""),
        "source": "/".join(filter(None, ("LiveCodeBench", text(raw, "platform", "")))),
    }
    if method:
        return convert(fields | _function(raw, question, shown, hidden))
    return convert(
        fields
        | {
            "statement": question,
            "public_tests": tuple(_printed(raw, test) for test in shown),
            "private_tests": tuple(_printed(raw, test) for test in hidden),
            "checker": stated_checker(question),
            "ignore_case": any_case(question),
        }
    )


def _function(raw: Record, question: str, shown: list[Record], hidden: list[Record]) -> Record:
    name, starter = _method(raw), text(raw, "starter_code", "")
    if needed := sorted(set(_TYPING.findall(starter))):
        starter = f"from typing import {', '.join(needed)}\n\n\n{starter}"
    begin = f":\n\n```python\n{starter.rstrip()}\n```" if starter.strip() else "."
    return {
        "statement": f"{question}\n\nWrite the class `Solution` with the method `{name}`{begin}",
        "kind": "function",
        "entry_point": "Solution",
        "starter": starter,
        "public_tests": tuple(_called(raw, test, name) for test in shown),
        "private_tests": tuple(_called(raw, test, name) for test in hidden),
    }


def _method(raw: Record) -> str:
    given = raw.get("metadata")
    metadata = _json(given) if isinstance(given, str) else given
    name = metadata.get("func_name") if isinstance(metadata, dict) else None
    if not (isinstance(name, str) and name.isidentifier()):
        raise InvalidInput(f"{named(raw)}: no `func_name` in `metadata`; name the method there")
    return name


def _tests(raw: Record, field: str) -> list[Record]:
    """A list, the JSON of one, or that packed: pickled, compressed and in base64."""
    given = raw.get(field)
    if given is None or given == "":
        return []
    found = _json(given) if isinstance(given, str) else given
    if found is None and isinstance(given, str):
        found = _json(_unpacked(given) or "")
    if not isinstance(found, list) or not all(isinstance(test, dict) for test in found):
        raise InvalidInput(f"{named(raw)}: `{field}` cannot be unpacked; fetch the record again")
    return found


def _unpacked(packed: str) -> str | None:
    """The text that was pickled. Nothing is unpickled: a pickle of anything but one text is refused."""
    try:
        engine = zlib.decompressobj()
        data = engine.decompress(base64.b64decode(packed, validate=True), LARGEST)
        if not engine.eof:
            return None
        steps = [(step.name, held) for step, held, _ in pickletools.genops(data)]
    except (ValueError, binascii.Error, zlib.error):
        return None
    held = [value for name, value in steps if name in _TEXTS]
    others = {name for name, _ in steps} - _TEXTS - _HARMLESS
    return held[0] if len(held) == 1 and not others else None


def _printed(raw: Record, test: Record) -> Example:
    return Example(input=_text_of(raw, test, "input"), output=_text_of(raw, test, "output"))


def _called(raw: Record, test: Record, name: str) -> Example:
    """One argument a line, each as JSON, and so is the value expected."""
    lines = [line for line in _text_of(raw, test, "input").split("\n") if line.strip()]
    *arguments, wanted = (_literal(raw, one) for one in (*lines, _text_of(raw, test, "output")))
    return Example(code=f"assert Solution().{name}({', '.join(arguments)}) == {wanted}")


def _text_of(raw: Record, test: Record, field: str) -> str:
    value = test.get(field, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{named(raw)}: `{field}` of a test is no text; correct it")
    return value


def _literal(raw: Record, written: str) -> str:
    """A JSON value as Python writes it."""
    try:
        return repr(msgspec.json.decode(written))
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{named(raw)}: {written[:40]!r} in a test is not JSON; correct it"
        ) from None


def _json(written: str) -> Any:
    try:
        return msgspec.json.decode(written)
    except (msgspec.DecodeError, RecursionError):
        return None
