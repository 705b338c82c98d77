"""The tables of a set of problems on a terminal: names whole and rows straight, however narrow it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.programs.solve_report import SolveReport
    from autoreason.programs.tables import Table

_GAP = 2
_ROOMY = 1000
"""Columns where nobody looks at a screen: whoever reads a pipe or a file gets every column whole."""
_TELLING = 5
"""Problems that a table within a table must have somewhere, to be worth a screen's room."""


def print_tables(report: SolveReport, console: Console) -> None:
    """What tells most about a set; everything there is stands in the report's files."""
    width = console.width if console.is_terminal else _ROOMY
    for table in _worth_showing(report):
        console.print(Text(table.title, style="bold"), soft_wrap=True)
        for line in laid_out(table, width):
            console.print(line, soft_wrap=True)
        console.print()


def _worth_showing(report: SolveReport) -> list[Table]:
    from autoreason.programs.tables import paired, rates, recovered, tiers, took, verdicts

    found = [rates(report)]
    if any(each.problems >= _TELLING for each in report.tiers):
        found.append(tiers(report))
    if report.duels:
        found.append(paired(report))
    if any(each.problems >= _TELLING for each in report.recoveries):
        found.append(recovered(report))
    return [*found, took(report), verdicts(report)]


def laid_out(table: Table, width: int) -> Iterator[Text]:
    """The lines of a table; columns that do not fit are left to the report, or follow beneath."""
    widths = [max(map(cell_len, column)) for column in zip(table.head, *table.rows, strict=True)]
    names = list(range(table.names))
    figures = _kept(table, widths, width)
    for block in _blocks(names, figures, widths, width):
        yield _line(table.head, block, widths, table.names, style="dim")
        for row in table.rows:
            yield _line(row, block, widths, table.names)
    gone = [head for at, head in enumerate(table.head) if at not in (*names, *figures)]
    if gone:
        yield Text(f"on a wider terminal also: {', '.join(gone)}", style="dim")


def _kept(table: Table, widths: Sequence[int], room: int) -> list[int]:
    """The figures that are shown, without what a narrow screen can do without."""
    kept = list(range(table.names, len(table.head)))
    for head in table.spare:
        if _taken([*range(table.names), *kept], widths) <= room:
            break
        kept.remove(table.head.index(head))
    return kept


def _blocks(
    names: list[int], figures: list[int], widths: Sequence[int], room: int
) -> Iterator[list[int]]:
    """As many figures at a time as fit beside the names, and at least one."""
    block: list[int] = []
    for figure in figures:
        if block and _taken([*names, *block, figure], widths) > room:
            yield [*names, *block]
            block = []
        block.append(figure)
    yield [*names, *block]


def _taken(columns: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[each] + _GAP for each in columns) - _GAP


def _line(
    cells: Sequence[str], block: Sequence[int], widths: Sequence[int], names: int, style: str = ""
) -> Text:
    shown = []
    for column in block:
        cell, blank = cells[column], " " * (widths[column] - cell_len(cells[column]))
        shown.append(cell + blank if column < names else blank + cell)
    return Text((" " * _GAP).join(shown).rstrip(), style=style)
