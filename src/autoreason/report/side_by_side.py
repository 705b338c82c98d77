"""Texts that competed, try by try: a matrix of what came of each, and the texts of any try beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

from autoreason.report import changes, markdown
from autoreason.report.numbers import UNKNOWN
from autoreason.report.page import ASSETS, fill

Tone = Literal["", "first", "second", "none", "good", "bad"]
_MOST_TEXT = 100_000
"""Characters on a page, the first try not counted: what is beyond is read in the runs that the matrix names."""


class Version(NamedTuple):
    """What one of the competitors delivered in a try."""

    name: str
    text: str = ""
    cell: str = UNKNOWN
    """What the matrix says of it, such as its place."""
    about: str = ""
    """The same in words, with the run that it is from."""
    tone: Tone = ""


class Try(NamedTuple):
    group: str
    """What was to be done; tries of one group stand together."""
    name: str
    versions: Sequence[Version]

    def of(self, name: str) -> Version | None:
        return next((version for version in self.versions if version.name == name), None)


Cells = Sequence[tuple[int, Try, Version | None]]


class SideBySide(NamedTuple):
    tries: Sequence[Try]
    base: str = ""
    """The competitor whose text the others are compared with, where changes can be shown."""

    def to_html(self) -> str:
        sizes = accumulate(sum(len(each.text) for each in one.versions) for one in self.tries)
        shown = max(1, sum(size <= _MOST_TEXT for size in sizes))
        tools = {"render": markdown.render, "compare": changes.to_html}
        return fill(ASSETS / "sides.html", sides=self, shown=shown, **tools)

    def matrices(self) -> Iterator[tuple[str, Sequence[str], Sequence[tuple[str, Cells]]]]:
        """Titles, columns and lines of cells, each with the number of its try."""
        groups: dict[str, list[tuple[int, Try]]] = {}
        for at, each in enumerate(self.tries):
            groups.setdefault(each.group, []).append((at, each))
        names = list(dict.fromkeys(v.name for each in self.tries for v in each.versions))
        if len(groups) > 1 and len(groups) == len(self.tries):
            # Once each: a line for what was to be done, a column for each competitor.
            once = enumerate(self.tries)
            cells = [(e.group, [(at, e, e.of(name)) for name in names]) for at, e in once]
            yield "", names, cells
            return
        for group, tries in groups.items():
            rows = [(name, [(at, each, each.of(name)) for at, each in tries]) for name in names]
            yield group, [each.name for _, each in tries], rows
