"""Fields of foreign records: present and of the right type, or an error in one sentence."""

from __future__ import annotations

from typing import Any

from autoreason.errors import InvalidInput

Record = dict[str, Any]
"""One JSON object, not yet understood."""

MAX_ID_LENGTH = 200
_NAME_FIELDS = ("id", "task_id", "question_id", "name")


def record_name(raw: Record) -> str:
    """The name of a record in a message."""
    name = next((raw[key] for key in _NAME_FIELDS if isinstance(raw.get(key), str | int)), None)
    return "a problem without an id" if name is None else f"problem {str(name)[:MAX_ID_LENGTH]!r}"


def text_field(raw: Record, field: str, default: str | None = None) -> str:
    """A text field; `default`, if given, where it is missing or null."""
    value = raw.get(field)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise InvalidInput(
            f"{record_name(raw)}: `{field}` is {_describe_type(value)}; give it as text"
        )
    return value


def texts_field(raw: Record, field: str) -> list[str]:
    """A field with a list of texts; empty where it is missing or null."""
    value = raw.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{record_name(raw)}: `{field}` is not a list of texts; give one")
    return value


def number_field(raw: Record, field: str) -> float | None:
    """A field with a number, perhaps as text; None where it has none."""
    value = raw.get(field)
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _describe_type(value: object) -> str:
    return "missing" if value is None else f"a {type(value).__name__}"
