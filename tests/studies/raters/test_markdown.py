"""Texts are shown as their authors meant them, and can do nothing to the page."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.studies.raters.markdown import render
from autoreason.task import without_controls

steady = settings(derandomize=True)

OURS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote"),
    *("pre", "code", "strong", "em", "div", "table", "thead", "tbody", "tr"),
    *("th", "td"),
}
_PIECES = (
    *("# ", "## ", "- ", "1. ", "3) ", "> ", "```\n", "~~~", "**", "*", "_", "`", "|", "|---|\n"),
    *(
        "<script>",
        "</script>",
        "<b onclick='x'>",
        "&amp;",
        "&#60;",
        "javascript:",
        "[a](b)",
        "![a](b)",
    ),
    *("\n", "\n\n", "    ", "\t", "\\", "word ", "é", "-----", "\x0b", "\x1b[1m"),
)
markdown = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=40).map(
    "".join
)


class Reader(HTMLParser):
    """Reads a page as a browser would: elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.elements.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        """Text between elements."""
        self.text += data


def read(html: str) -> Reader:
    """A page, read."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


@steady
@given(markdown)
def test_whatever_a_text_says_only_our_own_elements_come_out(text: str) -> None:
    found = read(render(text))
    assert found.elements <= OURS
    for name, value in found.attributes:
        assert (name, value) == ("class", "wide") or (name == "start" and (value or "").isdigit())


@steady
@given(markdown)
def test_no_word_is_lost(text: str) -> None:
    letters = [sign for sign in without_controls(text) if sign.isalpha()]
    shown = read(render(text)).text
    # The rest of a fence's first line names a language, and a terminal's escapes are dropped.
    if "```" not in text and "~~~" not in text and "\x1b" not in text:
        assert [sign for sign in shown if sign.isalpha()] == letters


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "One *two* **three** `four`",
            "<p>One <em>two</em> <strong>three</strong> <code>four</code></p>",
        ),
        ("# One\n## Two", "<h3>One</h3><h4>Two</h4>"),
        (
            "- one\n- two\n  - deep\n- three",
            "<ul><li>one</li><li>two<ul><li>deep</li></ul></li><li>three</li></ul>",
        ),
        ("3. one\n4. two", '<ol start="3"><li>one</li><li>two</li></ol>'),
        ("- one\n\n- two\n\nAfter", "<ul><li><p>one</p></li><li><p>two</p></li></ul><p>After</p>"),
        ("> said\n> twice", "<blockquote><p>said<br>twice</p></blockquote>"),
        ("```py\na < b\n```\nAfter", "<pre><code>a &lt; b</code></pre><p>After</p>"),
        ("One\n\n---\n\nTwo", "<p>One</p><hr><p>Two</p>"),
        ("Roses\nare red", "<p>Roses<br>are red</p>"),
        ("word " * 12 + "end\nof it", "<p>" + "word " * 12 + "end of it</p>"),
        ("snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"),
        ("| a |\n|---|\n| 1 | 2 |", "<p>| a |<br>|---|<br>| 1 | 2 |</p>"),
        ("\\*not\\* so", "<p>*not* so</p>"),
        ("see [us](https://a.b)", "<p>see [us](https://a.b)</p>"),
        ("![us](https://a.b)", "<p>![us](https://a.b)</p>"),
        ("<https://a.b>", "<p>&lt;https://a.b&gt;</p>"),
        ("[us]\n\n[us]: https://a.b", "<p>[us]</p><p>[us]: https://a.b</p>"),
        (
            "| a | b |\n|---|---|\n| 1 | **2** |",
            '<div class="wide"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
            "<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>",
        ),
        ("a\u202eb\u2066c\u200f", "<p>a&lt;U+202E&gt;b&lt;U+2066&gt;c&lt;U+200F&gt;</p>"),
        ("<b>bold?</b> &amp;", "<p>&lt;b&gt;bold?&lt;/b&gt; &amp;amp;</p>"),
    ],
)
def test_markdown_is_shown_as_it_is_meant(text: str, html: str) -> None:
    assert render(text).replace("\n", "") == html


def test_deep_nesting_comes_to_an_end() -> None:
    assert "word" in render("> " * 500 + "word")
    assert "word" in render("\n".join(" " * (2 * n) + "- word" for n in range(200)))


def test_tables_that_stay_as_written_take_no_longer_than_they_are() -> None:
    assert render("|a|\n|---|\n|b|c|\n" * 2000).count("c") == 2000


def test_emphasis_within_emphasis_comes_to_an_end() -> None:
    assert "x" in render("*" * 8000 + " x")
