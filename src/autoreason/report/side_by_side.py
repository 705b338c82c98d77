"""Texts that competed, try by try: a matrix of what came of each, and the texts of any try beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from autoreason.characters import in_markup
from autoreason.report.changes import to_html as changes_to_html
from autoreason.report.markdown import render
from autoreason.report.numbers import UNKNOWN, count

Tone = Literal["", "first", "second", "none", "good", "bad"]
_MOST_TEXT = 1_500_000
"""Characters on a page, the first try not counted: what is beyond is read in the runs that the matrix names."""
_MOST_ROWS = 300


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


class SideBySide(NamedTuple):
    tries: Sequence[Try]
    base: str = ""
    """The competitor whose text the others are compared with, where changes can be shown."""
    noun: str = "try"

    def to_html(self) -> str:
        shown = list(self._within_reach())
        numbers = {id(each): at for at, each in enumerate(shown)}
        parts = ['<div class="side" data-show="text">']
        # Of a single try the texts say all that the matrix would.
        parts += [*(self._matrix(numbers) if self.tries[1:] else ()), *self._modes()]
        parts += (self._texts(each, at) for at, each in enumerate(shown))
        if left := len(self.tries) - len(shown):
            which = count(left, f"more {self.noun}", f"more {_plural(self.noun)}")
            parts.append(
                f'<p class="muted">{which}: read the texts in the runs that are named.</p>'
            )
        return "\n".join([*parts, "</div>"])

    def _within_reach(self) -> Iterator[Try]:
        """The first tries, as many as a browser opens at once."""
        room = _MOST_TEXT
        for at, each in enumerate(self.tries):
            size = sum(len(version.text) for version in each.versions)
            if at and size > room:
                return
            room -= size
            yield each

    def _matrix(self, numbers: dict[int, int]) -> Iterator[str]:
        groups: dict[str, list[Try]] = {}
        for each in self.tries:
            groups.setdefault(each.group, []).append(each)
        names = list(dict.fromkeys(v.name for each in self.tries for v in each.versions))
        yield '<div class="scroll matrices" tabindex="0" role="group" aria-label="All tries">'
        if len(groups) > 1 and all(len(each) == 1 for each in groups.values()):
            # Once each: a line for what was to be done, a column for each competitor.
            rows = [
                (group, [(each, _of(each, name)) for name in names])
                for group, (each,) in islice(groups.items(), _MOST_ROWS)
            ]
            yield _table("", names, rows, numbers)
        else:
            for group, tries in islice(groups.items(), _MOST_ROWS):
                rows = [(name, [(each, _of(each, name)) for each in tries]) for name in names]
                yield _table(group, [each.name for each in tries], rows, numbers)
        yield "</div>"
        if len(groups) > _MOST_ROWS:
            yield f'<p class="muted">and {count(len(groups) - _MOST_ROWS, "more line")}</p>'

    def _modes(self) -> Iterator[str]:
        if self.base:
            changed = in_markup(f"What changed since {self.base}")
            yield (
                '<div class="seg" role="group" aria-label="How to show the texts">'
                '<button data-mode="text" aria-pressed="true">Texts</button>'
                f'<button data-mode="changes" aria-pressed="false">{changed}</button></div>'
            )

    def _texts(self, each: Try, number: int) -> str:
        base = _of(each, self.base)
        title = " · ".join(
            filter(None, [each.group, f"{self.noun} {each.name}" if each.name else ""])
        )
        parts = [
            f'<div class="try" data-of="{number}"{" hidden" if number else ""}>'
            f'<p class="cap" role="status"><b>{in_markup(title)}</b></p>'
            f'<div class="texts" tabindex="0" role="group" aria-label="Texts: {in_markup(title)}">'
        ]
        for version in each.versions:
            parts.append(
                f'<div><p class="cap"><b>{in_markup(version.name)}</b> {in_markup(version.about)}</p>'
            )
            if version.text:
                whole = render(version.text)
                changed = whole
                if base and base.text and version is not base:
                    changed = changes_to_html(base.text, version.text)
                parts.append(f'<div class="doc small" data-view="text" dir="auto">{whole}</div>')
                if self.base:
                    parts.append(
                        f'<div class="doc small" data-view="changes" dir="auto">{changed}</div>'
                    )
            elif any(other.text for other in each.versions):
                parts.append('<div class="doc small muted">no text</div>')
            parts.append("</div>")
        return "".join([*parts, "</div></div>"])


def _of(each: Try, name: str) -> Version | None:
    return next((version for version in each.versions if version.name == name), None)


def _table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, Sequence[tuple[Try, Version | None]]]],
    numbers: dict[int, int],
) -> str:
    caption = f"<caption>{in_markup(title)}</caption>" if title else ""
    heads = "".join(
        f'<th scope="col">{in_markup(name)}</th>' if name else "<td></td>" for name in columns
    )
    body = "".join(
        f'<tr><th scope="row">{in_markup(name)}</th>'
        f"{''.join(_cell(each, version, numbers) for each, version in cells)}</tr>"
        for name, cells in rows
    )
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    return f'<table class="matrix">{caption}{head}<tbody>{body}</tbody></table>'


def _cell(each: Try, version: Version | None, numbers: dict[int, int]) -> str:
    if version is None:
        return "<td></td>"
    at = numbers.get(id(each))
    text, about = in_markup(version.cell), in_markup(version.about)
    tone = f"is-{version.tone}" if version.tone else ""
    if at is None:
        return f'<td><span class="{tone}" title="{about}">{text}</span></td>'
    name = in_markup(" ".join(filter(None, [version.name, each.group, each.name])))
    return (
        f'<td><button class="{tone}" data-try="{at}" aria-pressed="{"false" if at else "true"}" '
        f'aria-label="{name}: {about or text}" title="{about}">{text}</button></td>'
    )


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
