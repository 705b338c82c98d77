"""What a benchmark hands back, and how all of it is shown."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

COMMAND = "python -m benchmarks"
BUSY = 1.5
"""Load average above which times are not to be trusted."""

_BY_START = "as a multiple of a bare interpreter's start"
IN_STARTS = f"processor time {_BY_START}"
"""How what has no other yardstick is judged: by something else that the same run measured on the same machine."""


class Measure(Struct, frozen=True, kw_only=True):
    """One line of the table."""

    name: str
    what: str
    target: str = ""
    """Empty where the number is only for information."""
    measured: str
    kept: bool | None = None
    raw: dict[str, float] = {}
    """The numbers behind it."""

    @property
    def verdict(self) -> str:
        """In a word."""
        return "–" if self.kept is None else "pass" if self.kept else "MISS"


def at_most(name: str, what: str, value: float, limit: float, unit: str, **raw: float) -> Measure:
    """A measure that should stay under a limit."""
    return Measure(
        name=name,
        what=what,
        target=f"≤ {limit:g} {unit}",
        measured=f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}",
        kept=value <= limit,
        raw={"value": value, "limit": limit, **raw},
    )


def for_information(name: str, what: str, measured: str, **raw: float) -> Measure:
    """A number without a target."""
    return Measure(name=name, what=what, measured=measured, raw=raw)


class Machine(Struct, frozen=True, kw_only=True):
    """Where it was measured; nothing that names the machine."""

    cores: int
    python: str
    system: str
    load: float
    date: str

    def __str__(self) -> str:
        return (
            f"{self.date} · {self.cores} cores · {self.system} · Python {self.python} ·"
            f" load average {self.load:.1f} at the start"
        )


def this_machine() -> Machine:
    """The one we are on."""
    return Machine(
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        load=os.getloadavg()[0],
        date=datetime.now(UTC).date().isoformat(),
    )


def rows(measures: Sequence[Measure]) -> list[tuple[str, ...]]:
    """The table, its head first."""
    head = ("benchmark", "measure", "target", "measured", "verdict")
    return [head, *((m.name, m.what, m.target or "–", m.measured, m.verdict) for m in measures)]


def as_text(measures: Sequence[Measure]) -> str:
    """The table for a terminal."""
    table = rows(measures)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    table.insert(1, tuple("─" * width for width in widths))
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )


def as_page(measures: Sequence[Measure], machine: Machine) -> str:
    """The page for the documentation."""
    table = ["| benchmark | measure | target | measured |", "|---|---|---|---|"]
    for each in measures:
        measured = f"**{each.measured}, missed**" if each.kept is False else each.measured
        what = each.what.replace(_BY_START, "in starts")
        table.append(f"| {each.name} | {what} | {each.target or '–'} | {measured} |")
    lines = "\n".join(table)
    return (
        "# Benchmarks\n\n"
        "What autoreason adds to the time and memory that models and programs take. Models are a fake provider on the\n"
        "same machine, programs those of real problems; whatever is compared alternates within one run. No target\n"
        "is a time: a slow or busy machine makes the yardstick, a bare interpreter or a bare client in the same run,\n"
        'as slow as what is measured by it; "in starts" means as a multiple of a bare interpreter\'s start.\n\n'
        f"{lines}\n\n"
        f"Measured on {machine}.\n\n"
        f"To repeat it: `make bench`; this page is written by `{COMMAND} --write`.\n"
    )
