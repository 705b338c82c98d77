"""The tables of a set of problems on a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.cli.test_screen import terminal
from tests.programs.solved import assignments, set_of

from autoreason.cli.scores import laid_out, print_tables
from autoreason.programs.solve_report import SolveReport, solve_report
from autoreason.programs.tables import Table, tables

NAMES = ("search", "single", "best_of_n", "critique_revise", "analyse_revise", "tournament")


def report(problems: int = 12) -> SolveReport:
    """All strategies on a few problems."""
    told = set_of({name: [n % 5 < at for n in range(problems)] for at, name in enumerate(NAMES)})
    return solve_report(told, assignments(problems))


def printed(console: Console, found: SolveReport) -> str:
    """What is seen of it."""
    print_tables(found, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("table", tables(report()), ids=lambda table: table.title)
def test_no_line_is_wider_than_the_terminal_and_no_name_is_cut(width: int, table: Table) -> None:
    lines = [str(line) for line in laid_out(table, width)]
    assert all(len(line) <= width for line in lines)
    assert "…" not in "".join(lines)
    for name in {row[0] for row in table.rows}:
        assert any(line.startswith(f"{name} ") for line in lines)


def test_what_does_not_fit_follows_beneath_with_the_names_again() -> None:
    rates = tables(report())[0]
    lines = [str(line) for line in laid_out(rates, 80)]
    assert lines[0].split() == ["strategy", "problems", "public", "private"]
    assert lines[len(NAMES) + 1].endswith("recovered")
    assert [line.split()[0] for line in lines] == ["strategy", *NAMES, "strategy", *NAMES]


def test_of_pairs_a_narrow_terminal_has_a_line_each_and_says_what_it_leaves_out() -> None:
    pairs = next(table for table in tables(report()) if table.title.startswith("Paired"))
    head, *lines, note = [str(line) for line in laid_out(pairs, 80)]
    assert head.split() == ["strategy", "against", "problems", "difference", "corrected"]
    assert len(lines) == len(NAMES) * (len(NAMES) - 1) // 2
    assert note == "on a wider terminal also: more, less, p, h, could show"


def test_a_file_has_every_column() -> None:
    shown = printed(Console(file=StringIO(), width=80), report())
    heads = [line.split() for line in shown.splitlines()]
    assert all(" ".join(table.head).split() in heads for table in tables(report()))


def test_tables_of_a_handful_of_problems_stay_in_the_files() -> None:
    few = printed(terminal(200), report(4))
    assert "The same where" not in few
    assert "The same where" in printed(terminal(200), report())
