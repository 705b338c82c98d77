"""A study fills its table cell by cell, whichever process does the work, and simulations are reports."""

from __future__ import annotations

import pytest
from tests.studies.simulate.scenes import world
from tests.studies.simulate.test_fit import recorded_panels

from autoreason.report.report import Report
from autoreason.settings import Protocol
from autoreason.studies.simulate.fit import fit_report
from autoreason.studies.simulate.protocols import named_protocol
from autoreason.studies.simulate.split import compare_splits
from autoreason.studies.simulate.study import Plan, SimulationReport, fill_cell, run_study


def test_two_processes_fill_the_table_as_one_would() -> None:
    worlds, protocols = (
        [world("help"), world("harm-new")],
        [named_protocol("paper"), named_protocol("robust")],
    )
    plan = Plan(runs=2500, seed=3, fast=True)
    heard: list[tuple[int, int]] = []
    on_progress = lambda done, total: heard.append((done, total))  # noqa: E731
    cells = run_study(worlds, protocols, plan, on_progress).cells
    assert heard == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert cells == [fill_cell(each, one, plan) for each in worlds for one in protocols]
    assert [(cell.world, cell.protocol) for cell in cells] == [
        ("help", "paper"),
        ("help", "robust"),
        ("harm-new", "paper"),
        ("harm-new", "robust"),
    ]


def test_both_paths_fill_a_cell_alike_and_curves_only_where_asked_for() -> None:
    level = world("help", first=0.0)
    slow, fast = (
        fill_cell(level, named_protocol("paper"), Plan(runs=5, seed=3, fast=each))
        for each in (False, True)
    )
    assert slow.summary.calls == fast.summary.calls
    assert slow.curve is None
    drawn = fill_cell(level, named_protocol("paper"), Plan(runs=5, seed=3, fast=True, curves=True))
    assert drawn.curve is not None
    assert len(drawn.curve) == named_protocol("paper").settings.passes


def study(*protocols: Protocol, runs: int = 20, curves: bool = False) -> SimulationReport:
    worlds = [world("help"), world("harm-new")]
    plan = Plan(runs, 1, fast=True, curves=curves)
    return run_study(worlds, [named_protocol(name) for name in protocols], plan)


def test_a_study_concludes_which_protocol_delivers_the_best_text() -> None:
    report = study("paper", "robust", runs=2000)
    assert "of 2 worlds, beyond chance; calls on average: paper " in report.conclusion
    assert "robust delivers the best text in" in report.conclusion
    few = study("paper", "robust", runs=2)
    assert few.conclusion.startswith("no protocol delivers a better text")


def test_a_single_protocol_is_described_without_a_winner() -> None:
    assert study("paper").conclusion.startswith("paper delivers quality ")


def test_a_page_has_the_curves_where_they_were_asked_for() -> None:
    drawn = study("paper", curves=True)
    assert "<svg" in drawn.to_html()
    calls, quality = (drawn.cells[0].curve or [])[-1]
    assert f"{quality:.2f} for {calls:.0f}" in drawn.to_markdown(), "the numbers behind the plot"
    assert "<svg" not in study("paper").to_html()


def test_programs_get_plan_worlds_and_cells() -> None:
    fields = study("paper").to_dict()
    assert list(fields) == ["conclusion", "plan", "worlds", "cells", "alike"]
    assert fields["plan"]["runs"] == 20


def reports() -> list[Report]:
    splits = compare_splits([world("help")], 6, 20, seed=1)
    return [study("paper", "robust"), splits, fit_report(list(recorded_panels(30)), "Judges.")]


@pytest.mark.parametrize("width", [60, 80])
def test_reports_fit_a_terminal_with_whole_words(width: int) -> None:
    for report in reports():
        lines = report.to_text(width).splitlines()
        assert max(map(len, lines)) <= width
        assert set(" ".join(lines).split()) == set(report.to_text(10_000).split())
