"""Texts, changes and marks of a page, in blocks that are there once and shown in every place that names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import unescape
from itertools import count as count_from
from itertools import takewhile

from markupsafe import Markup

from autoreason.characters import in_markup
from autoreason.events import CritiqueProblem
from autoreason.parsing.critiques import Prose
from autoreason.report import changes, markdown
from autoreason.report.page import spell_out

_START, _END = "\ufdd0", "\ufdd1"
"""Characters that mean nothing, so that no text loses a word by going without them."""
_BOUNDARY = re.compile(f"([{_START}{_END}]|<[^>]*>)")
_AROUND = " \t\n*_`#>+-"
"""What a mark neither begins nor ends with: it would break the Markdown that it stands in."""
_NUMBER = re.compile(r"^[ \t>]*\d{1,9}[.)](?:[ \t]|$)", re.MULTILINE)
"""Of an item; a mark begins behind it."""
_TAG = re.compile(r"<(/?)(\w+)[^>]*>")
_ALONE = ("br", "hr")
_OWN = re.compile(r' (data-\w+|aria-label|href|start)="([^"]*)"')
"""Attributes that few elements have in common."""
_BETWEEN = re.compile(r">\s*\n\s*<(?!ins|del|mark)")
_BRACES = {ord("{"): "{{", ord("}"): "{}"}
_SIGNS = {ord("<"): "{|", ord("\n"): "{~"}
_LAST = re.compile(r"(?<!\{)\}+$")
_LETTERS = "".join(map(chr, (*range(0x21, 0x3C), *range(0x3D, 0x7B), *range(0xA1, 0x500))))
_WHOLE = re.compile(r"(<(\w+)[^>]*>)<(del|ins)>([^<]*)</\3>(</\2>)")
"""A block that went or came as a whole."""
LONGEST = 200_000
"""Characters beyond which a text is shown as written: a renderer would take seconds over it."""


class Fragments:
    """Parts of a page, of which each is a number, packed for the script that makes them when they are opened.

    Every block of HTML is a line, which is there once, whatever parts have it: `{` and a letter begin an element, `}`
    ends it, and those at the end go without. An element `data` is an attribute of the one around it. Every part is a
    line of runs: so many new blocks, or as many as stand so far back in the row of all parts, as in `2,140.12,d7.3,i1`;
    `d` and `i` are before blocks that went or came as a whole.
    """

    def __init__(self) -> None:
        self.tags: dict[str, str] = {}
        """Each with its letter before it."""
        self.blocks: dict[str, int] = {}
        self.parts: list[str] = []
        self._row: list[int] = []
        self._stood: dict[int, int] = {}
        """Where in the row a block is, the last time."""
        self._packed = cache(self._pack_tag)
        self.add = cache(self._add)
        """The number of what some function makes of something."""

    def _add(self, make: Callable[..., Markup], *about: object) -> int:
        items, runs = list[tuple[str, int]](), list[str]()
        for element in split_elements(_BETWEEN.sub("><", spell_out(make(*about)))):
            whole = _WHOLE.fullmatch(element)
            block, how = (whole.expand(r"\1\4\5"), whole[3][0]) if whole else (element, "")
            items.append((how, self.blocks.setdefault(self._pack(block), len(self.blocks))))
        while items:
            how, first = items[0]
            start = self._stood.get(first)
            beside = count_from(first) if start is None else self._row[start : start + len(items)]
            pairs = zip(items, ((how, each) for each in beside), strict=False)
            run = [block for (_, block), _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
            back = "" if start is None else f"{len(self._row) - start}."
            runs.append(f"{how}{back}{len(run)}")
            self._stood |= {block: at for at, block in enumerate(run, len(self._row))}
            self._row += run
            del items[: len(run)]
        self.parts.append(",".join(runs))
        return len(self.parts) - 1

    def _pack(self, html: str) -> str:
        packed = unescape(_TAG.sub(lambda tag: self._packed(tag[0]), html.translate(_BRACES)))
        return _LAST.sub("", packed.translate(_SIGNS))

    def _pack_tag(self, tag: str) -> str:
        if tag.startswith("</"):
            return "}"
        name = _OWN.sub("", tag[1:-1])
        letter = self.tags.setdefault(name, f"{_LETTERS[len(self.tags)]}{name}")[0]
        own = ((f'<data value="{name}">', value) for name, value in _OWN.findall(tag))
        inside = "".join(f"{self._packed(data)}{value}}}" for data, value in own)
        return f"{{{letter}{inside}{'}' * (tag[1:-1] in _ALONE)}"


def split_elements(html: str) -> Iterator[str]:
    """The outermost elements of HTML of ours; of lists without numbers their items."""
    depth = start = 0
    for tag in _TAG.finditer(html):
        depth += 0 if tag[2] in _ALONE else -1 if tag[1] else 1
        if not depth:
            element, start = html[start : tag.end()].strip(), tag.end()
            yield from split_elements(element[4:-5]) if element.startswith("<ul>") else [element]


def render(text: str) -> Markup:
    if len(text) > LONGEST:
        return Markup(f'<pre class="text">{in_markup(text)}</pre>')
    return Markup(markdown.render(text))


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
    html = markdown.render("".join([*parts, text[at:]]))
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
