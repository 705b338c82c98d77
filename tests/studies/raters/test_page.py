"""The page in a real browser: by mouse, by keyboard, on a phone, and through a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.studies.raters.conftest import Study
from tests.studies.raters.serving import Served, serve_packet

from autoreason.studies.rating_packet import LINES, Sheet, plan, read_sheets

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

    Visit = Callable[..., Page]

PATIENCE = 15_000
"""Milliseconds; far more than anything takes."""


@pytest.fixture
def served(study: Study) -> Iterator[Served]:
    """A server of the test's own."""
    with serve_packet(study.folder) as served:
        yield served


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens the page for a new person; whatever goes wrong on it fails the test in the end."""
    contexts: list[BrowserContext] = []
    trouble: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        trouble.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def visit(served: Served, **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("dialog", dismiss)
        page.goto(served.url)
        page.wait_for_selector("h1")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert trouble == []


def begin(page: Page, name: str) -> None:
    page.fill("#name", name)
    page.click("text=Begin")
    page.wait_for_selector("article")


def at(page: Page, step: int) -> None:
    page.wait_for_selector(f".above:text-matches('^{step} of 4')")


def settled(page: Page) -> None:
    """Wait until everything is saved; a click shows at once that it is not."""
    page.wait_for_selector("#saved:text-is('Saved')")


def only_sheet(study: Study) -> Sheet:
    (sheet,) = read_sheets(study.folder, study.packet)
    return sheet


def test_a_packet_is_rated_with_the_mouse(visit: Visit, served: Served, study: Study) -> None:
    page = visit(served)
    assert "How to rate" in page.inner_text("h1")
    begin(page, "Anna")
    shown = [step.codes[0] for step in plan(study.packet, 0) if step.kind == "text"]
    for number, code in enumerate(shown, 1):
        at(page, number)
        assert code in page.inner_text("h1")
        for place, line in enumerate(LINES):
            page.click(f"fieldset[data-line={line}] label:nth-child({(number + place) % 5 + 1})")
        if number == 1:
            page.fill("#comment", "Warm & <short>")
        page.click("#next")
    at(page, 4)
    for code in (shown[1], shown[0], shown[2]):
        page.click(f"[data-place={code}]")
    page.click(f"[data-up={shown[2]}]")
    page.click("#next")
    page.wait_for_selector("h1:text-is('Everything is rated')")
    page.click("text=I am done")
    page.wait_for_selector("h1:text-is('Thank you, Anna')")
    settled(page)
    sheet = only_sheet(study)
    assert sheet.finished
    assert sheet.rankings == {0: (shown[1], shown[2], shown[0])}
    assert sheet.comments == {(0, shown[0]): "Warm & <short>"}
    assert sheet.scores == {
        code: {line: (number + place) % 5 + 1 for place, line in enumerate(LINES)}
        for number, code in enumerate(shown, 1)
    }


def test_a_packet_is_rated_with_the_keyboard_alone(
    visit: Visit, served: Served, study: Study
) -> None:
    page = visit(served)
    keys = page.keyboard
    keys.press("Tab")
    keys.type("Anna")
    keys.press("Enter")
    for number in (1, 2, 3):
        at(page, number)
        for key in "12345":
            keys.press(key)
        keys.press("Enter")
    at(page, 4)
    shown = plan(study.packet, 0)[-1].codes
    page.focus(f"[data-place={shown[0]}]")
    for _ in shown:
        keys.press("Enter")
    page.focus(f"[data-up={shown[2]}]")
    keys.press("ArrowUp")
    keys.press("Enter")
    page.focus("#next")
    keys.press("Enter")
    page.wait_for_selector("h1:text-is('Everything is rated')")
    settled(page)
    sheet = only_sheet(study)
    assert sheet.scores == {code: dict(zip(LINES, range(1, 6), strict=True)) for code in shown}
    assert sheet.rankings == {0: (shown[2], shown[0], shown[1])}


def test_a_rater_who_comes_back_goes_on_where_they_were(
    visit: Visit, served: Served, study: Study
) -> None:
    page = visit(served)
    begin(page, "Anna")
    for key in "345":
        page.keyboard.press(key)
    page.fill("#comment", "So far")
    page.click("#next")
    page.wait_for_selector("text=Not rated yet: concision, overall.")
    page.click("#next")
    at(page, 2)
    page.keyboard.press("2")
    settled(page)
    page.reload()
    at(page, 2)
    assert page.is_checked("fieldset[data-line=clarity] input[value='2']")
    page.click("text=Hand over")
    page.wait_for_selector("#name")
    begin(page, "anna")
    at(page, 2)
    page.click("text=Back")
    at(page, 1)
    assert page.is_checked("fieldset[data-line=correctness] input[value='5']")
    assert page.input_value("#comment") == "So far"
    assert only_sheet(study).rater == "Anna"


def test_a_second_browser_waits_for_the_desk(visit: Visit, served: Served) -> None:
    one = visit(served)
    begin(one, "Anna")
    two = visit(served)
    assert two.inner_text("h1") == "Anna is rating now"
    one.click("text=Hand over")
    two.wait_for_selector("#name")
    begin(two, "Ben")
    one.reload()
    one.wait_for_selector("h1:text-is('Ben is rating now')")
    one.click("text=Ben has left")
    begin(one, "Anna")
    two.keyboard.press("3")
    two.wait_for_selector("text=this window is no longer at the desk")


def test_a_click_while_the_server_is_down_is_saved_when_it_is_back(
    visit: Visit, study: Study
) -> None:
    with serve_packet(study.folder) as served:
        page = visit(served)
        begin(page, "Anna")
        page.keyboard.press("4")
        settled(page)
    page.keyboard.press("2")
    page.wait_for_selector("#saved.trouble")
    code = plan(study.packet, 0)[0].codes[0]
    assert only_sheet(study).scores == {code: {"clarity": 4}}
    with serve_packet(study.folder, served.port):
        settled(page)
        page.keyboard.press("5")
        settled(page)
        scores = only_sheet(study).scores[code]
        assert scores == {"clarity": 4, "usefulness": 2, "correctness": 5}


def test_no_text_can_run_anything_on_the_page(visit: Visit, served: Served) -> None:
    page = visit(served)
    begin(page, "Anna")
    for number in (1, 2, 3):
        at(page, number)
        if "my honour" in page.inner_text("article"):
            assert "<script>" in page.inner_text("article")
            break
        page.click("#next")
        page.click("#next")
    assert page.title() == "Blind rating"
    assert page.locator("article :is(script, img, a, iframe)").count() == 0
    # Even if markup came through, the page's policy would not let it run.
    page.evaluate(
        "document.querySelector('article').innerHTML = '<img src=x onerror=\"document.title = 1\">'"
    )
    page.wait_for_timeout(200)
    assert page.title() == "Blind rating"


def test_a_phone_shows_everything_without_scrolling_sideways(visit: Visit, served: Served) -> None:
    page = visit(served, viewport={"width": 360, "height": 740}, color_scheme="dark")

    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    assert fits()
    begin(page, "Anna")
    assert fits()
    box = page.locator(".scale label").first.bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 44, "a finger needs room"
    for number in (1, 2, 3):
        at(page, number)
        for key in "12345":
            page.keyboard.press(key)
        page.click("#next")
    at(page, 4)
    for _ in range(3):
        page.click(".unplaced [data-place]")
    assert fits()
    paper = str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light = sum(int(part) for part in paper.removeprefix("rgb(").rstrip(")").split(",")) > 380
    assert not light
