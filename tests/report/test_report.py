"""A report shows itself: in text, on a terminal, on a page without a network, to a program."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct
from rich.console import Console
from tests.browser import browser as browser

from autoreason.report.plot import Chart, Plot, Point, Series, plot_charts
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WIDE = "9" * 30
OVERLAPS = """() => {
  const edge = document.querySelector('svg').getBoundingClientRect();
  const found = [...document.querySelectorAll('svg text')].map(
    text => ({words: text.textContent, box: text.getBoundingClientRect()}));
  const cut = found.filter(({box}) => box.left < edge.left || box.right > edge.right
    || box.top < edge.top || box.bottom > edge.bottom).map(({words}) => words);
  const onto = found.flatMap((one, at) => found.slice(at + 1).filter(({box}) =>
    box.left < one.box.right && one.box.left < box.right
    && box.top < one.box.bottom && one.box.top < box.bottom)
    .map(other => one.words + ' and ' + other.words));
  return [...cut, ...onto];
}"""
"""Texts of the first plot that are cut off or lie on each other."""
ON_A_PHONE = """() => {
  const box = document.querySelector('table').parentElement;
  const marked = getComputedStyle(box).backgroundImage.includes('gradient');
  box.scrollLeft = 300;
  const place = element => element.getBoundingClientRect();
  return [
    place(document.querySelector('td')).left === place(box).left,
    box.scrollLeft === 300 && marked,
    place(document.querySelector('.tree')).width >= 640,
    place(document.querySelector('dd')).width > 300,
  ];
}"""
"""The first column stays, a box says that it scrolls, a tree keeps its size, and notes have the whole width."""


class Sample(Report, Struct, frozen=True):
    """A small report with everything a report can have."""

    cost: Decimal = Decimal("0.5")
    heading = "A <sample>"

    @property
    def conclusion(self) -> str:
        return "no winner: 7 judges see no difference"

    def sections(self) -> list[Section]:
        columns = [Column("text", figures=False), *(Column(f"c{at}") for at in range(4))]
        table = Table(columns, [("draft", *[WIDE] * 4)])
        line = Series("<one>", "#0b6e99", [Point(1, 2, "first"), Point(2, 1200, "last")])
        plot = plot_charts("Dots", Chart([line], "pass", "Words"))
        tree = Plot("Tree", lambda: '<svg class="tree" viewBox="0 0 640 20"><g/></svg>')
        return [
            Section(tables=[table], plots=[plot, tree]),
            Section("Notes", [("Agreement", "none \x1b[31mat all"), ("", "A word.")]),
            Section("Fine print", [("", "Only on pages.")], detail=True),
        ]


def on_console(*, terminal: bool, soft_wrap: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, color_system=None)
    console.print(Sample(), soft_wrap=soft_wrap)
    return out.getvalue()


def test_print_begins_with_the_conclusion_as_a_sentence() -> None:
    first, blank, *_ = str(Sample()).splitlines()
    assert first == "No winner: 7 judges see no difference."
    assert blank == ""


def test_text_has_labels_and_no_controls_and_leaves_details_to_pages() -> None:
    text = Sample().to_text(80)
    assert "Agreement  none [31mat all" in text
    assert "Only on pages" not in text
    assert "Only on pages" in Sample().to_markdown()
    assert all(len(line) <= 80 for line in text.splitlines())


class Quotation(Report, Struct, frozen=True):
    """A report that shows a text as it is."""

    @property
    def conclusion(self) -> str:
        return "a text"

    def sections(self) -> list[Section]:
        return [Section("Text", text="somewhat " * 20)]


@pytest.mark.parametrize("soft_wrap", [True, False])
def test_on_a_terminal_no_word_of_a_text_is_broken(soft_wrap: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=40, force_terminal=True, color_system=None)
    console.print(Quotation(), soft_wrap=soft_wrap)
    assert out.getvalue().count("somewhat") == 20
    assert all(len(line) <= 40 for line in out.getvalue().splitlines())


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("soft_wrap", [True, False])
def test_a_terminal_and_a_pipe_get_all_columns_in_lines_that_fit(
    terminal: bool, soft_wrap: bool
) -> None:
    shown = on_console(terminal=terminal, soft_wrap=soft_wrap)
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert shown.count(WIDE) == 4


def test_a_program_gets_plain_values_the_conclusion_and_the_summary() -> None:
    assert Sample().to_dict() == {
        "conclusion": "no winner: 7 judges see no difference",
        "summary": ["No winner: 7 judges see no difference."],
        "cost": 0.5,
    }


def test_a_page_in_markdown_names_what_else_is_known() -> None:
    page = Sample().to_markdown({"Run": "amber-fox"}, {"Dots": "dots.svg"})
    assert page.startswith("# A &lt;sample>\n\n**No winner")
    assert "- Run: amber-fox" in page
    assert "![Dots](dots.svg)" in page


def test_a_notebook_gets_the_report_without_a_page_around_it() -> None:
    found = Sample()._repr_html_()
    assert "<html" not in found
    assert "No winner" in found
    assert "<svg" in found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_a_network_light_and_dark(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    path = tmp_path / "report.html"
    path.write_text(Sample().to_html({"Run": "amber-fox"}), "utf-8")
    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    asked: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(path.as_uri())
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    text = page.evaluate("getComputedStyle(document.querySelector('svg text.legend')).fill")
    assert asked == [path.as_uri()]
    assert errors == []
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert (text == "rgb(34, 34, 34)") == (scheme == "light")
    assert page.inner_text(".conclusion") == "No winner: 7 judges see no difference."
    assert page.inner_text("h1") == "A <sample>"
    assert page.text_content("svg text.legend") == "<one>"
    assert page.text_content("svg > title") == "Dots"
    assert (
        page.evaluate("getComputedStyle(document.querySelector('svg text')).userSelect") != "none"
    )
    for width in (400, 900):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(OVERLAPS) == []
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate(ON_A_PHONE) == [True, True, True, True]
    page.close()
