"""The result of a run that wrote programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.run.solve_runs import SCRIPT, solve_set

from autoreason.errors import BudgetReached
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.report.numbers import lines
from autoreason.report.report import write_folder
from autoreason.run.products import Solution
from autoreason.run.result import Result
from autoreason.settings import Budget


async def solve(journal: Journal, problems: int, *strategies: str, **options: Any) -> Solution:
    """A run on so many problems."""
    return await solve_set(journal, ScriptedModel(SCRIPT), problems, strategies, width=1, **options)


async def test_one_problem_ends_with_its_tests_and_its_program(journal: Journal) -> None:
    found = await solve(journal, 1, "best_of_n")
    assert found.one
    assert found.conclusion == found.to_text().splitlines()[0].rstrip(".")
    assert found.conclusion.startswith("Solved: ")
    for label in ("Attempts", "Public", "Private", "Sandbox", "Took", "More"):
        assert f"\n{label} " in found.to_text()
    fields = found.to_dict()
    assert fields["program"] == found.program
    assert fields["private"]["verdict"] == "accepted"
    assert "report" not in fields


async def test_the_length_of_a_program_is_counted_in_lines(journal: Journal) -> None:
    found = await solve(journal, 1, "best_of_n")
    result = Result(**{name: vars(found)[name] for name in Result.__dataclass_fields__})
    text = dict(result.sections()[0].sentences)["Text"]
    assert lines(found.program or "") in text


async def test_a_set_ends_with_its_tables_and_has_them_on_its_page(journal: Journal) -> None:
    found = await solve(journal, 2, "single", "best_of_n")
    assert not found.one
    assert found.conclusion == found.report.conclusion
    assert found.to_text().index("Comparisons") < found.to_text().index("Took ")
    assert "program" not in found.to_dict()
    assert "Which passes the tests of more problems?" in found.to_html()


async def test_a_set_that_paused_says_so_and_has_no_report_yet(journal: Journal) -> None:
    found = await solve(journal, 2, "best_of_n", budget=Budget(calls=5))
    assert (found.status, len(found.solved)) == ("budget", 1)
    assert found.conclusion.startswith("paused at the budget: ")
    with pytest.raises(BudgetReached):
        _ = found.report
    assert "autoreason resume" in found.to_text()
    assert not found.unsolved, "it is not finished"


async def test_its_report_is_a_folder_of_files(journal: Journal, tmp_path: Path) -> None:
    found = await solve(journal, 2, "single")
    write_folder(tmp_path / "out", found.to_files())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"report.md", "report.html", "report.json", "report.tex", "cells.csv"}
    assert names >= {"arms.csv", "verdicts.csv", "plot-1.svg", "programs"}
