"""A study fills its table cell by cell, whichever process does the work, and is a report."""

from __future__ import annotations

import pytest
from paper.fast import play_fast
from tests.studies.simulate.scenes import world

from autoreason.settings import Protocol
from autoreason.studies.simulate.study import Plan, SimulationReport, named_protocol, run_study


def test_two_processes_fill_the_table_as_one_would() -> None:
    worlds = [world("help"), world("harm-new")]
    protocols = [named_protocol("paper"), named_protocol("robust")]
    heard: list[tuple[int, int]] = []
    on_progress = lambda done, total: heard.append((done, total))  # noqa: E731
    plan = Plan(runs=100, seed=3)
    cells = run_study(worlds, protocols, plan, on_progress, play=play_fast).cells
    assert heard == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(cell.world, cell.protocol) for cell in cells] == [
        ("help", "paper"),
        ("help", "robust"),
        ("harm-new", "paper"),
        ("harm-new", "robust"),
    ]
    assert cells[-1:] == run_study(worlds[1:], protocols[1:], plan, play=play_fast).cells


def study(*protocols: Protocol, runs: int = 20) -> SimulationReport:
    named = [named_protocol(name) for name in protocols]
    return run_study([world("help"), world("harm-new")], named, Plan(runs, 1), play=play_fast)


def test_a_study_concludes_which_protocol_delivers_the_best_text() -> None:
    report = study("paper", "robust", runs=2000)
    assert "of 2 worlds, beyond chance; calls on average: paper " in report.conclusion
    assert "robust delivers the best text in" in report.conclusion
    few = study("paper", "robust", runs=2)
    assert few.conclusion.startswith("no protocol delivers a better text")
    assert study("paper").conclusion.startswith("paper delivers quality ")


def test_programs_get_plan_worlds_and_cells() -> None:
    fields = study("paper").to_dict()
    assert list(fields) == ["conclusion", "plan", "worlds", "cells", "alike"]
    assert fields["plan"]["runs"] == 20


@pytest.mark.parametrize("width", [60, 80])
def test_the_report_fits_a_terminal_with_whole_words(width: int) -> None:
    report = study("paper", "robust")
    lines = report.to_text(width).splitlines()
    assert max(map(len, lines)) <= width
    assert set(" ".join(lines).split()) == set(report.to_text(10_000).split())
