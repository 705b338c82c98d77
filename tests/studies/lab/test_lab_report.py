"""What a report says of arms whose cells did not all come to a result, and how it explains its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace
from tests.studies.lab.cells import a_cell, a_panel, a_suite

from autoreason.settings import Models, make_settings
from autoreason.story import Story
from autoreason.studies.lab_report import LabReport, lab_report
from autoreason.studies.lab_suite import (
    CellFinished,
    Suite,
    SuiteArm,
    SuiteComparison,
    SuiteTask,
    SuiteWork,
)
from autoreason.task import Task

PASSES = SuiteComparison(name="p", question="?", arms=("contest", "revised"), measure="passes")


def a_report(suite: Suite, cells: Sequence[CellFinished]) -> LabReport:
    story = Story(task=Task(brief="a suite", work=SuiteWork(suite)))
    for each in cells:
        story.apply(each)
    return lab_report(story)


def said(report: LabReport) -> str:
    return " ".join(report.to_text().split())


def limited_suite() -> tuple[Suite, list[CellFinished]]:
    """Seven tasks; on five of them the tournament reaches the limit of its cell."""
    names = "abcdefg"
    tasks = {name: SuiteTask(task=Task(brief=f"Explain {name}.")) for name in names}
    suite = replace(a_suite(), tasks=tasks, measures=("converged",), comparisons=(PASSES,))
    cells = []
    for at, task in enumerate(names):
        cells.append(a_cell("revised", "B " * (at + 1), task=task, status="capped"))
        ended: dict[str, Any] = {} if at < 2 else {"status": "budget", "finished": False}
        cells.append(a_cell("contest", "B A A", task=task, **ended))
    return suite, cells


def test_a_cell_that_ended_at_its_limit_did_not_converge_and_its_absence_is_named() -> None:
    report = a_report(*limited_suite())
    contest = report.arms[2]
    (pair,) = report.pairs
    assert (pair.first_mean, pair.second_mean, pair.difference.value) == (3.0, 1.5, 1.5)
    assert (contest.finished, contest.cells, contest.at_limit) == (2, 7, 5)
    assert contest.means["converged"] == 2 / 7
    assert contest.converged_by_pass[-1] == 2 / 7
    text = said(report)
    why = "which counts as not settled; the others took less"
    assert f"contest without 5 tries that reached their limit, {why}" in text
    assert "2 tasks; without 5 pairs in which one reached its limit" in text
    assert text.count("reached their limit") == 1
    convergence = next(each for each in contest.failures if each.mode == "No convergence")
    assert (convergence.cells, convergence.of) == (5, 7)


def test_answers_extend_to_other_tasks_only_with_results_of_enough_tasks() -> None:
    suite, cells = limited_suite()
    assert "Applies to these tasks only" in said(a_report(suite, cells))
    whole = [replace(each, result=replace(each.result, finished=True)) for each in cells]
    assert "Applies to tasks like these" in said(a_report(suite, whole))


def test_quality_is_explained_and_an_arm_that_was_judged_elsewhere_has_none() -> None:
    suite = a_suite()
    settings = make_settings(Models.everywhere("echo/echo"), 1, strategy="improve")
    arms = suite.arms | {"improve": SuiteArm(settings=settings)}
    other = SuiteComparison(name="b", question="?", arms=("revised", "improve"))
    suite = replace(suite, arms=arms, comparisons=(other, *suite.comparisons))
    cells = [a_cell(arm, "B", words=9) for arm in arms]
    report = a_report(suite, [*cells, a_panel("revised single contest")])
    assert [each.quality for each in report.arms] == [0.5, 1.0, 0.0, None]
    text = said(report)
    assert "preferred the share of votes against each of the others" in text
    assert "points of preferred: the share of votes for the first minus that for" in text
    plain = a_report(replace(suite, comparisons=()), cells)
    assert not plain.quality_by
    assert "preferred" not in said(plain)


def test_drafts_that_are_sampled_are_no_passes() -> None:
    suite = a_suite()
    sampling = make_settings(Models.everywhere("echo/echo"), 1, strategy="best_of_n")
    arms = suite.arms | {"sampled": SuiteArm(settings=sampling)}
    suite = replace(suite, arms=arms, comparisons=(), measures=("passes",))
    report = a_report(suite, [a_cell(arm, "B B", status="done") for arm in arms])
    assert [each.means["passes"] for each in report.arms] == [2, 2, 2, None]
    *_, sampled = report.arms
    assert sampled.words_by_pass == ()
    assert next(each for each in sampled.failures if each.mode.startswith("Drift")).of == 0


def test_an_ending_says_in_how_many_tries_both_texts_were_the_same() -> None:
    suite, found = a_suite(), a_panel("revised contest")
    same = {"revised": "revised", "single": "revised", "contest": "contest"}
    judged = CellFinished(cell=found.cell, result=found.result, judged_as=same)
    report = a_report(suite, [*(a_cell(arm, "B") for arm in suite.arms), judged])
    _, *tests, said, _ = replace(report, planned=report.cells).summary()
    assert len(tests) == 2
    assert said == "In 1 of 2 pairs both texts are the same, which counts half."
