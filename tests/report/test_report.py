"""A report shows itself: in text, on a terminal, on a page without a network, to a program."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct
from rich.console import Console
from tests.browser import HOSTILE, appear, faults, opened
from tests.browser import axe as axe
from tests.browser import browser as browser

from autoreason.report.charts import ChartRow, Lines, Point, Series, interval_chart, line_chart
from autoreason.report.page import SideBySide, Try, Version
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.stats import Estimate

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
"""Texts of the first chart that are cut off or lie on each other."""


class Sample(Report, Struct, frozen=True):
    """A small report with everything a report can have."""

    cost: Decimal = Decimal("0.5")
    text: str = HOSTILE
    heading = "A <sample>"

    @property
    def conclusion(self) -> str:
        return "no winner: 7 judges see no difference"

    def sections(self) -> list[Section]:
        columns = [Column("text", figures=False), *(Column(f"c{at}") for at in range(4))]
        table = Table(columns, [("draft", *[WIDE] * 4)])
        line = Series("<one>", "#0b6e99", [Point(1, 2, "first"), Point(2, 1200, "last")])
        dots = line_chart("Words by pass", table, Lines([line], "pass", heading="Words"))
        share = ChartRow("<a> against b", Estimate(0.75, 0.6, 0.9), "75 % (60 to 90): a", "good")
        votes = interval_chart("Votes", [share], sides=("b", "a"))
        return [
            Section("What came of it", charts=[dots, votes], tables=[table]),
            Section("Every try", texts=SideBySide([self.a_try("1"), self.a_try("2")], base="one")),
            Section("Notes", [("Agreement", "none \x1b[31mat all"), ("", "A word.")]),
            Section("Fine print", [("", "Only on pages.")], detail=True),
            Section("Text", text="somewhat " * 20),
            Section("Patch", patch=f"-{HOSTILE}\n+new\n"),
        ]

    def a_try(self, name: str) -> Try:
        texts = {"one": f"{HOSTILE}Try {name}.", "two": f"{self.text}\n\nTry {name}, other words."}
        return Try("", name, [Version(each, text, "1") for each, text in texts.items()])


def on_console(*, terminal: bool, soft_wrap: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, color_system=None)
    console.print(Sample(), soft_wrap=soft_wrap)
    return out.getvalue()


def test_text_begins_with_the_conclusion_has_no_controls_and_leaves_details_to_pages() -> None:
    text = Sample().to_text(80)
    assert text.startswith("No winner: 7 judges see no difference.\n\n")
    assert str(Sample()).splitlines()[:2] == text.splitlines()[:2]
    assert "Agreement  none [31mat all" in text
    assert "Only on pages" not in text
    assert "Only on pages" in Sample().to_markdown()


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("soft_wrap", [True, False])
def test_a_terminal_and_a_pipe_get_all_columns_in_lines_that_fit(
    terminal: bool, soft_wrap: bool
) -> None:
    shown = on_console(terminal=terminal, soft_wrap=soft_wrap)
    # A text stays as it is in a pipe.
    lines = [each for each in shown.splitlines() if terminal or "somewhat" not in each]
    assert all(len(line) <= 80 for line in lines)
    assert shown.count(WIDE) == 4
    assert shown.count("somewhat") == 20, "no word of a text is broken"


def test_a_program_gets_plain_values_the_conclusion_and_the_summary() -> None:
    assert Sample().to_dict() == {
        "conclusion": "no winner: 7 judges see no difference",
        "summary": ["No winner: 7 judges see no difference."],
        "cost": 0.5,
        "text": HOSTILE,
    }


def test_a_page_in_markdown_names_what_else_is_known() -> None:
    page = Sample().to_markdown({"Run": "amber-fox"}, {"Words by pass": "words.svg"})
    assert page.startswith("# A &lt;sample>\n\n**No winner")
    assert "- Run: amber-fox" in page
    assert "![Words by pass](words.svg)" in page
    assert "| <a> against b" not in page
    assert "against b" in page, "the numbers of a chart"


def test_files_are_named_by_what_they_show_and_a_notebook_gets_no_page_around_it() -> None:
    files = Sample().to_files()
    assert {"words-by-pass.svg", "words-by-pass.csv", "votes.svg", "votes.csv"} <= files.keys()
    assert "words-by-pass.svg" in files["report.md"]
    found = Sample()._repr_html_()
    assert "<html" not in found
    assert "No winner" in found
    assert "<svg" in found


def test_a_page_fits_acts_on_nothing_and_has_no_faults(
    browser: Browser, axe: str, tmp_path: Path
) -> None:
    page, noticed = opened(browser, tmp_path, Sample().to_html({"Run": "amber-fox"}))
    assert page.inner_text("h1") == "No winner: 7 judges see no difference."
    assert page.inner_text(".kick") == "A <sample>"
    assert page.text_content("svg text.legend") == "<one>"
    for width, dark in ((2560, False), (1280, False), (400, False), (360, True)):
        appear(page, width, dark=dark)
        background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (background == "rgb(251, 250, 246)") is not dark
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OVERLAPS) == []
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert faults(page, axe) == []
    appear(page, 1280)
    assert faults(page, axe) == []
    assert noticed == []
    page.close()


def test_a_try_is_chosen_and_its_changes_are_shown_with_the_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    page, noticed = opened(browser, tmp_path, Sample(text="One line.").to_html())
    assert page.locator("text=Try 1, other words.").first.is_visible()
    page.get_by_role("button", name="two 2").focus()
    page.keyboard.press("Enter")
    assert page.locator("text=Try 1, other words.").first.is_hidden()
    assert page.locator("text=Try 2, other words.").first.is_visible()
    assert page.locator("ins:visible").count() == 1, "the line of the patch that is new"
    page.get_by_role("button", name="What changed since one").press("Enter")
    assert page.locator("ins:visible").count() > 1
    assert noticed == []
    page.close()


def test_a_page_has_as_many_texts_as_one_reads_and_says_where_the_others_are() -> None:
    tries = [Try("", str(n), [Version("one", "A long text. " * 1_500)]) for n in range(4)]
    page = SideBySide(tries).to_html()
    assert page.count('class="try"') == 2
    assert "The texts of 2 more tries are in the runs that are named." in page


def test_a_page_has_no_commands_and_no_columns_of_a_terminal() -> None:
    class Ended(Sample, frozen=True):
        def summary(self, took: str = "") -> list[str]:  # noqa: ARG002
            return [
                "Judges prefer a to b.",
                "  a against b   75 %   shown",
                "Check it: it repeats words of the items; see --evidence.",
                "3 parts left out: see --evidence.",
                "It ended early: the budget; autoreason fork fox goes on.",
            ]

    page = Ended(text="").to_html()
    shown = re.findall(r'<p class="lead">(.*?)</p>', page)
    assert shown == [
        "Check it: it repeats words of the items.",
        "3 parts left out.",
        "It ended early: the budget.",
    ]
    assert "<h1>Judges prefer a to b.</h1>" in page
