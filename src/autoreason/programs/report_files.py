"""A report on programs as files: a page to read, the numbers, a line a part, and what was handed in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from autoreason.characters import in_csv
from autoreason.errors import InvalidInput
from autoreason.plugins import short
from autoreason.programs.assignment import Assignment
from autoreason.programs.events import Solved
from autoreason.programs.plot import draw
from autoreason.programs.solve_report import SolveReport
from autoreason.programs.units import units_of

_FIELDS = (
    *("part", "problem", "difficulty", "strategy", "repeat", "public", "private", "solved"),
    *("first", "recovered", "verdict", "attempts", "status", "reason", "lost", "level"),
)
_SPENT = ("calls", "tokens", "cost")


def files(
    report: SolveReport,
    solved: Sequence[Solved],
    assignments: Sequence[Assignment],
    about: Mapping[str, str],
) -> dict[str, str]:
    """Everything a reader may want, by path; `about` says how the run was held."""
    plot = draw(report)
    return {
        "report.md": report.to_markdown(about, {plot.title: "rates.svg"}),
        "report.html": report.to_html(about),
        "report.json": _json(report, about),
        "units.csv": units_csv(solved, assignments),
        "rates.svg": plot.svg,
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
    found = {"conclusion": report.conclusion, "about": dict(about), "report": report}
    encoded = msgspec.json.Encoder(decimal_format="number").encode(found)
    return msgspec.json.format(encoded, indent=2).decode()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else in_csv(str(value))


def _folder(event: Solved) -> str:
    """A problem by number and name: names that differ may look the same as files."""
    return _name(f"{event.part.partition('/')[0]}_{event.problem}")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).lstrip(".") or "_"
