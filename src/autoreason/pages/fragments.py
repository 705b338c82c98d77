"""Texts, changes and marks of a page, in blocks that are there once and shown in every place that names them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from zlib import compress

from markupsafe import Markup

from autoreason.characters import in_markup
from autoreason.events import CritiqueProblem
from autoreason.parsing.critiques import Prose
from autoreason.report import changes, page

_START, _END = "\ufdd0", "\ufdd1"
"""Characters that mean nothing, so that no text loses a word by going without them."""
_BOUNDARY = re.compile(f"([{_START}{_END}]|<[^>]*>)")
_AROUND = " \t\n*_`#>+-"
"""What a mark neither begins nor ends with: it would break the Markdown that it stands in."""
_NUMBER = re.compile(r"^[ \t>]*\d{1,9}[.)](?:[ \t]|$)", re.MULTILINE)
"""Of an item; a mark begins behind it."""
_TAG = re.compile(r"<(/?)(\w+)[^>]*?(/?)>")
_ALONE = ("br", "hr")
_BETWEEN = re.compile(r">\s*\n\s*<(?!ins|del|mark)")
_WHOLE = re.compile(r"(<(\w+)[^>]*>)<(del|ins)>([^<]*)</\3>(</\2>)")
"""A block that went or came as a whole."""
LONGEST = 200_000
"""Characters beyond which a text is shown as written: a renderer would take seconds over it."""


class Fragments:
    """Parts of a page, of which each is a number, packed for the script that shows them when they are opened.

    Every block of HTML is there once, whatever parts have it. A part names its blocks by how far each is from the one
    before, as in `140 1 1 d5 i1`; `d` and `i` are before blocks that went or came as a whole.
    """

    def __init__(self) -> None:
        self.blocks: dict[str, int] = {}
        self.parts: list[str] = []
        self.add = cache(self._add)
        """The number of what some function makes of something."""

    def _add(self, make: Callable[..., Markup], *about: object) -> int:
        steps, before = list[str](), 0
        for element in split_elements(_BETWEEN.sub("><", page.spell_out(make(*about)))):
            whole = _WHOLE.fullmatch(element)
            block, how = (whole.expand(r"\1\4\5"), whole[3][0]) if whole else (element, "")
            at = self.blocks.setdefault(block, len(self.blocks))
            steps.append(f"{how}{at - before}")
            before = at
        self.parts.append(" ".join(steps))
        return len(self.parts) - 1

    def pack(self) -> str:
        """All of it, compressed, in letters that mean nothing in HTML."""
        rows = json.dumps([[*self.blocks], self.parts], ensure_ascii=False)
        return b64encode(compress(rows.encode())).decode()


def split_elements(html: str) -> Iterator[str]:
    """The outermost elements of HTML of ours; of lists without numbers their items."""
    depth = start = 0
    for tag in _TAG.finditer(html):
        depth += 0 if tag[3] or tag[2] in _ALONE else -1 if tag[1] else 1
        if not depth:
            element, start = html[start : tag.end()].strip(), tag.end()
            yield from split_elements(element[4:-5]) if element.startswith("<ul>") else [element]


def render(text: str) -> Markup:
    if len(text) > LONGEST:
        return Markup(f'<pre class="text">{in_markup(text)}</pre>')
    return Markup(page.render(text))


def compare(before: str, after: str, reasons: changes.Reasons | None = None) -> Markup:
    """The changes, with the reasons for them."""
    if max(len(before), len(after)) > LONGEST:
        return Markup("<p>The texts are too long to compare.</p>")
    return Markup(changes.to_html(before, after, reasons))


def find_quotes(text: str, problems: Sequence[CritiqueProblem]) -> list[tuple[int, int, int]]:
    """Where the critic's quotes are: the number of the problem, from 1, and its span; none overlaps another."""
    prose, found = Prose(text), []
    for number, problem in enumerate(problems, 1):
        if problem.quote:
            found += [(start, end, number) for start, end in prose.places(problem.quote)]
    spans, after = [], 0
    for start, end, number in sorted(found):
        item = _NUMBER.match(text, text.rfind("\n", 0, start) + 1)
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
    """Safe HTML of a text with numbered marks; a mark ends before every tag and goes on behind it."""
    if len(text) > LONGEST:
        return render(text)
    # Neither sign may come from the text; one that is exchanged for another leaves all positions as they are.
    text = text.replace(_START, " ").replace(_END, " ")
    spans = find_quotes(text, problems)
    parts, at = [], 0
    for _, start, end in spans:
        parts += [text[at:start], _START, text[start:end], _END]
        at = end
    html = page.render("".join([*parts, text[at:]]))
    numbers = iter([number for number, *_ in spans])
    number, done = 0, []
    for piece in _BOUNDARY.split(html):
        if piece == _START:
            number = next(numbers, 0)
        elif piece == _END:
            done.append(f"<sup>{number}</sup>" if number else "")
            number = 0
        else:
            is_marked = number and piece.strip() and not piece.startswith("<")
            done.append(f"<mark>{piece}</mark>" if is_marked else piece)
    return Markup("".join(done))
