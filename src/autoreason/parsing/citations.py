"""Citations: the records that a problem names, looked up with their figures."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autoreason.events import CritiqueProblem
from autoreason.knowledge_records import ShownRecord

_CITATION = re.compile(r"\br[0-9a-f]{10}\b")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CLAUSE = re.compile(r"[\];]|[.,](?=\s|$)|\n|\br[0-9a-f]{10}\b")
_REACH = 60
"""Characters after a record's name in which a figure is the record's."""


def split_cited(
    problems: Sequence[CritiqueProblem], shown: Sequence[ShownRecord]
) -> tuple[tuple[CritiqueProblem, ...], int]:
    """The problems whose citations are true, and how many were not."""
    figures = {record.id: _numbers(record.figure) for record in shown}
    kept = tuple(each for each in problems if _is_true(each.problem, figures))
    return kept, len(problems) - len(kept)


def _is_true(problem: str, figures: dict[str, set[str]]) -> bool:
    """Whether every record was shown, and every figure next to its name is the record's."""
    for found in _CITATION.finditer(problem):
        known = figures.get(found.group())
        after = problem[found.end() : found.end() + _REACH]
        if known is None or not _numbers(_CLAUSE.split(after, maxsplit=1)[0]) <= known:
            return False
    return True


def _numbers(text: str) -> set[str]:
    """Numbers as they can be compared: `1,200` and `1200`, `12.0` and `12` are the same."""
    return {_plain(found) for found in _NUMBER.findall(text)}


def _plain(number: str) -> str:
    whole = re.sub(r",(?=\d{3}\b)", "", number).replace(",", ".")
    return whole.rstrip("0").rstrip(".") if "." in whole else whole
