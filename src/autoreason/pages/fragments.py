"""Texts, changes and marks of a page, each rendered once and shown in every place that names it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from markupsafe import Markup

from autoreason.characters import in_markup
from autoreason.contract import count_words
from autoreason.events import CritiqueProblem
from autoreason.parsing.critiques import Prose
from autoreason.report import changes, markdown
from autoreason.report.numbers import count

_START, _END = "\ufdd0", "\ufdd1"
"""Characters that mean nothing, so that no text loses a word by going without them."""
_BOUNDARY = re.compile(f"([{_START}{_END}]|<[^>]*>)")
_AROUND = " \t\n*_`#>+-"
"""What a mark neither begins nor ends with: it would break the Markdown that it stands in."""
_NUMBER = re.compile(r"^[ \t>]*\d{1,9}[.)](?:[ \t]|$)", re.MULTILINE)
"""Of an item; a mark begins behind it."""
LONGEST = 200_000
"""Characters beyond which a text is shown as written: a renderer would take seconds over it."""


class Fragments(dict[str, Markup]):
    """Pieces of HTML under short names; what is asked for twice is made once."""

    def __init__(self) -> None:
        self._name = cache(self._make)
        self.words = cache(lambda text: count(count_words(text), "word"))
        """`141 words`."""

    def text(self, text: str) -> str:
        """A text in Markdown."""
        return self._name(render, text)

    def change(self, before: str, after: str, reasons: changes.Reasons | None = None) -> str:
        """The way from one text to another, and why."""
        return self._name(_changes, before, after, tuple((reasons or {}).items()))

    def marked(self, text: str, problems: Sequence[CritiqueProblem]) -> str:
        """A text with the critic's marks at the words it quotes."""
        return self._name(mark, text, tuple(problems))

    def _make(self, make: Callable[..., Markup], *about: object) -> str:
        name = f"f{len(self)}"
        self[name] = make(*about)
        return name


def render(text: str) -> Markup:
    if len(text) > LONGEST:
        return Markup(f'<pre class="text">{in_markup(text)}</pre>')
    return Markup(markdown.render(text))


def _changes(before: str, after: str, why: Iterable[tuple[str, str]]) -> Markup:
    if max(len(before), len(after)) > LONGEST:
        return Markup("<p>The texts are too long to compare.</p>")
    return Markup(changes.to_html(before, after, dict(why)))


def find_quotes(text: str, problems: Sequence[CritiqueProblem]) -> list[tuple[int, int, int]]:
    """Where the critic's quotes are: the number of the problem, from 1, and its span; none overlaps another."""
    prose, found = Prose(text), []
    for number, problem in enumerate(problems, 1):
        if problem.quote:
            found += [(start, end, number) for start, end in prose.places(problem.quote)]
    spans, after = [], 0
    for start, end, number in sorted(found):
        begins = text.rfind("\n", 0, start) + 1
        item = _NUMBER.match(text, begins)
        start = max(start, after, item.end() if item else 0)
        while start < end and _is_around(text[start], text[start - 1 : start]):
            start += 1
        while start < end and _is_around(text[end - 1], text[end : end + 1]):
            end -= 1
        if start < end:
            spans.append((number, start, end))
            after = end
    return spans


def _is_around(sign: str, outside: str) -> bool:
    """Whether a mark may not end with a sign; what stands next to emphasis decides whether it is one."""
    return sign in _AROUND or (outside in ("*", "_") and not sign.isalnum())


def mark(text: str, problems: Sequence[CritiqueProblem]) -> Markup:
    """Safe HTML of a text with numbered marks; a mark that crosses a tag is closed before it and goes on behind it."""
    if len(text) > LONGEST:
        return render(text)
    # Neither sign may come from the text; one that is exchanged for another leaves all positions as they are.
    text = text.replace(_START, " ").replace(_END, " ")
    spans = find_quotes(text, problems)
    parts, at = [], 0
    for _, start, end in spans:
        parts += [text[at:start], _START, text[start:end], _END]
        at = end
    html = markdown.render("".join([*parts, text[at:]]))
    numbers = iter([number for number, *_ in spans])
    inside, number, done = False, 0, []
    for piece in _BOUNDARY.split(html):
        if piece == _START:
            inside, number = True, next(numbers, 0)
            done.append("<mark>")
        elif piece == _END:
            done.append(f"</mark><sup>{number}</sup>" if inside else "")
            inside = False
        elif inside and piece.startswith("<"):
            done.append(f"</mark>{piece}<mark>")
        else:
            done.append(piece)
    return Markup("".join([*done, "</mark>" if inside else ""]).replace("<mark></mark>", ""))
