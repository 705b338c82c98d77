"""Reads what models write: ballots, critiques, documents, leaks."""

from __future__ import annotations

import json
import re
from typing import Any, cast

BOUNDARY = r"(?<!\w)[0-9a-f]{16}(?!\w)"
"""Matches every boundary, so that a copy of one is recognised in a model's text."""


class _LazyPattern:
    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled when it is first used.

    There are dozens of them, each for a habit of some model; most runs need a few, and the first request
    waits for none.
    """
    return cast(re.Pattern[str], _LazyPattern(source, flags))


def parse_json(text: str) -> Any:
    """What a text is as JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
