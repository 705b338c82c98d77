"""One self-contained page: styles and scripts inside, nothing from a network, and no text on it acts."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from markupsafe import Markup

from autoreason.characters import for_xml, in_markup, without_controls
from autoreason.report import changes
from autoreason.report.numbers import UNKNOWN, capital, count

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from markdown_it.parser_block import RuleFuncBlockType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore


ASSETS = Path(__file__).parent / "assets"
_NOTES = re.compile(r"/\*(?s:.*?)\*/|^\s*//.*|^\s+", re.MULTILINE)
_SPACES = re.compile(r"\n|(?<=[:,]) | (?=\{)")
_SPELLED_OUT = re.compile(r"<(U\+[0-9A-F]{4})>")


def fill_page(template: Path, *, title: str, styles: Sequence[Path] = (), **values: object) -> str:
    """The page of a template, with the style and the script that are named like it and stand beside it."""
    sheets = (ASSETS / "base.css", *styles, template.with_suffix(".css"))
    script = "\n".join(map(read_asset, (ASSETS / "base.js", template.with_suffix(".js"))))
    return fill(
        ASSETS / "page.html",
        title=title,
        style=Markup(_SPACES.sub("", "\n".join(map(read_asset, sheets)))),
        script=Markup(script),
        digest=b64encode(sha256(script.encode()).digest()).decode(),
        main=Markup(_render(template, {"title": title, **values})),
    )


def fill(template: Path, **values: object) -> str:
    """HTML from a template; of the values only `Markup` is taken as HTML."""
    return spell_out(_render(template, values))


def spell_out(html: str) -> str:
    """HTML without signs that reorder a text or steer a terminal, which escaping alone would leave."""
    return _SPELLED_OUT.sub(r"&lt;\1&gt;", for_xml(html))


def _render(template: Path, values: dict[str, object]) -> str:
    return _environment(template.parent).get_template(template.name).render(values)


def link_to(page: str, url: str, name: str) -> str:
    """A page with a link at its top, to one beside it."""
    brand = "<b>autoreason</b>"
    return page.replace(brand, f'{brand}<a href="{in_markup(url)}">{in_markup(name)}</a>', 1)


@cache
def read_asset(path: Path) -> str:
    """A style or a script of ours, without what is there for who changes it."""
    return _NOTES.sub("", path.read_text("utf-8")).strip()


@cache
def _environment(folder: Path) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    house = Environment(
        loader=FileSystemLoader([folder, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    house.filters["capital"] = capital
    house.globals["count"] = count
    return house


# ---- texts in Markdown, by the one renderer that all pages share ---------------------------------

_OWN_LEVELS = 2
"""A text's first heading is below the page's own two, and each at most one level below the one before."""
_MAX_DEPTH = 16


def render(text: str) -> str:
    """Safe HTML: paragraphs, headings, lists, quotes, tables, code and emphasis; links stay as written."""
    html: str = _parser().render(without_controls(text))
    # In a box of its own, which keys reach: a wide table scrolls, the page does not.
    html = html.replace("<table>", '<div class="wide" tabindex="0"><table>')
    return html.replace("</table>", "</table></div>")


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import blockquote, list_block, table

    options = {"html": False, "breaks": True, "xhtmlOut": False, "maxNesting": 100}
    parser = MarkdownIt("commonmark", options).enable("table")
    parser.disable(["html_block", "html_inline", "link", "image", "autolink", "reference"])
    parser.disable(["entity", "code"])
    rules = parser.block.ruler
    rules.at("blockquote", _shallow(blockquote), {"alt": ["paragraph", "blockquote", "list"]})
    rules.at("list", _shallow(list_block), {"alt": ["paragraph", "blockquote"]})
    rules.at("table", _whole(table), {"alt": ["paragraph"]})
    parser.core.ruler.after("block", "restrict", _restrict)
    return parser


def _shallow(rule: RuleFuncBlockType) -> RuleFuncBlockType:
    """As written beyond some depth: the parser would leave out what lies deeper."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return state.level < _MAX_DEPTH and rule(state, start, end, silent)

    return bounded


def _whole(table: RuleFuncBlockType) -> RuleFuncBlockType:
    """As written where a row is longer than the first: the parser would leave out its last cells."""

    def complete(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        before = len(state.tokens)
        if start < state.env.get("as written", 0) or not table(state, start, end, silent):
            return False
        content = "".join(token.content for token in state.tokens[before:])
        if silent or _letters(content) == _letters(state.getLines(start, state.line, 0, False)):
            return True
        del state.tokens[before:]
        state.line, state.env["as written"] = start, state.line
        return False

    return complete


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _restrict(state: StateCore) -> None:
    """Headings lower, full lines flowing on, and no attribute that a text chose but the number of a list."""
    level = _OWN_LEVELS
    headings = (int(token.tag[1]) for token in state.tokens if token.type == "heading_open")
    lower = _OWN_LEVELS + 1 - min(headings, default=1)
    for token in state.tokens:
        if token.type == "heading_open":
            level = min(6, level + 1, int(token.tag[1]) + lower)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"
        elif token.type == "inline":
            token.content = changes.FULL_LINE.sub(" ", token.content)
        elif token.type != "ordered_list_open":
            token.attrs, token.info = {}, ""


# ---- texts that competed, try by try: what came of each, and the texts beside each other ---------

VersionTone = Literal["", "first", "second", "none", "good", "bad"]
_MOST_TEXT = 40_000
"""Characters on a page, the first try not counted: what is beyond is read in the runs that the matrix names."""


class Version(NamedTuple):
    """What one of the competitors delivered in a try."""

    name: str
    text: str = ""
    cell: str = UNKNOWN
    """What the matrix says of it, such as its place."""
    about: str = ""
    """The same in words, with the run that it is from."""
    tone: VersionTone = ""


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
        tools = {"render": render, "compare": changes.to_html}
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
