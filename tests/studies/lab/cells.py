"""Finished cells of a small suite, made by hand."""

from __future__ import annotations

from typing import Any

from autoreason.contract import Contract
from autoreason.settings import Models, make_settings
from autoreason.studies.lab_suite import (
    Ballot,
    Cell,
    CellFinished,
    CellResult,
    Suite,
    SuiteArm,
    SuiteComparison,
    SuiteTask,
)
from autoreason.task import Task

BALLOT = ("A", "AB", "B")


def a_suite() -> Suite:
    """A task without limits and one with some, for a draft, its revision and a tournament."""
    models = Models.everywhere("echo/echo")
    arms = {"single": "single", "revised": "critique_revise", "contest": "autoreason"}
    return Suite(
        name="small",
        tasks={
            "free": SuiteTask(task=Task(brief="Explain tides.")),
            "short": SuiteTask(task=Task(brief="Explain.", contract=Contract(max_words=90))),
        },
        arms={
            name: SuiteArm(settings=make_settings(models, 1, strategy=strategy))
            for name, strategy in arms.items()
        },
        repeats=3,
        comparisons=(
            SuiteComparison(name="a", question="Which?", arms=("revised", "single", "contest")),
        ),
    )


def a_cell(arm: str, way: str, repeat: int = 1, task: str = "free", **known: Any) -> CellFinished:
    """A cell of an arm with these winners; every pass had a panel of all three."""
    winners = tuple(way.split())
    known = {
        "status": "converged",
        "words_by_pass": (100,) * (len(winners) + 1),
        "judged": (BALLOT,) * len(winners),
        "challengers": 2 * len(winners),
        "cast": 3 * len(winners),
        **known,
    }
    result = CellResult(run="r", reason="", trajectory=winners, **known)
    return _finished("arm", task, repeat, (arm,), result)


def a_panel(*rankings: str, repeat: int = 1, task: str = "free") -> CellFinished:
    ballots = tuple(
        Ballot(order=("single", "revised", "contest"), ranking=tuple(each.split()))
        for each in rankings
    )
    result = CellResult(run="p", reason="", status="done", ballots=ballots)
    arms = ("revised", "single", "contest")
    panel = _finished("panel", task, repeat, arms, result)
    return CellFinished(cell=panel.cell, result=result, judged_as={arm: arm for arm in arms})


def _finished(
    kind: Any, task: str, repeat: int, arms: tuple[str, ...], result: CellResult
) -> CellFinished:
    cell = Cell(number=1, kind=kind, task=task, repeat=repeat, arms=arms, part=f"1/{kind}/{repeat}")
    return CellFinished(cell=cell, result=result)
