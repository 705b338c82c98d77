"""A study fills its table cell by cell, whoever does the work."""

from __future__ import annotations

from tests.studies.simulate.scenes import world

from autoreason.studies.simulate.protocols import named_protocol
from autoreason.studies.simulate.study import CellTask, Plan, fill_cell, run_study


def test_two_processes_fill_the_table_as_one_would() -> None:
    worlds, protocols = (
        [world("help"), world("harm-new")],
        [named_protocol("paper"), named_protocol("robust")],
    )
    plan = Plan(runs=2500, seed=3, fast=True)
    heard: list[tuple[int, int]] = []
    on_progress = lambda done, total: heard.append((done, total))  # noqa: E731
    cells = run_study(worlds, protocols, plan, on_progress).cells
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert cells == [fill_cell(CellTask(each, one, plan)) for each in worlds for one in protocols]
    assert [(cell.world, cell.protocol) for cell in cells] == [
        ("help", "paper"),
        ("help", "robust"),
        ("harm-new", "paper"),
        ("harm-new", "robust"),
    ]


def test_both_paths_fill_a_cell_alike_and_curves_only_where_asked_for() -> None:
    level = world("help", first=0.0)
    slow, fast = (
        fill_cell(CellTask(level, named_protocol("paper"), Plan(runs=5, seed=3, fast=each)))
        for each in (False, True)
    )
    assert slow.summary.calls == fast.summary.calls
    assert slow.curve is None
    drawn = fill_cell(
        CellTask(level, named_protocol("paper"), Plan(runs=5, seed=3, fast=True, curves=True))
    )
    assert drawn.curve is not None
    assert len(drawn.curve) == named_protocol("paper").settings.passes
