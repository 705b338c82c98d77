"""Suites whose arms are all the same: how often an answer says that they differ."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from msgspec.structs import replace
from tests.once import once
from tests.under_chance.luck import misses, most_often

from autoreason.settings import Models, Settings
from autoreason.story import Story
from autoreason.studies.lab_comparisons import ArmValues, answer, compare_arms, repeats_to_add
from autoreason.studies.lab_report import lab_report
from autoreason.studies.lab_suite import (
    AddRule,
    Ballot,
    CellFinished,
    CellResult,
    Suite,
    SuiteArm,
    SuiteComparison,
    SuitePanel,
    SuiteTask,
    SuiteWork,
    groups,
)
from autoreason.task import Task

TIMES = 60
SETTINGS = Settings(models=Models.everywhere("random/judge"), seed=0)
SUITES = [(1, 8, 3, 0.0), (3, 5, 7, 2.0), (8, 2, 3, 0.0), (12, 3, 5, 2.0)]
"""Tasks, repeats, judges, and how far judges agree on the texts of a task and a repeat."""
suites = pytest.mark.parametrize(("tasks", "repeats", "judges", "alike"), SUITES)


def random_suite(tasks: int, repeats: int) -> Suite:
    arms = ("a", "b", "c")
    return Suite(
        name="chance",
        tasks={f"t{n}": SuiteTask(task=Task(brief="b", draft="d")) for n in range(tasks)},
        arms={arm: SuiteArm(settings=SETTINGS) for arm in arms},
        repeats=repeats,
        comparisons=(
            SuiteComparison(name="judged", question="?", arms=arms, measure="preferred"),
            SuiteComparison(name="length", question="?", arms=("a", "b"), measure="words"),
            SuiteComparison(name="ends", question="?", arms=("b", "c"), measure="converged"),
        ),
        panel=SuitePanel(settings=SETTINGS),
    )


def random_cells(
    rng: np.random.Generator, suite: Suite, judges: int, alike: float
) -> list[CellFinished]:
    """Tasks differ in how long their texts are and how often they converge; arms do not."""
    length = {task: rng.normal(0, 100) for task in suite.tasks}
    ends = {task: rng.random() for task in suite.tasks}
    events = []
    for group in groups(suite):
        for cell in group.arms:
            done = rng.random() < ends[cell.task]
            result = CellResult(
                run="r",
                status="converged" if done else "capped",
                reason="",
                words=round(600 + length[cell.task] + rng.normal(0, 60)),
            )
            events.append(CellFinished(cell=cell, result=result))
        for cell in group.panels:
            quality = alike * rng.standard_normal(3)
            seen = quality + rng.gumbel(size=(judges, 3))
            ballots = tuple(
                Ballot(
                    order=tuple(map(str, rng.permutation(list("abc")))),
                    ranking=tuple("abc"[at] for at in np.argsort(-each)),
                )
                for each in seen
            )
            result = CellResult(run="r", status="done", reason="", ballots=ballots)
            same = {arm: arm for arm in cell.arms}
            events.append(CellFinished(cell=cell, result=result, judged_as=same))
    return events


@once
def said(tasks: int, repeats: int, judges: int, alike: float) -> Counter[str]:
    """How often answers say what is not so."""
    rng = np.random.default_rng((tasks, repeats, judges))
    suite = random_suite(tasks, repeats)
    found: Counter[str] = Counter()
    for _ in range(TIMES):
        pairs = compare_arms(suite, ArmValues(suite, random_cells(rng, suite, judges, alike)))
        assert len(pairs) == 4
        for each in pairs:
            assert each.shown == ("more than chance gives" in answer(each, "task"))
        found["shown"] += any(each.shown for each in pairs)
        found["intervals"] += any(misses(each.difference, 0.0) for each in pairs)
    return found


def test_a_conclusion_counts_answers_that_are_shown() -> None:
    rng = np.random.default_rng(1)
    suite = random_suite(2, 3)
    for _ in range(3):
        story = Story(task=Task(brief="b", work=SuiteWork(suite)))
        for event in random_cells(rng, suite, 3, 0.0):
            story.apply(event)
        report = lab_report(story)
        assert report.conclusion.startswith("no difference is shown") == (
            not any(each.shown for each in report.pairs)
        )


@suites
def test_no_answer_is_a_difference_by_chance(
    tasks: int, repeats: int, judges: int, alike: float
) -> None:
    assert said(tasks, repeats, judges, alike)["shown"] <= most_often(TIMES)


@suites
def test_the_intervals_of_all_comparisons_hold_together(
    tasks: int, repeats: int, judges: int, alike: float
) -> None:
    assert said(tasks, repeats, judges, alike)["intervals"] <= most_often(TIMES)


def test_repeats_that_are_added_by_the_width_of_an_interval_show_nothing_by_chance() -> None:
    rng = np.random.default_rng(9)
    rule = AddRule(width=0.7, repeats=9)
    shown = added = 0
    for _ in range(TIMES):
        suite = random_suite(2, 3)
        first = random_cells(rng, suite, 3, 1.0)
        more = repeats_to_add(rule, compare_arms(suite, ArmValues(suite, first)))
        later = replace(suite, added=more)
        known = {each.cell.part: each for each in first}
        # Cells that are there are not run again.
        cells = [known.get(each.cell.part) or each for each in random_cells(rng, later, 3, 1.0)]
        added += bool(more)
        shown += any(each.shown for each in compare_arms(later, ArmValues(later, cells)))
    assert added > TIMES / 2
    assert shown <= most_often(TIMES)
