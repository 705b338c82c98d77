"""Texts in Markdown as safe HTML, by the one renderer that all pages share."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from autoreason.characters import without_controls
from autoreason.report.changes import FULL_LINE

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.parser_block import RuleFuncBlockType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore

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
            token.content = FULL_LINE.sub(" ", token.content)
        elif token.type != "ordered_list_open":
            token.attrs, token.info = {}, ""
