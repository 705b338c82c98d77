"""A text that is shown does nothing: it is neither HTML nor a link nor an image, and steers no terminal."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.cases import cases

from autoreason.characters import in_markdown

LIVE = (
    "![x](http://example.com/x.png)",
    "\\![x](http://example.com/x.png)",
    "[x](http://example.com)",
    "[x][y] [y]: http://example.com",
    "[y]: http://example.com",
    "<img src=http://example.com/x.png>",
    "<http://example.com>",
    "<a@example.com>",
    "http://example.com and HTTPS://example.com",
    "www.example.com or WWW.example.com",
    "a@example.com",
)
PIECES = st.lists(st.sampled_from([*LIVE, *"\\![]()<>:/`&@.", "http://e.com", " "]), max_size=12)


def rendered(text: str) -> str:
    """A page in which a text is a paragraph, an item and a cell."""
    shown = in_markdown(text)
    page = f"**{shown}**\n\n- Label: {shown}\n\n{shown}\n\n[y]: http://example.com\n"
    return str(MarkdownIt("commonmark").render(page))


@cases("text", LIVE)
def test_a_text_in_markdown_reads_as_it_is(text: str) -> None:
    assert f"<li>Label: {text}</li>" in unescape(rendered(text))


@given(PIECES.map("".join))
@example("\\\\[x](http://example.com)")
def test_nothing_in_markdown_becomes_a_link_an_image_or_html(text: str) -> None:
    assert not re.search("<(a|img|script)", rendered(text))
    assert not re.search(r"://|www\.|(?<!\\)@", in_markdown(text), re.IGNORECASE)
