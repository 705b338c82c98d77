"""What a list says of a run, and its page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import browser as browser
from tests.cases import cases
from tests.pages.listing import asked, ended, listed, row
from tests.run.runs import open_journal, start_run

from autoreason.contract import Contract, Violation
from autoreason.pages.listed import describe_length, describe_run, runs_page
from autoreason.task import Task
from autoreason.tournament.endings import preference

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_a_run_is_named_after_what_it_wrote_and_counted_as_its_limits_are() -> None:
    found = describe_run(row(), ended(asked(9, 9)))
    assert (found.title, found.outcome) == ("Sunday opening", "preferred")
    assert found.line == "9 of 9 fresh judges prefer it to the first draft."
    # Neither `#` nor `-` is a word.
    assert (found.words_before, found.words) == (6, 11)
    assert describe_length(found) == "6 → 11"
    assert (found.limits, str(found.cost), str(found.cost_limit)) == ("kept", "0.27", "3.00")


@cases("judges", range(10))
def test_the_word_for_what_fresh_judges_said_is_that_of_the_ending(judges: int) -> None:
    for prefer in range(judges + 1):
        story = ended(asked(prefer, judges) if judges else None)
        assert story.delivered
        said = preference(story, story.delivered.evidence.preference)
        of = f"of {judges} fresh judge{'s' if judges != 1 else ''} prefer"
        expected = {
            "preferred": f"{prefer} {of} it to" in said and said[:3] != "Too",
            "draft preferred": said.startswith(f"{judges - prefer} {of} the first draft"),
            "too close to call": "Too close to call" in said,
            "too few to tell": "Too few to tell" in said,
            "not asked": "was not asked" in said,
        }
        assert [word for word, true in expected.items() if true] == [
            describe_run(row(), story).outcome
        ]


def test_what_was_not_judged_is_not_called_preferred() -> None:
    assert describe_run(row(), ended(asked(9, 9), ended_by="person")).outcome == "accepted"
    assert describe_run(row(), ended(origin="draft")).outcome == "draft kept"
    broken = ended(origin="draft", ended_by="contract")
    assert describe_run(row(), broken).outcome == "not refined"
    assert describe_run(row(), None).outcome == "damaged"
    story = ended()
    story.end = None
    states = {"running": "interrupted", "budget": "limit reached"}
    for status, outcome in states.items():
        story.status = status  # type: ignore[assignment]
        found = describe_run(row(status=status), story)
        assert (found.outcome, found.words) == (outcome, 6)
    assert describe_run(row(status="running", live=True), story).line == "In round 1."


def test_limits_are_broken_where_one_is() -> None:
    broken = (Violation("max_words", "11 words, at most 5 allowed"),)
    assert describe_run(row(), ended(violations=broken)).limits == "broken"
    assert describe_length(listed(words_before=None, words=1_200)) == "1,200"
    assert describe_length(listed(words=None)) == ""


def test_a_check_that_is_gone_hides_no_run() -> None:
    story = ended()
    story.task = Task(brief="Open on Sundays?", contract=Contract(checks=("gone.py:check",)))
    story.end, story.status = None, "budget"
    found = describe_run(row(status="budget"), story)
    said = "Paused at your limit, in round 1. You have the first draft."
    assert (found.limits, found.line) == ("kept", said)


async def test_a_recorded_run_has_its_rounds_and_keeps_both_of_its_names(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        result = await start_run(journal)
        found = describe_run(journal.row(result.run), journal.outline(result.run))
        marks = {"A": "kept", "B": "rewrite", "AB": "merge"}
        assert found.rounds == tuple(marks[won] for won in result.story.trajectory)
        assert found.title == journal.row(result.run).title
        assert result.text.startswith(f"# {found.title}\n")
        for words in (found.title, "coffee machine"):
            assert [each.id for each in journal.iter_runs(search=words)] == [result.run]


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
    """The list as it opens."""
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
    """Those that are seen."""
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
