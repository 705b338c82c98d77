"""Reads sets of problems from files: the format of each record, and which records are broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.files import open_input
from autoreason.programs.problems.contests import read_contest
from autoreason.programs.problems.functions import excluded_examples, read_humaneval, read_mbpp
from autoreason.programs.problems.livecodebench import read_livecodebench
from autoreason.programs.problems.native_format import read_native
from autoreason.programs.problems.problem import Problem
from autoreason.programs.problems.record_fields import Record
from autoreason.programs.problems.sets import BrokenRecord, ProblemSet, set_digest

MAX_FILE_BYTES = 1 << 30
"""Bytes of a file."""

_COMPRESSED_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
"""How files of gzip, bzip2, xz, zstd and zip begin."""

READERS: dict[str, Callable[[Record], Problem]] = {
    "autoreason": read_native,
    "CodeContests": read_contest,
    "HumanEval": read_humaneval,
    "LiveCodeBench": read_livecodebench,
    "MBPP": read_mbpp,
}
_KNOWN_FORMATS = ", ".join(READERS)
_TOO_LARGE = "has a number too large to be read; shorten it"
"""The error for a file or a line; such a number is all that JSON allows and its reader refuses."""


class _Entry(Struct):
    line: int
    record: Record | None
    reason: str = ""
    unit: Literal["line", "entry"] = "line"


def read_problems(source: Path | str) -> ProblemSet:
    """The problems of a file, or of standard input for `-`; broken records are left out and listed."""
    name = _name_of(source)
    problems: dict[str, Problem] = {}
    first: dict[str, str] = {}
    broken, formats, notes = [], set(), []
    for entry in _entries(_read(source, name), name):
        try:
            format_name, problem = _read_entry(entry)
            if where := first.get(problem.id):
                raise InvalidInput(
                    f"the id {problem.id!r} is taken by {where}; give the problem another"
                )
        except InvalidInput as error:
            broken.append(BrokenRecord(line=entry.line, reason=str(error), unit=entry.unit))
            continue
        formats.add(format_name)
        if format_name == "HumanEval" and entry.record is not None:
            notes += excluded_examples(entry.record)
        problems[problem.id], first[problem.id] = problem, f"{entry.unit} {entry.line}"
    if not problems:
        raise InvalidInput(_no_problem_message(name, broken))
    usable = tuple(problems.values())
    return ProblemSet(
        problems=usable,
        broken=tuple(broken),
        format=", ".join(sorted(formats)),
        digest=set_digest(usable),
        notes=tuple(notes),
    )


def read_program(source: str) -> str:
    """A program from a file, or from standard input for `-`."""
    name = _name_of(source)
    try:
        return _read(source, name, "Python file").decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save the program as UTF-8") from None


def format_of(record: Record) -> str | None:
    """The name of a record's format, by its fields."""
    has = record.keys().__contains__
    if has("statement"):
        return "autoreason"
    if has("question_content"):
        return "LiveCodeBench"
    if has("description") and has("name"):
        return "CodeContests"
    if has("entry_point") and has("prompt"):
        return "HumanEval"
    if has("test_list") or (has("tests") and has("prompt")):
        return "MBPP"
    return "autoreason" if has("id") else None


def _read_entry(entry: _Entry) -> tuple[str, Problem]:
    if entry.record is None:
        raise InvalidInput(entry.reason)
    name = format_of(entry.record)
    if name is None:
        raise InvalidInput(f"this is not a problem in a known format; known are {_KNOWN_FORMATS}")
    return name, READERS[name](entry.record)


def _name_of(source: Path | str) -> str:
    return "standard input" if str(source) == "-" else str(source)


def _read(source: Path | str, name: str, what: str = "file of problems") -> bytes:
    if str(source) == "-":
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    else:
        try:
            with open_input(Path(source).expanduser()) as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except (FileNotFoundError, RuntimeError):
            # The latter where a leading ~ names a user that does not exist.
            raise InvalidInput(f"no file {name}; check the name") from None
        except IsADirectoryError:
            raise InvalidInput(f"{name} is a folder; name a {what} in it") from None
        except OSError as error:
            raise InvalidInput(f"cannot read {name}: {error.strerror}; name another") from None
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInput(f"{name} is over {MAX_FILE_BYTES >> 30} GiB; split it")
    if data.startswith(_COMPRESSED_MAGIC):
        raise InvalidInput(f"{name} is compressed; unpack it, or pipe it through zcat to `-`")
    return data.removeprefix(b"\xef\xbb\xbf")


def _entries(data: bytes, name: str) -> Iterator[_Entry]:
    """One JSON object, a list of them, or one on each line."""
    if not data.strip():
        raise InvalidInput(f"{name} is empty; give problems as JSON, one per line or in a list")
    whole = _try_decode(data) if _is_one_value(data) else None
    if isinstance(whole, list):
        for number, record in enumerate(whole, 1):
            yield _entry(number, record, "entry")
    elif isinstance(whole, dict):
        yield _entry(1, whole)
    elif name.endswith(".json"):
        raise InvalidInput(f"{name} {_json_error(data)}")
    else:
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                yield _line(number, line)


def _is_one_value(data: bytes) -> bool:
    """Whether it may be one JSON value; a file of many lines, each an object, is not decoded twice."""
    start = data.lstrip()
    first = start.partition(b"\n")[0]
    return start[:1] == b"[" or len(first) == len(start.rstrip()) or _try_decode(first) is None


def _entry(number: int, record: Any, unit: Literal["line", "entry"] = "line") -> _Entry:
    if isinstance(record, dict):
        return _Entry(number, record, unit=unit)
    return _Entry(number, None, "this is not a JSON object; give one for each problem", unit)


def _line(number: int, line: bytes) -> _Entry:
    try:
        return _entry(number, msgspec.json.decode(line))
    except msgspec.ValidationError:
        return _Entry(number, None, f"this {_TOO_LARGE}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        reason = "not valid JSON; correct it" if _is_text(line) else "not UTF-8 text; save it so"
        return _Entry(number, None, f"this is {reason}")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _try_decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _json_error(data: bytes) -> str:
    """Why a file with the name of a JSON file is not one."""
    try:
        msgspec.json.decode(data)
    except msgspec.ValidationError:
        return _TOO_LARGE
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return f"is not valid JSON{_where(data)}; correct it"
    return "has no JSON object; give one for each problem"


def _where(data: bytes) -> str:
    """The line at which JSON breaks off."""
    import json

    try:
        # Python refuses to read the longest integers, and their values are not needed.
        json.loads(data, parse_int=len)
    except json.JSONDecodeError as error:
        return f" at line {error.lineno}"
    except UnicodeDecodeError:
        return " (it is not UTF-8 text)"
    except RecursionError:
        return " (it is nested too deeply)"
    return ""


def _no_problem_message(name: str, broken: list[BrokenRecord]) -> str:
    if not broken:
        return f"{name} has no problem; give them as JSON, one per line or in a list"
    first = broken[0]
    if len(broken) == 1:
        return f"{name}: {first.reason}"
    return f"{name} has no usable problem; the first: {first}"
