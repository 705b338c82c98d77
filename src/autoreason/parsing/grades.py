"""What judges who grade answer: for each text a number on each criterion. A wrong grade is worse than none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from autoreason.parsing import pattern
from autoreason.parsing.ballots import read_ranking, without_copies
from autoreason.parsing.rankings import own_lines, retracts

LEAST, MOST = 1, 20
Grades = dict[str, tuple[float, ...]]
"""By label, in the order of the criteria; one number each where there are none."""
_Token = tuple[str, str | float, int, int]
"""A `label`, a `place` among the criteria or a `number`; which one; from where to where in its line."""


def json_keys(names: Sequence[str]) -> list[str]:
    """Names of criteria as every provider takes them for keys of a JSON object."""
    keys: list[str] = []
    for number, name in enumerate(names, 1):
        key = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_MAX_KEY]
        keys.append(key if key and key not in keys else f"criterion_{number}")
    return keys


def read_grades(text: str, labels: Sequence[str], names: Sequence[str] = ()) -> Grades | None:
    """What a judge gave every text on every criterion; None where a number is missing, or anything leaves a doubt."""
    # Objects are spelt out there: `BD: accurate: 14`.
    lines = [line.text for line in own_lines(without_copies(text, labels))]
    given: dict[tuple[str, int], float] = {}
    last, places = 0, range(max(1, len(names)))
    for at, label, place, number in _cells(lines, tuple(labels), tuple(names)):
        if given.setdefault((label, place), number) != number or not LEAST <= number <= MOST:
            return None
        last = at
    if given.keys() != {(label, place) for label in labels for place in places}:
        return None
    if retracts("\n".join(lines[last + 1 :])) or _LOW_IS_GOOD.search(text):
        return None
    grades = {label: tuple(given[label, place] for place in places) for label in labels}
    ranking = pairwise(read_ranking(text, labels) or ())
    return None if any(sum(grades[one]) < sum(grades[other]) for one, other in ranking) else grades


def _cells(
    lines: Sequence[str], labels: tuple[str, ...], names: tuple[str, ...]
) -> Iterator[tuple[int, str, int, float]]:
    """The line, text, criterion and number of each grade, whether in words, in a table, or below a heading."""
    token, places = _forms(labels, names)
    columns: list[_Token] = [("place", at, 0, 0) for at in range(max(1, len(names)))]
    heading: dict[str, str | float] = {} if names[1:] else {"place": 0}
    for at, line in enumerate(lines):
        found = [*_tokens(line, token, places)]
        named = [each for each in found if each[0] != "number"]
        is_row = named == found[:1] and len(found) == 1 + len(columns)
        is_row = is_row and ("|" in line or not re.search(r"[^\W\d]", token.sub("", line)))
        here, before = dict(heading), None
        if len(named) == len(found):
            if "|" in line and named[1:]:
                columns = named
            elif named and not line[: named[0][2]].strip(_BULLETS):
                heading |= {named[0][0]: named[0][1]}
        elif is_row and found[0][0] != columns[0][0]:
            for column, number in zip(columns, found[1:], strict=True):
                both = {found[0][0]: found[0][1], column[0]: column[1]}
                yield at, str(both["label"]), int(both["place"]), float(number[1])
        else:
            for each in found:
                kind, value, start, _ = each
                if kind != "number":
                    here |= {kind: value}
                elif before and before[0] != "number" and here.keys() == {"label", "place"}:
                    between = line[before[3] : start]
                    if _LEADS_UP.fullmatch(between):
                        yield at, str(here["label"]), int(here["place"]), float(value)
                before = each


def _tokens(line: str, token: re.Pattern[str], places: Mapping[str, int]) -> Iterator[_Token]:
    for each in token.finditer(line):
        kind, said = each.lastgroup or "", each[each.lastgroup or 0]
        value: str | float = places[_plain(said)] if kind == "place" else said
        value = float(said.replace(",", ".")) if kind == "number" else value
        yield kind, value, each.start(), each.end()


@lru_cache(maxsize=1024)
def _forms(
    labels: tuple[str, ...], names: tuple[str, ...]
) -> tuple[re.Pattern[str], Mapping[str, int]]:
    """A pattern for all that counts on a line, and what names stand for."""
    both = zip(names, json_keys(names), strict=True)
    places = {_plain(form): at for at, forms in enumerate(both) for form in forms}
    known = sorted(filter(None, places), key=len, reverse=True)
    forms = "|".join(r"[\W_]{1,3}".join(form.split()) for form in known) or "(?!)"
    return re.compile(
        rf"(?<!\w)(?:(?P<label>{'|'.join(map(re.escape, labels))})|(?P<place>(?i:{forms})))(?!\w)"
        r"|(?<![\w.,/-])(?P<number>\d{1,3}(?:[.,][05])?)(?:\s?/\s?20|\s(?:out )?of 20)?"
        r"(?![\w%/]|[.,]\d|\s?[-/]\s?\d)"
        rf"(?=\W*$|\s*[-,;.:()|\]]|\s+(?:and\b|points?\b|\d|(?i:{forms})))"
    ), places


def _plain(form: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", form)).casefold()


_MAX_KEY = 40
_BULLETS = " '-+#.():0123456789"
# What may be between a name and its number.
_LEADS_UP = pattern(
    r"(?i)(?:[\s:=|(\"'-]|\b(?:grades?|scores?|points?|marks?|is|at|gets|earns|an?|overall|total)\b)*"
)
_LOW_IS_GOOD = pattern(r"(?i)\b1 ?(?:=|is|means) ?(?:the )?best\b|\blower (?:is|means) better\b")
