"""A critic's marks stand at the words it quotes, and a marked text is the text."""

from __future__ import annotations

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup
from tests.pages.plays import unpack, write

from autoreason.events import CritiqueProblem
from autoreason.pages.fragments import Fragments, compare, find_quotes, mark, render
from autoreason.parsing.critiques import Prose

MARKS = re.compile(r"</?mark>|(?<=</mark>)<sup>\d+</sup>")


def problem(quote: str) -> CritiqueProblem:
    return CritiqueProblem(severity="major", kind="quote", problem="Weak.", quote=quote)


TEXTS = st.one_of(
    st.integers(0, 1000).map(lambda seed: write(random.Random(seed))),
    st.text("ab1 .*_`#>-|\n\ufdd0\ufdd1<&", max_size=200),
)


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_a_quote_is_found_where_it_is(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    prose = Prose(text)
    assert bool(prose.places(quote)) == prose.quotes(quote)
    for begin, end in prose.places(quote):
        assert Prose(text[begin:end]).quotes(text[begin:end])
        assert Prose(quote).quotes(text[begin:end])


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.data())
def test_without_its_marks_a_marked_text_is_the_text(text: str, data: st.DataObject) -> None:
    lines = text.splitlines() or [""]
    quotes = data.draw(st.lists(st.sampled_from(lines), max_size=3))
    problems = [problem(quote) for quote in quotes]
    html = str(mark(text, problems))
    plain = text.replace("\ufdd0", " ").replace("\ufdd1", " ")
    assert MARKS.sub("", html) == str(render(plain))
    inside = False
    for tag in re.findall(r"<[^>]*>", html):
        assert inside == (tag == "</mark>") if tag.endswith("mark>") else not inside
        inside = tag == "<mark>"


def test_marks_are_numbered_by_problem_and_cross_no_tag() -> None:
    text = "# Cost\n\n- **Too few.** We count.\n- Staff.\n"
    problems = [problem("Staff"), problem("Too few. We count.")]
    assert find_quotes(text, problems) == [(2, 12, 31), (1, 35, 40)]
    assert "<strong><mark>Too few.</mark></strong><mark> We count</mark><sup>2</sup>" in mark(
        text, problems
    )


def test_the_number_of_an_empty_item_is_not_marked_and_emphasis_stays() -> None:
    assert "1</mark><sup>1</sup>&lt;<em>&gt;</em>" in mark("1<_>_", [problem("1<_>_")])
    assert mark("1.\n2. Staff", [problem("1.")]) == render("1.\n2. Staff")


def test_a_piece_that_is_shown_twice_is_made_once() -> None:
    pieces = Fragments()
    one, two = pieces.add(render, "One {a} <.\n\nTwo."), pieces.add(render, "Two.")
    assert one == pieces.add(render, "One {a} <.\n\nTwo.")
    assert pieces.add(compare, "Two.", "Three.") not in (one, two)
    assert pieces.add(Markup, '<b id="x">Three<br></b><b id="x">Three<br></b>') == 3
    assert pieces.parts == ["0 1", "1", "d1 i1", "3 0"]
    assert [*pieces.blocks][1:] == ["<p>Two.</p>", "<p>Three.</p>", '<b id="x">Three<br></b>']
    pieces.add(compare, "```\n1\n2\n3\n```", "```\n1\n5\n3\n```")
    changed = "<pre>1\n<del>2</del>\n<ins>5</ins>\n3</pre>"
    assert [*pieces.blocks][-1] == changed, "lines of code stay lines"
    packed = f'<script id="packed">{pieces.pack()}</script>'
    assert unpack(packed) == [[*pieces.blocks], pieces.parts]
