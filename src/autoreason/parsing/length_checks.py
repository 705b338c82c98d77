"""A judge's answer on what the first place of a ballot rests on."""

from __future__ import annotations

import json
import re

from autoreason.exchange import Schema

_FIELD = "first_place"
_ANSWERS = ("quality", "length")
_LINE = re.compile(
    rf"^\W*(?:first[ _]place\W{{0,8}})?({'|'.join(_ANSWERS)})\W*$", re.IGNORECASE | re.MULTILINE
)

LENGTH_CHECK = Schema(
    name="length_check",
    definition={
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            _FIELD: {"type": "string", "enum": list(_ANSWERS)},
        },
        "required": ["reasoning", _FIELD],
        "additionalProperties": False,
    },
    plain=(
        "Begin with your reasons. End with one line, with quality or length in place of the question mark:\n"
        "FIRST PLACE: ?"
    ),
)


def rests_on_length(reply: str) -> bool | None:
    """Whether it rests on length alone; None where the answer is neither, or both."""
    try:
        value = json.loads(reply)
    except ValueError:
        found = {answer.lower() for answer in _LINE.findall(reply)}
    else:
        found = {str(value.get(_FIELD)).lower()} if isinstance(value, dict) else set()
    return found == {"length"} if found in ({"length"}, {"quality"}) else None
