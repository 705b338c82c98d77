"""The page of a run in a real browser: its views, by mouse and by keyboard, on real and hostile texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import HOSTILE, appear, faults, opened
from tests.browser import axe as axe
from tests.browser import browser as browser
from tests.pages.plays import BACK, BACK_SETTINGS, play_story, random_script, result_of
from tests.tournament.stage import document

from autoreason.story import Story
from autoreason.studies.ratings import read_votes, votes_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHOWN = {
    "film": "#film-text > *",
    "vote": ".pick",
    "river": "svg path",
    "what-if": "[data-state]",
    "judges": ".forest ~ details td",
}
VIEWS = tuple(SHOWN)
SIDEWAYS = "document.documentElement.scrollWidth - innerWidth"
MOMENT = """() => {
    const now = document.querySelector("#log li.now");
    const shown = [...document.querySelectorAll("#log li")].filter(each => each.offsetParent);
    const votes = document.querySelectorAll("#film-votes .bal > div").length;
    const position = document.querySelector("#position").innerText;
    const cast = shown.filter(each => / puts .* first\\.$/.test(each.innerText)).length;
    return [position, now.innerText, shown.at(-1).innerText, votes, cast];
}"""


def contested() -> Story:
    """A run with a vote in every round, of which every view has something to show."""
    return play_story(3, random_script(3, flaws=0.0), k=2, passes=4, protocol="robust")


def reviewed() -> Story:
    """The same with reviews, which go back, instead of votes."""
    return play_story(3, BACK, **BACK_SETTINGS)


STORIES = pytest.mark.parametrize("story", [contested, reviewed])


@cache
def page_of(story: Callable[[], Story]) -> str:
    return result_of(story()).to_html()


def choose(page: Page, view: str) -> None:
    page.click(f"#tab-{view}")
    page.wait_for_selector(f"#view-{view}:visible")


@STORIES
def test_every_view_opens_fits_and_can_be_used_by_everybody(
    browser: Browser, axe: str, tmp_path: Path, story: Callable[[], Story]
) -> None:
    page, noticed = opened(browser, tmp_path, page_of(story))
    assert story is reviewed or faults(page, axe) == []
    for width in (1280, 360):
        appear(page, width)
        for view in VIEWS:
            choose(page, view)
            assert page.evaluate(SIDEWAYS) <= 0
            assert page.locator(f"#view-{view} {SHOWN[view]}").count()
        for view in ("draft", "changes", "sides"):
            page.click(f"#tab-{view}")
            assert page.inner_text(f"#text-{view}").strip()
            assert page.evaluate(SIDEWAYS) <= 0
    # What is packed is what it was packed of.
    whole, made = (
        "".join(page.locator(f"#text-{view} .doc").last.inner_html().split())
        for view in ("result", "sides")
    )
    assert whole == made
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert faults(page, axe) == []
    assert noticed == []
    page.close()


@STORIES
def test_the_film_shows_a_moment_and_what_came_before_it_in_its_round(
    browser: Browser, tmp_path: Path, story: Callable[[], Story]
) -> None:
    page, _ = opened(browser, tmp_path, page_of(story))
    assert page.locator("#log li:visible").count() == 1
    page.focus("#moment")
    moments = page.locator("#log li").count()
    for at in range(2, moments + 1):
        page.keyboard.press("ArrowRight")
        position, now, last, votes, cast = page.evaluate(MOMENT)
        assert position == f"{at} of {moments}"
        assert now == last
        assert max(0, votes - 1) == cast
    assert now == "This is the result."
    page.close()


@STORIES
def test_votes_are_hidden_until_one_has_voted_and_are_saved_for_rate(
    browser: Browser, tmp_path: Path, story: Callable[[], Story]
) -> None:
    played = story()
    page, _ = opened(browser, tmp_path, page_of(story))
    page.click("#hide")
    assert not page.is_visible("#story")
    choose(page, "vote")
    assert "the " not in page.inner_text("#ballot")
    # Its tab has the focus after the click.
    page.keyboard.press("2")
    page.keyboard.press("1")
    assert page.is_visible("#story")
    assert page.inner_text("#ballot .said").startswith("You put the ")
    assert page.locator("#ballot .said .bal").count() == 1
    assert ": best, the " in page.inner_text("#ballot .vote")
    with page.expect_download() as download:
        page.click("#save")
    saved = tmp_path / "votes.json"
    download.value.save_as(saved)
    votes = read_votes(saved)
    report = votes_report(votes, played)
    assert votes.run == "20261118-amber-fox"
    assert report.people[0].name == "me"
    assert report.panel is not None
    assert len(json.loads(saved.read_text())["rounds"]) == len(report.tasks) == 1
    page.close()


@STORIES
def test_what_if_shows_rounds_as_recorded_up_to_the_first_difference(
    browser: Browser, tmp_path: Path, story: Callable[[], Story]
) -> None:
    page, _ = opened(browser, tmp_path, page_of(story))
    choose(page, "what-if")
    assert page.inner_text("#what-if-said").startswith("Nothing changes")
    for group in ("judge", "rule", "ties", "k"):
        for choice in page.locator(f"input[name={group}]").all():
            choice.check()
            states = page.eval_on_selector_all(
                "#recount tr", "rows => rows.map(each => each.dataset.state ?? '')"
            )
            after = [each for each in states if each in ("parted", "unknown", "unrun")]
            assert states[len(states) - len(after) :] == after
            assert not after or after[1:] == [{"parted": "unknown"}.get(after[0], "unrun")] * (
                len(after) - 1
            )
    page.close()


SAMPLED, ALONE = ({"strategy": each} for each in ("best_of_n", "critique_revise"))


@pytest.mark.parametrize("options", [{}, BACK_SETTINGS, SAMPLED, ALONE])
def test_a_hostile_text_does_nothing(
    browser: Browser, tmp_path: Path, options: dict[str, Any]
) -> None:
    script = {
        **random_script(4, flaws=0.0),
        "author": document(HOSTILE),
        "reviser": document(f"{HOSTILE}\n\nMore."),
    }
    story = play_story(4, script, brief=HOSTILE, **options)
    page, noticed = opened(browser, tmp_path, result_of(story).to_html())
    for tab in page.locator("[role=tab]").all():
        tab.click()
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert noticed == []
    acting = "main script:not([type='text/plain']), main svg:not(.river), main img"
    assert page.locator(acting).count() == 0
    page.close()


def test_without_scripts_it_says_what_matters(browser: Browser, tmp_path: Path) -> None:
    html = page_of(contested)
    page, _ = opened(browser, tmp_path, html, java_script_enabled=False)
    parts = page.locator("#text-result, #text-changes, .round h3, #use-h").all()
    assert [each.is_visible() for each in parts] == [True] * 8
    assert not page.locator("#closer-h, [role=tab]").first.is_visible()
    page.close()


def test_a_hundred_rounds_open_at_once(browser: Browser, tmp_path: Path) -> None:
    story = play_story(3, random_script(3, flaws=0.0), k=99, passes=100, protocol="robust")
    page, noticed = opened(browser, tmp_path, result_of(story).to_html())
    page.wait_for_selector(":root.ready")
    took = page.evaluate("performance.now()")
    # The review at the end is one more.
    assert page.locator(".round").count() == 101
    # A second where nothing else runs; a busy machine is given more.
    assert took < 4_000
    assert noticed == []
    page.close()
