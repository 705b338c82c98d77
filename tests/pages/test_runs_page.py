"""The list of runs, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import browser as browser
from tests.pages.listing import listed

from autoreason.pages.runs_page import runs_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = (
    "<img src=x onerror=\"document.title = 'taken'\"><script>alert(1)</script> \u202eevil " * 9
)
RUNS = [
    listed(),
    listed(run="20261116-calm-wren", title="Tides", outcome="too close to call", words_before=None),
    listed(run="20261115-dim-mole", title=HOSTILE, line=HOSTILE, cost=None),
    listed(run="20261114-red-mole", title="Packing", kind="research", outcome="done", rounds=()),
    listed(run="20261113-deep-ibis", title="Harbour", outcome="running", rounds=("kept",) * 40),
]


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "index.html").write_text(
        runs_page(RUNS, {each.run: f"runs/{each.run}.html" for each in RUNS}), "utf-8"
    )
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "20261116-calm-wren.html").write_text("<title>Calm wren</title>")
    context = browser.new_context(viewport={"width": 360, "height": 700})
    opened = context.new_page()
    opened.goto((tmp_path / "index.html").as_uri())
    yield opened
    context.close()


def titles(page: Page) -> list[str]:
    return [
        each.inner_text()[:7] for each in page.locator("#runs .title").all() if each.is_visible()
    ]


def test_a_row_says_how_a_run_ended_and_what_it_took(page: Page) -> None:
    said = page.locator("#runs li", has_text="Sunday").inner_text()
    for part in ("Preferred", "9 of 9 fresh judges prefer it", "144 → 171 words", "limits kept"):
        assert part in said
    assert "$0.27 of $3.00" in said
    assert "17 Nov 2026" in said
    marks = page.get_by_role("img", name="Rounds: rewrite, kept, undecided, merge")
    assert marks.first.inner_text() == "▲■?◆"
    # What runs now comes first; of many rounds the last ones are marked.
    assert titles(page)[0] == "Harbour"
    assert page.locator(".rounds").first.inner_text() == "…" + 12 * "■"


def test_typing_a_kind_and_an_outcome_choose(page: Page) -> None:
    assert len(titles(page)) == len(RUNS)
    page.keyboard.press("/")
    page.keyboard.type("TIDES wren")
    assert titles(page) == ["Tides"]
    assert page.get_by_role("status").inner_text() == "1 of 5 runs"
    page.get_by_role("searchbox").fill("nothing has this")
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("button", name="Research").click()
    assert titles(page) == ["Packing"]
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_label("Outcome").select_option("Too close to call")
    assert titles(page) == ["Tides"]


def test_the_keyboard_opens_a_run(page: Page) -> None:
    for key in ("j", "j", "j", "k", "j"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/20261116-calm-wren.html")
    assert page.title() == "Calm wren"


def test_it_fits_any_window_and_no_title_acts(page: Page) -> None:
    for width in (360, 1280, 2560):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.title() == "Runs"
    assert page.locator("#runs img, #runs script").count() == 0
    assert "<U+202E>" in page.locator("#runs li", has_text="evil").inner_text()
