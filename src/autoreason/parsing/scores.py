"""Scores next to a ranking: a judge who gives every text a number may contradict the ranking."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autoreason.parsing.patterns import Pattern
from autoreason.parsing.rankings import NOUN


def contradicts_scores(text: str, where: Mapping[str, int]) -> bool:
    """Whether a text gives every label one number, and these contradict their places."""
    figures: dict[int, set[tuple[float, bool]]] = {}
    first = None
    scored = False
    for match in _MARK.finditer(text):
        # "1: 2" may be anything; "Version 1: 2" is a mark.
        if match["label"] in where and (match["noun"] or not match["label"].isdigit()):
            first = first or match
            scored = scored or bool(match["unit"] or _SCORE.search(match["words"]))
            mark = (float(match["figure"]), bool(match["ordinal"]))
            figures.setdefault(where[match["label"]], set()).add(mark)
    # Several figures for one text are about single criteria.
    if first is None or len(figures) < max(where.values()):
        return False
    if any(len(marks) > 1 for marks in figures.values()):
        return False
    marks = [next(iter(figures[place])) for place in sorted(figures)]
    scored = scored or bool(_SCORE.search(_lines_above(text, first.start())))
    return not _agree([figure for figure, _ in marks], [ordinal for _, ordinal in marks], scored)


def _agree(figures: list[float], ordinals: list[bool], scored: bool) -> bool:
    """Whether figures, in the order of the ranking, are its places or falling scores."""
    places = [float(place) for place in range(1, len(figures) + 1)]
    if any(ordinals) or (sorted(figures) == places and not scored):
        # Mere 3, 2, 1 may be places from the worst up, or points: too doubtful to be believed.
        return figures == places
    return figures == sorted(figures, reverse=True)


def _lines_above(text: str, at: int) -> str:
    """The heading of a table or a list, if it has one."""
    return "\n".join(text[:at].rpartition("\n")[0].splitlines()[-_HEADING_LINES:])


_HEADING_LINES = 2
_SCORE = Pattern(r"\b(?:scor(?:e|es|ed|ing)|points?|marks?|ratings?|rated)\b", re.IGNORECASE)
_MARK = Pattern(
    rf"(?:(?P<noun>{NOUN})[ #]*+)?\b(?P<label>\w++)['\")\]]*+"
    r"(?P<words>(?: ?[:=|(-]++| (?:scor(?:es|ed)|gets|got|earns|receives|is|was|rated|ranks?|comes in"
    r"|with|at|(?-i:an?|the)|overall|total|final|score|rating|mark|place)\b){0,6}+) ?"
    r"(?P<figure>\d{1,3}(?:\.\d+)?+)"
    r"(?:(?P<unit> ?(?:/ ?\d|%|points?\b|out of \d))|(?P<ordinal>(?:st|nd|rd|th)\b)"
    r"|(?= ?(?:$|[|),;-]|\.(?:\s|$)|and\b)))"
    r"(?! ?\| ?\d{1,3}(?:\.\d+)? ?(?:\||$))",
    re.IGNORECASE | re.MULTILINE,
)
