"""A report on programs as files: a page to read, the numbers, one row per part, and what was handed in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from autoreason.errors import InvalidInput
from autoreason.plugins import short
from autoreason.programs.assignment import Assignment
from autoreason.programs.events import Solved
from autoreason.programs.solve_plot import draw
from autoreason.programs.solve_report import SolveReport
from autoreason.programs.units import units_of
from autoreason.report.table import to_csv

_FIELDS = (
    *("part", "problem", "difficulty", "strategy", "repeat", "public", "private", "solved"),
    *("first_attempt", "recovered", "verdict", "attempts", "status", "reason", "missing", "level"),
)
_SPENT = ("calls", "tokens", "cost")


def files(
    report: SolveReport,
    solved: Sequence[Solved],
    assignments: Sequence[Assignment],
    about: Mapping[str, str],
) -> dict[str, str]:
    """All files of a report, by path; `about` describes the run."""
    plot = draw(report)
    return {
        "report.md": report.to_markdown(about, {plot.title: "rates.svg"}),
        "report.html": report.to_html(about),
        "report.json": _json(report, about),
        "units.csv": units_csv(solved, assignments),
        "rates.svg": plot.svg,
        **programs(solved),
    }


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a folder, which is created where it is missing."""
    try:
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text.endswith("\n") else text + "\n", "utf-8")
    except OSError as error:
        raise InvalidInput(
            f"cannot write {error.filename or folder}: {error.strerror}; name another folder for the report"
        ) from None


def units_csv(solved: Sequence[Solved], assignments: Sequence[Assignment]) -> str:
    """One row per part; what is not known is empty."""
    rows = [
        [getattr(unit, name) for name in _FIELDS] + [getattr(unit.spent, name) for name in _SPENT]
        for unit in units_of(solved, {each.id: each for each in assignments})
    ]
    return to_csv((*_FIELDS, *_SPENT), rows)


def programs(solved: Sequence[Solved]) -> dict[str, str]:
    """The programs handed in, one file per part, by problem."""
    return {
        f"programs/{_folder(each)}/{_name(short(each.strategy))}-{each.repeat}.py": each.program
        for each in solved
        if each.program is not None
    }


def _json(report: SolveReport, about: Mapping[str, str]) -> str:
    content = {"conclusion": report.conclusion, "about": dict(about), "report": report}
    encoded = msgspec.json.Encoder(decimal_format="number").encode(content)
    return msgspec.json.format(encoded, indent=2).decode()


def _folder(event: Solved) -> str:
    """A problem by number and name: names that differ may look the same as files."""
    return _name(f"{event.part.partition('/')[0]}_{event.problem}")


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).lstrip(".") or "_"


def check_folder(folder: Path | None) -> None:
    """Refuse a folder for the report that cannot be used, as far as can be seen without writing."""
    if folder is None:
        return
    with _usable(folder):
        above = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not above.is_dir():
            raise InvalidInput(f"{above} is a file; name a new folder for the report")
        if folder.exists() and any(folder.iterdir()):
            raise InvalidInput(f"{folder} is not empty; name a new folder for the report")


def try_folder(folder: Path | None) -> None:
    """Find out before anything is spent that a report can be written: create the folder, and remove it again."""
    if folder is None:
        return
    import tempfile

    with _usable(folder):
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        created = []
        try:
            for each in reversed(new):
                each.mkdir()
                created.append(each)
            with tempfile.NamedTemporaryFile(dir=folder):
                pass
        finally:
            for each in reversed(created):
                each.rmdir()


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or folder
        raise InvalidInput(
            f"cannot create {place}: {error.strerror}; name another folder for the report"
        ) from None
