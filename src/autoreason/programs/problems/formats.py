"""Reads sets of problems from files: the native format, the format of each record, and which records are broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.programs.problems.problem import (
    BrokenRecord,
    Problem,
    ProblemSet,
    check_problem,
    set_digest,
)
from autoreason.programs.problems.published_formats import (
    Record,
    read_contest,
    read_humaneval,
    read_livecodebench,
    read_mbpp,
    read_record,
    record_name,
)

MAX_FILE_BYTES = 1 << 30
"""Bytes of a file."""

FIELDS = Problem.__struct_fields__
_OTHER_TEST_FIELDS = ("tests", "test", "test_cases")
_COMPRESSED_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
"""How files of gzip, bzip2, xz, zstd and zip begin."""


def read_native(raw: Record) -> Problem:
    """Read a problem as people write it: tests as pairs, objects or asserts, implied fields left out."""
    name = record_name(raw)
    for key in (each for each in raw if each not in FIELDS):
        if key in _OTHER_TEST_FIELDS:
            raise InvalidInput(
                f"{name}: unknown field `{key}`; give those that models may see as `public_tests` "
                "and those that only score as `private_tests`"
            )
        if similar := get_close_matches(key, FIELDS, n=1, cutoff=0.85):
            raise InvalidInput(f"{name}: unknown field `{key}`; did you mean `{similar[0]}`?")
    fields = {key: value for key, value in raw.items() if key in FIELDS and value is not None}
    if isinstance(fields.get("difficulty"), int | float):
        fields["difficulty"] = str(fields["difficulty"])
    for field in ("public_tests", "private_tests"):
        if isinstance(tests := fields.get(field), list):
            fields[field] = [
                _native_test(test, f"{name}: `{field}[{n}]`") for n, test in enumerate(tests)
            ]
    tests = [test for field in ("public_tests", "private_tests") for test in fields.get(field, ())]
    if fields.get("entry_point") or any(isinstance(t, dict) and "code" in t for t in tests):
        fields.setdefault("kind", "function")
    if "tolerance" in fields:
        fields.setdefault("checker", "float")
    if fields.get("checker_program"):
        fields.setdefault("checker", "special")
    return check_problem(read_record(raw, Problem, fields))


def _native_test(test: Any, where: str) -> Any:
    match test:
        case str(code):
            return {"code": code}
        case [str(entered), str(printed)]:
            return {"input": entered, "output": printed}
        case {**fields} if fields and set(fields) <= {"input", "output", "code"}:
            return fields
    raise InvalidInput(
        f"{where} is not a test; give [input, output], an object with `input` and `output`, "
        "or, for a function, an assert"
    )


FORMATS: tuple[tuple[str, set[str], Callable[[Record], Problem]], ...] = (
    ("autoreason", {"statement"}, read_native),
    ("LiveCodeBench", {"question_content"}, read_livecodebench),
    ("CodeContests", {"description", "name"}, read_contest),
    ("HumanEval", {"entry_point", "prompt"}, read_humaneval),
    ("MBPP", {"test_list"}, read_mbpp),
    ("MBPP", {"tests", "prompt"}, read_mbpp),
    ("autoreason", {"id"}, read_native),
)
"""Formats, the fields by which their records are known, and how they are read; the first that fits counts."""
_KNOWN_FORMATS = ", ".join(sorted({name for name, _, _ in FORMATS}))

_Entry = tuple[int, Any, str, Literal["line", "entry"]]
"""Its number, what was read, why it could not be, and what the number counts."""


def format_of(record: Record) -> str | None:
    """The name of a record's format, by its fields."""
    return next((name for name, fields, _ in FORMATS if fields <= record.keys()), None)


def read_problems(source: Path | str) -> ProblemSet:
    """The problems of a file, or of standard input for `-`; broken records are left out and listed."""
    name = _name_of(source)
    problems: dict[str, Problem] = {}
    first: dict[str, str] = {}
    broken, formats = [], set()
    for number, record, reason, unit in _entries(_read(source), name):
        try:
            if reason:
                raise InvalidInput(reason)
            format_name, problem = _read_problem(record)
            if where := first.get(problem.id):
                raise InvalidInput(
                    f"the id {problem.id!r} is taken by {where}; give the problem another"
                )
        except InvalidInput as error:
            broken.append(BrokenRecord(line=number, reason=str(error), unit=unit))
            continue
        formats.add(format_name)
        problems[problem.id], first[problem.id] = problem, f"{unit} {number}"
    if not problems:
        why = f"; the first: {broken[0]}" if broken else ""
        raise InvalidInput(f"{name} has no usable problem{why}")
    usable = tuple(problems.values())
    return ProblemSet(
        problems=usable,
        broken=tuple(broken),
        format=", ".join(sorted(formats)),
        digest=set_digest(usable),
    )


def _read_problem(record: Any) -> tuple[str, Problem]:
    for name, fields, read in FORMATS:
        if isinstance(record, dict) and fields <= record.keys():
            return name, read(record)
    raise InvalidInput(f"this is not a problem in a known format; known are {_KNOWN_FORMATS}")


def read_program(source: str) -> str:
    """A program from a file, or from standard input for `-`."""
    try:
        return _read(source).decode()
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{_name_of(source)} is not UTF-8 text; save the program as UTF-8"
        ) from None


def _name_of(source: Path | str) -> str:
    return "standard input" if str(source) == "-" else str(source)


def _read(source: Path | str) -> bytes:
    name = _name_of(source)
    try:
        if str(source) == "-":
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with open_input(Path(source).expanduser()) as file:
                data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, RuntimeError) as error:
        # The latter where a leading ~ names a user that does not exist.
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"cannot read {name}: {why}; name a file") from None
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInput(f"{name} is over {MAX_FILE_BYTES >> 30} GiB; split it")
    if data.startswith(_COMPRESSED_MAGIC):
        raise InvalidInput(f"{name} is compressed; unpack it, or pipe it through zcat to `-`")
    return data.removeprefix(b"\xef\xbb\xbf")


def _entries(data: bytes, name: str) -> Iterator[_Entry]:
    """One JSON object, a list of them, or one on each line."""
    text = data.strip()
    if not text:
        raise InvalidInput(f"{name} is empty; give problems as JSON, one per line or in a list")
    head, _, rest = text.partition(b"\n")
    by_line = rest and isinstance(_decode(head)[0], dict)
    whole, reason = (None, "") if by_line else _decode(text)
    if isinstance(whole, list):
        for number, record in enumerate(whole, 1):
            yield number, record, "", "entry"
    elif isinstance(whole, dict):
        yield 1, whole, "", "line"
    elif name.endswith(".json") and not by_line:
        raise InvalidInput(f"{name} is {reason or 'not a JSON object'}; correct it")
    else:
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                record, reason = _decode(line)
                yield number, record, reason and "this is not valid JSON; correct it", "line"


def _decode(data: bytes) -> tuple[Any, str]:
    """A JSON value, or why it is none."""
    try:
        return msgspec.json.decode(data), ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, f"not valid JSON ({error})"
