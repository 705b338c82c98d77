"""The result of a run that wrote programs."""

from __future__ import annotations

from pathlib import Path

from tests.programs.stage import MadeUpExaminer
from tests.run.runs import start_run
from tests.run.solve_runs import SCRIPT, task, terms

from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.report.numbers import lines
from autoreason.run.products import Solution, solution_of
from autoreason.run.result import Result
from autoreason.settings import Budget


async def solve(
    journal: Journal, problems: int, *strategies: str, budget: Budget | None = None
) -> Solution:
    """A run on so many problems."""
    settings = terms(strategies, {"budget": budget} if budget else {}, width=1)
    model, examiner = ScriptedModel(SCRIPT), MadeUpExaminer()
    result = await start_run(
        journal, model, task=task(problems), settings=settings, examiner=examiner
    )
    return solution_of(result)


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
    assert fields["report"]["problems"] == 1


async def test_the_length_of_a_program_is_counted_in_lines(journal: Journal) -> None:
    found = await solve(journal, 1, "best_of_n")
    result = Result(**{name: vars(found)[name] for name in Result.__dataclass_fields__})
    text = dict(result.sections()[0].sentences)["Text"]
    assert text.endswith(lines(found.program or ""))


async def test_a_set_ends_with_its_tables_and_has_them_on_its_page(journal: Journal) -> None:
    found = await solve(journal, 2, "single", "best_of_n")
    assert not found.one
    assert found.conclusion == found.report.conclusion
    assert "Pass rates" in found.to_text()
    assert found.to_text().index("Pass rates") < found.to_text().index("Took ")
    assert "program" not in found.to_dict()
    page = found.to_html()
    assert "Pass rates" in page
    assert "single, best_of_n" in page


async def test_a_set_that_paused_says_so_beneath_its_tables(journal: Journal) -> None:
    found = await solve(journal, 2, "best_of_n", budget=Budget(calls=5))
    assert (found.status, len(found.solved)) == ("budget", 1)
    assert dict(found.summary())["Status"].startswith("paused at the budget: ")
    assert "autoreason resume" in found.to_text()
    assert not found.unsolved, "it is not finished"


async def test_its_report_is_a_folder_of_files(journal: Journal, tmp_path: Path) -> None:
    found = await solve(journal, 2, "single")
    found.write_report(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        *("report.md", "report.html", "report.json", "units.csv", "rates.svg", "programs")
    }
