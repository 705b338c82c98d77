"""Metadata of a model file in GGUF format."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import IO, Any

from autoreason.errors import InvalidInput


def trained_context(path: Path) -> int | None:
    """The context length a GGUF file states for its model; None if it does not."""
    try:
        file = path.open("rb")
    except OSError as problem:
        raise InvalidInput(f"cannot read {path}: {problem.strerror}") from problem
    with file:
        try:
            return _context_length(file)
        except _UNREADABLE as problem:
            raise InvalidInput(
                f"{path} is not a complete GGUF model file; fetch it again"
            ) from problem


# The head of a GGUF file: magic, version, number of tensors, number of entries, then the entries

_STRING, _ARRAY = 8, 9
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}

# What reading numbers, lengths and offsets that make no sense can lead to.
_UNREADABLE = (
    KeyError,
    MemoryError,
    OSError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)


def _context_length(file: IO[bytes]) -> int | None:
    if file.read(4) != b"GGUF":
        raise KeyError("magic")
    _, _, entries = _numbers(file, "IQQ")
    for _ in range(entries):
        name, value = _text(file), _value(file, *_numbers(file, "I"))
        if name.endswith(".context_length"):
            return int(value)
    return None


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _numbers(file, _NUMBERS[kind])[0]
    items, count = _numbers(file, "IQ")
    if items in _NUMBERS:
        return file.seek(count * struct.calcsize(_NUMBERS[items]), os.SEEK_CUR)
    return [_value(file, items) for _ in range(count)]


def _text(file: IO[bytes]) -> str:
    (length,) = _numbers(file, "Q")
    return file.read(length).decode()


def _numbers(file: IO[bytes], layout: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{layout}", file.read(struct.calcsize(f"<{layout}")))
