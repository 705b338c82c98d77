"""What a run of the plan shows, read from its records."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from msgspec import Struct
from paper.figures import paired_gain

from autoreason.journal import Journal
from autoreason.journal.run_names import is_cell
from autoreason.stats import Estimate
from autoreason.stats.resampling import permutation_test
from autoreason.stats.shares import clustered_share
from autoreason.story import Story
from benchmarks.real.plan import Job

POOLED = "all sets"
TOURNAMENT = "autoreason"


class Arm(Struct, frozen=True, kw_only=True):
    """What one strategy did on one set, or the briefs of all."""

    group: str
    strategy: str
    kept: Estimate
    """Share of problems solved, or of texts that keep their contract."""
    calls: float
    """On average."""


class Gain(Struct, frozen=True, kw_only=True):
    """One strategy less another on the same problems or briefs."""

    group: str
    one: str
    other: str
    difference: Estimate
    p: float | None


class Certificate(Struct, frozen=True, kw_only=True):
    """What a judge is worth, asked in one style."""

    style: str
    conclusion: str
    findings: dict[str, str]
    """What was found, by the name of the question."""


class Results(Struct, frozen=True, kw_only=True):
    """The whole of a run."""

    model: str
    version: str
    programs: tuple[Arm, ...] = ()
    program_gains: tuple[Gain, ...] = ()
    texts: tuple[Arm, ...] = ()
    text_gains: tuple[Gain, ...] = ()
    passes: int = 0
    """Passes of tournaments over texts."""
    judged: int = 0
    """Passes that judges decided."""
    certificates: tuple[Certificate, ...] = ()


class Unit(Struct, frozen=True):
    """One try of one strategy."""

    group: str
    item: str
    strategy: str
    good: bool
    calls: int


def read_programs(planned: Sequence[Job], out: Path) -> list[Unit]:
    """Every problem, strategy and repeat with a verdict."""
    units = []
    for job in planned:
        table = out / job.name / "cells.csv"
        if job.kind == "solve" and table.exists():
            for row in csv.DictReader(table.open(newline="", encoding="utf-8")):
                if row["passed"]:
                    good, calls = row["passed"] == "yes", int(row["calls"] or 0)
                    units.append(Unit(job.name, row["task"], row["arms"], good, calls))
    return units


def pooled(units: Sequence[Unit]) -> Iterator[Unit]:
    """The same units once more, over all sets with the same calls."""
    for unit in units:
        name, _, calls = unit.group.rpartition("-")
        yield Unit(f"{POOLED}-{calls}", f"{name}/{unit.item}", unit.strategy, unit.good, unit.calls)


def read_texts(planned: Sequence[Job], out: Path) -> tuple[list[Unit], int, int]:
    """Every brief, strategy and repeat that came to a text; passes of tournaments, and those that judges decided."""
    units: list[Unit] = []
    passes = judged = 0
    for job in planned:
        if job.kind != "compare" or not job.journal(out).exists():
            continue
        with Journal.open(str(job.journal(out)), create=False) as journal:
            for row in journal.runs(cells=True):
                if not is_cell(row.id):
                    continue
                story = journal.story(row.id)
                units += _delivered(job.name, story, row.spent.calls)
                if story.job and story.job.is_tournament:
                    decided = [each.decided for each in story.passes if each.decided]
                    passes += len(decided)
                    judged += sum(each.verdict is not None for each in decided)
    return units, passes, judged


def _delivered(name: str, story: Story, calls: int) -> Iterator[Unit]:
    task = story.task
    if task is None or task.entries or not story.delivered:
        return
    # Who writes the draft that all share is the arm `single`, too.
    strategy = "draft" if task.draft is None or story.job is None else story.job.name
    good = not task.violations(story.delivered.text)
    yield Unit("briefs", name, strategy, good, calls)


def arms(units: Sequence[Unit]) -> tuple[Arm, ...]:
    """Each strategy in each group."""
    names = dict.fromkeys((unit.group, unit.strategy) for unit in units)
    return tuple(_arm(units, group, strategy) for group, strategy in names)


def _arm(units: Sequence[Unit], group: str, strategy: str) -> Arm:
    of_strategy = [unit for unit in units if (unit.group, unit.strategy) == (group, strategy)]
    return Arm(
        group=group,
        strategy=strategy,
        kept=clustered_share(_by_item(of_strategy).values()),
        calls=fmean(unit.calls for unit in of_strategy),
    )


def gains(units: Sequence[Unit], strategies: Sequence[str]) -> tuple[Gain, ...]:
    """The first strategy against each other one, group by group."""
    first, *others = strategies
    return tuple(
        _gain(units, group, first, other)
        for group in dict.fromkeys(unit.group for unit in units)
        for other in others
    )


def _gain(units: Sequence[Unit], group: str, one: str, other: str) -> Gain:
    tried = [
        _by_item([unit for unit in units if (unit.group, unit.strategy) == (group, name)])
        for name in (one, other)
    ]
    both = [item for item in tried[0] if item in tried[1]]
    by = [fmean(tried[0][item]) - fmean(tried[1][item]) for item in both]
    p = permutation_test(by).p_value
    return Gain(group=group, one=one, other=other, difference=paired_gain(by), p=p)


def _by_item(units: Sequence[Unit]) -> dict[str, list[bool]]:
    by_item: dict[str, list[bool]] = {}
    for unit in units:
        by_item.setdefault(unit.item, []).append(unit.good)
    return by_item


def read_certificates(planned: Sequence[Job], out: Path) -> tuple[Certificate, ...]:
    """What the judge's certificates say, as far as there are any."""
    outputs = [
        json.loads(job.output(out).read_bytes())
        for job in planned
        if job.kind == "certify" and job.output(out).exists()
    ]
    return tuple(
        Certificate(
            style=each["certificate"]["style"],
            conclusion=each["conclusion"],
            findings={f["name"]: f["statement"] for f in each["certificate"]["findings"]},
        )
        for each in outputs
    )
