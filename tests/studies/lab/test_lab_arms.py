"""The paper's modes of failure are diagnosed from the record, where it can show them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.programs.solved import WRONG, solved
from tests.studies.lab.cells import a_cell, a_panel, a_suite

from autoreason.studies.lab_arms import MODES, diagnose
from autoreason.studies.lab_comparisons import ArmValues
from autoreason.studies.lab_suite import CellFinished, Suite, SuiteTask
from autoreason.task import Task

SELF, DRIFT, OVERFITTING, CONVERGENCE, WEAK = (mode.name for mode in MODES)


def found(
    arm: str, *cells: CellFinished, suite: Suite | None = None
) -> dict[str, tuple[int, int, int | None]]:
    """Cells with the sign, of how many, and how many under the paper's condition."""
    suite = suite or a_suite()
    failures = diagnose(suite, arm, ArmValues(suite, cells))
    return {each.mode: (each.cells, each.of, each.under_condition) for each in failures}


def test_there_is_no_diagnosis_of_an_arm_that_only_drafts() -> None:
    single = a_cell("single", "", words_by_pass=())
    assert set(found("single", single).values()) == {(0, 0, None)}


def test_a_panel_that_prefers_the_draft_is_a_sign_with_and_without_judges_in_the_loop() -> None:
    cells = [a_cell("single", ""), a_cell("revised", "B", cast=0), a_cell("contest", "A A")]
    worse = a_panel("single contest revised", "single revised contest", "contest single revised")
    assert found("revised", *cells, worse)[SELF] == (1, 1, 1)
    assert found("contest", *cells, worse)[SELF] == (1, 1, 0)
    better = a_panel("revised contest single", "contest revised single")
    assert found("revised", *cells, better)[SELF] == (0, 1, 0)
    assert found("revised", *cells)[SELF] == (0, 0, None)


def test_a_panel_says_nothing_of_a_draft_that_it_did_not_see() -> None:
    suite = a_suite()
    own = replace(suite.arms["contest"], shared_draft=False)
    given = SuiteTask(task=Task(brief="Explain.", draft="The tide comes."))
    suite = replace(
        suite, arms={**suite.arms, "contest": own}, tasks={**suite.tasks, "short": given}
    )
    cells = [
        each
        for task in ("free", "short")
        for each in (
            *(a_cell(arm, "B", task=task) for arm in suite.arms),
            a_panel("single contest revised", task=task),
        )
    ]
    assert found("revised", *cells, suite=suite)[SELF][:2] == (2, 2)
    assert found("contest", *cells, suite=suite)[SELF][:2] == (1, 1)
    assert found("contest", *cells[:4], suite=suite)[SELF] == (0, 0, None)


@pytest.mark.parametrize(("prefer", "signs"), [(1, 1), (2, 0)])
def test_a_cell_with_fresh_judges_of_its_own_needs_no_other_panel(prefer: int, signs: int) -> None:
    cell = a_cell("contest", "B A A", confirmed=(prefer, 3))
    assert found("contest", cell)[SELF][:2] == (signs, 1)


DRIFTS: dict[str, tuple[dict[str, Any], int]] = {
    "steady": ({}, 0),
    "grown": ({"words_by_pass": (100, 130, 151)}, 1),
    "shrunk": ({"words_by_pass": (100, 60, 49)}, 1),
    "rewritten": ({"kept_wording": 0.05}, 1),
}


@pytest.mark.parametrize("case", DRIFTS)
def test_drift_is_diagnosed_by_length_and_wording_as_an_audit_does(case: str) -> None:
    known, signs = DRIFTS[case]
    cells = [a_cell("contest", "B A", task=task, **known) for task in ("free", "short")]
    assert found("contest", *cells)[DRIFT] == (2 * signs, 2, signs)


def test_syntheses_that_win_nearly_all_passes_are_drift_if_judges_chose_them() -> None:
    assert found("contest", a_cell("contest", "AB AB B AB AB AB"))[DRIFT][0] == 1
    assert found("contest", a_cell("contest", "AB A AB B"))[DRIFT][0] == 0
    assert found("contest", a_cell("contest", "AB AB", judged=((), ())))[DRIFT][0] == 0


def test_a_capped_tournament_did_not_converge_and_its_judges_may_be_why() -> None:
    capped = a_cell("contest", "A B B", status="capped")
    broken = a_cell("contest", "A B B", 2, status="capped", invalid=6)
    failed = a_cell("contest", "", 3, status="panel_failed", finished=False)
    assert found("contest", capped, broken, failed)[CONVERGENCE] == (3, 3, 2)
    assert found("contest", a_cell("contest", "A A"))[CONVERGENCE] == (0, 1, 0)
    assert found("revised", a_cell("revised", "B", status="capped"))[CONVERGENCE] == (0, 0, None)


def test_a_weak_model_repeats_texts_and_overfitted_programs_fail_private_tests_only() -> None:
    weak, strong = a_cell("contest", "A A", clones=2), a_cell("contest", "A A", 2, clones=1)
    assert found("contest", weak, strong)[WEAK] == (1, 2, 1)
    events = (
        *(solved("p1", private=WRONG), solved("p1", public=WRONG, private=WRONG)),
        solved("p1", private=None),
    )
    cells = [a_cell("revised", "", n, solved=each) for n, each in enumerate(events, 1)]
    assert found("revised", *cells)[OVERFITTING] == (1, 2, None)
