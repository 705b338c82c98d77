"""Fields of foreign records: there and of the right type, or one sentence."""

from __future__ import annotations

from typing import Any

from autoreason.errors import InvalidInput

Record = dict[str, Any]
"""One JSON object, not yet understood."""

LONGEST_ID = 200
_NAMES = ("id", "task_id", "question_id", "name")


def named(raw: Record) -> str:
    """How a record is called in a sentence."""
    name = next((raw[key] for key in _NAMES if isinstance(raw.get(key), str | int)), None)
    return "a problem without an id" if name is None else f"problem {str(name)[:LONGEST_ID]!r}"


def text(raw: Record, field: str, otherwise: str | None = None) -> str:
    """A field that holds text; missing or null is `otherwise`, where that is given."""
    value = raw.get(field)
    if value is None and otherwise is not None:
        return otherwise
    if not isinstance(value, str):
        raise InvalidInput(f"{named(raw)}: `{field}` is {_found(value)}; give it as text")
    return value


def texts(raw: Record, field: str) -> list[str]:
    """A field that holds a list of texts; missing or null is none."""
    value = raw.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{named(raw)}: `{field}` is no list of texts; give it as one")
    return value


def number(raw: Record, field: str) -> float | None:
    """A field that holds a number, perhaps as text; None where it holds none."""
    value = raw.get(field)
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _found(value: object) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"
