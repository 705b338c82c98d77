"""The tables of a set of problems on a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.cli.views.test_screen import terminal
from tests.programs.solved import assignments, set_of

from autoreason.programs.solve_report import SolveReport, solve_report
from autoreason.report.table import Table

NAMES = ("search", "single", "best_of_n", "critique_revise", "analyse_revise", "tournament")


def report(problems: int = 12) -> SolveReport:
    """All strategies on a few problems."""
    told = set_of({name: [n % 5 < at for n in range(problems)] for at, name in enumerate(NAMES)})
    return solve_report(told, assignments(problems))


def tables(found: SolveReport) -> list[Table]:
    """All of its tables."""
    return [table for section in found.sections() for table in section.tables]


def printed(console: Console, found: SolveReport) -> str:
    """What is seen of it."""
    console.print(found, soft_wrap=True)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("table", tables(report()))
def test_no_line_is_wider_than_the_terminal_and_no_name_is_cut(width: int, table: Table) -> None:
    lines = table.to_text(width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    for name in {row[0] for row in table.rows}:
        assert any(line.startswith(f"{name} ") for line in lines)


def test_of_pairs_a_narrow_terminal_has_a_line_each_and_says_what_it_leaves_out() -> None:
    titled = {section.title: section.tables for section in report().sections()}
    (pairs,) = titled["Paired tests on the problems both were scored on"]
    head, *lines, note = pairs.to_text(80).splitlines()
    assert head.split() == ["strategy", "against", "problems", "difference", "corrected"]
    assert len(lines) == len(NAMES) * (len(NAMES) - 1) // 2
    assert note == "on a wider terminal also: more, less, p, h, could show"


def test_a_file_that_is_wide_enough_has_every_column() -> None:
    wide = Console(file=StringIO(), width=200)
    heads = [line.split() for line in printed(wide, report()).splitlines()]
    for table in tables(report()):
        assert " ".join(column.title for column in table.columns).split() in heads


def test_tables_of_a_handful_of_problems_stay_in_the_files() -> None:
    few = printed(terminal(200), report(4))
    assert "The same where" not in few
    assert "The same where" in printed(terminal(200), report())
