"""The page of every kind of report opens, fits, has no faults and is small, also with texts that try to act."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.artifacts.test_research_report import DONE, FRESH, SEARCH, report_of, trial
from tests.browser import HOSTILE, appear, faults, opened
from tests.browser import axe as axe
from tests.browser import browser as browser
from tests.knowledge.mailings import EXPORT, write_export
from tests.programs.solved import assignments, set_report, solved
from tests.studies.ab.test_ab import fill_in, told
from tests.studies.lab.cells import a_cell, a_panel, a_suite

from autoreason.knowledge.folder_report import check_knowledge
from autoreason.report.report import Report
from autoreason.run.knowledge import report_ab
from autoreason.run.studies import judge
from autoreason.story import Story
from autoreason.studies.ab import plan_of
from autoreason.studies.lab_report import lab_report
from autoreason.studies.lab_suite import SuiteWork
from autoreason.task import Task

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def a_suite_report(_folder: Path) -> Report:
    story = Story(task=Task(brief="a suite", work=SuiteWork(suite := a_suite())))
    tries = [*product(suite.tasks, (1, 2, 3))]
    cells = [a_panel("contest revised single", repeat=n, task=task) for task, n in tries]
    cells += [a_cell(arm, "B AB A", n, t, words=90) for (t, n), arm in product(tries, suite.arms)]
    for each in cells:
        story.apply(each)
    return lab_report(story, {"Run": "amber-fox"}, {f"1/arm/{n}": HOSTILE * n for n in (1, 2, 3)})


def records(folder: Path) -> Report:
    write_export(folder / EXPORT, subjects=60)
    (folder / "facts.md").write_text(HOSTILE)
    return check_knowledge(folder)


def a_panel_report(folder: Path) -> Report:
    texts = {"long": f"The moon pulls.\n\n{HOSTILE}", "short": "The wind.", "none": "It rests."}
    # In a thread of its own: a browser has a loop in this one.
    with ThreadPoolExecutor(1) as pool:
        run = partial(judge, HOSTILE, texts, judge_models="echo/echo", journal=folder / "j.db")
        return pool.submit(run, seed=1).result()


def an_ab_report(folder: Path) -> Report:
    plan = plan_of(told(f"draft {HOSTILE}", "pass 1 B 0"), "run", 2)
    plan.write(folder / "test")
    size = plan.sample
    counts = {arm.code: (size // (5 + at), size) for at, arm in enumerate(plan.arms)}
    return report_ab(fill_in(folder / "test", counts))


REPORTS: dict[str, Callable[[Path], Report]] = {
    "suite": a_suite_report,
    "panel": a_panel_report,
    "test on readers": an_ab_report,
    "records": records,
    "research": lambda _: report_of(*SEARCH, trial(5, hypothesis=HOSTILE), FRESH, DONE),
    "programs": lambda _: set_report(
        [solved("p1", program=HOSTILE), solved("p2", private=None)], assignments(2)
    ),
}


_EXPERTS = re.compile(
    r"\b(?:arms?|AB|ballots?|Borda|tau|incumbent|converged|trajector\w+|taxonomy|p [=<] ?\d|p, corrected)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("kind", ["suite", "panel", "research", "programs"])
def test_what_is_not_folded_is_in_words_that_people_know(kind: str, tmp_path: Path) -> None:
    html = REPORTS[kind](tmp_path).to_html()
    shown, evidence = html[html.index("<h1") :].split("Evidence</h2>")
    assert evidence.lstrip().startswith("<details>"), "all of it is folded"
    shown += " ".join(re.findall("<details><summary>(.*?)</summary>", evidence))
    assert _EXPERTS.findall(re.sub("<[^>]*>", " ", shown)) == []


@pytest.mark.parametrize("kind", REPORTS)
def test_a_page_fits_acts_on_nothing_and_has_no_faults(
    kind: str, browser: Browser, axe: str, tmp_path: Path
) -> None:
    html = REPORTS[kind](tmp_path).to_html()
    assert len(html.encode()) < 150_000
    page, noticed = opened(browser, tmp_path, html)
    for width in (360, 1280):
        # In light colours, which are the same for all, the sample of a report is checked.
        appear(page, width, dark=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert faults(page, axe) == []
    assert noticed == []
    page.close()
