"""A report on programs as files: a page to read, the numbers, a line a part, and what was handed in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from autoreason.assignment import Assignment
from autoreason.errors import InvalidInput
from autoreason.events import Solved
from autoreason.plugins import short
from autoreason.programs import plot
from autoreason.programs.solve_report import SolveReport
from autoreason.programs.tables import Table, conclusion, stated, tables
from autoreason.programs.units import units_of
from autoreason.task import in_markdown, without_controls

_FIELDS = (
    *("part", "problem", "difficulty", "strategy", "repeat", "public", "private", "solved"),
    *("first", "recovered", "verdict", "attempts", "status", "reason", "lost", "level"),
)
_SPENT = ("calls", "tokens", "cost")
_NOTES = """\
Shares are over problems with a verdict; whatever has none is listed under "Left out" and is in no share.
Intervals are exact (Clopper and Pearson's), on as many trials as repeats of the same problem are worth (Korn and
Graubard). "Public but not private" is of what passes every public test, "recovered" of what failed one at the first
attempt. Differences are in points of a hundred with Bonett and Price's interval, wide enough to hold for all pairs
together in 95 of 100 cases; p is McNemar's exact test, or signs flipped problem by problem where problems were tried
several times, corrected after Holm. "Could show" is the smallest difference seen four times
out of five at the corrected level, for strategies that differ on as many problems as these do.
"""


def files(
    report: SolveReport,
    solved: Sequence[Solved],
    assignments: Sequence[Assignment],
    about: Mapping[str, str],
) -> dict[str, str]:
    """Everything a reader may want, by path; `about` says how the run was held."""
    return {
        "report.md": markdown(report, about),
        "report.json": _json(report, about),
        "units.csv": units_csv(solved, assignments),
        "rates.svg": plot.draw(report),
        **programs(solved),
    }


def write(folder: Path, found: Mapping[str, str]) -> None:
    """Put files into a folder, which is made where it is not there."""
    try:
        for name, text in found.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8")
    except OSError as error:
        raise InvalidInput(
            f"cannot write {error.filename or folder}: {error.strerror}; name another --report folder"
        ) from None


def markdown(report: SolveReport, about: Mapping[str, str]) -> str:
    """The whole report as a page."""
    parts = [
        "# Programs",
        f"**{in_markdown(stated(report))}**",
        "\n".join(f"- {label}: {in_markdown(text)}" for label, text in about.items()),
        "![Share of problems solved](rates.svg)",
    ]
    for table in tables(report):
        parts += [f"## {in_markdown(table.title)}", _markdown(table)]
    parts += [
        "## Left out",
        "\n".join(f"- {in_markdown(str(each))}" for each in report.left_out) or "Nothing.",
    ]
    parts += ["## How to read it", _NOTES.strip()]
    return "\n\n".join(part for part in parts if part) + "\n"


def units_csv(solved: Sequence[Solved], assignments: Sequence[Assignment]) -> str:
    """A line a part; what is not known is empty."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([*_FIELDS, *_SPENT])
    for unit in units_of(solved, {each.id: each for each in assignments}):
        values = [getattr(unit, name) for name in _FIELDS]
        spent = [getattr(unit.spent, name) for name in _SPENT]
        rows.writerow([_cell(value) for value in (*values, *spent)])
    return out.getvalue()


def programs(solved: Sequence[Solved]) -> dict[str, str]:
    """What was handed in, a file a part, by problem."""
    return {
        f"programs/{_folder(each)}/{_name(short(each.strategy))}-{each.repeat}.py": each.program
        for each in solved
        if each.program is not None
    }


def _json(report: SolveReport, about: Mapping[str, str]) -> str:
    found = {"conclusion": conclusion(report), "about": dict(about), "report": report}
    encoded = msgspec.json.Encoder(decimal_format="number").encode(found)
    return msgspec.json.format(encoded, indent=2).decode()


def _markdown(table: Table) -> str:
    lines = [
        table.head,
        tuple("---" if at < table.names else "--:" for at in range(len(table.head))),
    ]
    return "\n".join(f"| {' | '.join(map(_escaped, row))} |" for row in [*lines, *table.rows])


def _escaped(cell: str) -> str:
    return in_markdown(cell).replace("|", "\\|")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # A spreadsheet takes a cell that begins like a formula for one.
    text = "" if value is None else without_controls(str(value))
    return f"'{text}" if text[:1] in ("=", "+", "@") else text


def _folder(event: Solved) -> str:
    """A problem by number and name: names that differ may look the same as files."""
    return _name(f"{event.part.partition('/')[0]}_{event.problem}")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).lstrip(".") or "_"
