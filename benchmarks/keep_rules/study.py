"""Keep rules against each other in worlds whose truth is known, at equal budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby, product
from math import inf, sqrt
from typing import ClassVar

import numpy as np
from msgspec import Struct

from autoreason.artifacts.acceptance import KeepRule, plan_budget
from autoreason.report.numbers import UNKNOWN, count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.studies.simulation import (
    Interval,
    OnSimulated,
    best_by_world,
    in_processes,
    mean,
    name_winners,
    ratio,
)
from benchmarks.keep_rules.simulation import ResearchWorld, Way, simulate, simulate_fixed_set

_MIN_RUNS = 400
"""With fewer runs in all, one process is enough."""
DEFAULT = "race"
NEVER = 1_000_000
WORLDS = (
    ResearchWorld(name="tiny gains", about="one in five helps, by 0.1 on average", gain=0.1),
    ResearchWorld(name="small gains", about="one in five helps, by 0.25", gain=0.25),
    ResearchWorld(name="gains", about="one in five helps, by 0.5", gain=0.5),
    ResearchWorld(name="large gains", about="one in five helps, by 1", gain=1.0),
    ResearchWorld(
        name="drying up",
        about="as large gains, each proposal by 1.5 % weaker; three in five harm, by 1.5",
        gain=1.0,
        fading=0.015,
        idle=0.2,
        harm=1.5,
    ),
    ResearchWorld(name="none helps", about="half do nothing, half harm", helping=0.0, idle=0.5),
)
"""Of the published table. Where nothing else is stated two in five do nothing and two in five harm, by 0.5."""


def repeats_rule(evaluations: int, threshold: float) -> KeepRule:
    """Every candidate is evaluated so often, and kept above a threshold."""
    return KeepRule(
        evaluations=evaluations,
        drop=-inf,
        keep_first=inf,
        keep_later=inf,
        keep_last=threshold,
        incumbent_least=evaluations,
        incumbent_most=evaluations,
    )


SINGLE = repeats_rule(1, 0.0)
"""One evaluation against the number on record."""
_STRICT = KeepRule(
    evaluations=12,
    drop=0.0,
    keep_first=inf,
    keep_later=2.3,
    keep_last=1.64,
    incumbent_least=2,
    incumbent_every=NEVER,
    incumbent_most=12,
)
_PUBLISHED = KeepRule(evaluations=4, incumbent_least=2, incumbent_every=NEVER, incumbent_most=8)
WAYS = (
    Way(name="greedy", rule=SINGLE, floor_looks=1, end_test=False),
    Way(
        name="floor of two runs",
        rule=SINGLE,
        floor_looks=2,
        # Twice how far two runs of the start lie apart.
        margin=2 * sqrt(2),
        pooled=False,
        end_test=False,
    ),
    Way(name="Ladder", rule=SINGLE, margin=1.4, pooled=False),
    Way(name="3 repeats", rule=repeats_rule(3, 1.28)),
    Way(name="5 repeats", rule=repeats_rule(5, 1.645)),
    Way(
        name="e-value",
        rule=KeepRule(
            evaluations=16, drop=0.0, incumbent_least=2, incumbent_every=NEVER, incumbent_most=16
        ),
        e_value=0.1,
    ),
    Way(name="strict race", rule=_STRICT),
    Way(name="race to 4", rule=_PUBLISHED, playoff=True),
    Way(name="independent", stacked=False, playoff=True),
    Way(name="race, no playoff"),
    Way(name=DEFAULT, playoff=True),
)
_STEPS = (0.0, 0.5, 1.0, 1.64, 2.3)


class StudyCell(Struct, frozen=True, kw_only=True):
    """One rule in one world."""

    world: str
    rule: str
    runs: int
    quality: Interval
    """True quality of the result, in standard deviations of one evaluation; the start has 0."""
    gap: Interval
    """By how much the claim exceeds it."""
    false_keeps: Interval | None
    """Share of keeps that do nothing or harm; None where nothing was kept."""
    below: Interval | None
    """Share of runs whose result is worse than the start."""
    shown: Interval | None
    """Share of runs whose end test shows a gain; None without one."""


class FixedSetCell(Struct, frozen=True, kw_only=True):
    """A step on one set of items that every proposal is measured on; the unit is the standard error over it."""

    world: str
    step: float
    quality: float
    claimed: float


class RuleReport(Report, Struct, frozen=True, kw_only=True):
    """Keep rules in worlds whose truth is known."""

    heading: ClassVar[str] = "Keep rules in simulated worlds"
    evaluations: int
    runs: int
    seed: int
    cells: list[StudyCell]
    """World by world, every rule in each."""
    fixed_set: list[FixedSetCell] = []

    @property
    def conclusion(self) -> str:
        """Which rules deliver the best result beyond chance, and in how many worlds."""
        worlds = count(len({cell.world for cell in self.cells}), "world")
        won = Counter(self.best_rules())
        if not won:
            return (
                f"no rule delivers a better result than the others beyond chance in any of {worlds}"
            )
        best = name_winners(won, "result")
        return f"{best} of {worlds}, beyond chance, for {self.evaluations:,} evaluations each"

    def names(self) -> list[str]:
        """Names of rules."""
        return [cell.rule for cell in self.cells]

    def best_rules(self) -> list[str]:
        """The rules that lead by more than chance, world by world, corrected for every pair in every world."""
        cells = [(cell.world, cell.rule, cell.quality) for cell in self.cells]
        return best_by_world(cells, self.runs)

    def sections(self) -> list[Section]:
        """One table per world, one for the fixed set, and what the columns mean."""
        about = {world.name: world.about for world in WORLDS}
        sections = [
            Section(f"{world}: {about.get(world, '')}", tables=[_table(list(cells))])
            for world, cells in groupby(self.cells, key=lambda cell: cell.world)
        ]
        if self.fixed_set:
            title = "one set of items for all proposals, in standard errors over its items"
            sections.append(Section(title, tables=[_fixed_table(self.fixed_set)]))
        notes = [
            (
                "Quality",
                f"true gain over the start, in standard deviations of one evaluation; {self.runs:,} runs each",
            ),
            ("Gap", "by how much the claim exceeds it on average"),
            ("False keeps", "keeps that do nothing or harm, of all keeps"),
            ("Below", "runs that end with less than they started with"),
            ("Shown", "runs whose end test shows a gain, 95 % two-sided"),
        ]
        return [*sections, Section(sentences=notes)]


def _table(cells: Sequence[StudyCell]) -> Table:
    heads = ("quality (95 %)", "gap", "false keeps", "below", "shown")
    rows = [
        (
            cell.rule,
            str(cell.quality),
            f"{cell.gap.value:+z.2f}",
            *(
                percent(share.value) if share else UNKNOWN
                for share in (cell.false_keeps, cell.below, cell.shown)
            ),
        )
        for cell in cells
    ]
    return Table([*words("rule"), *figures(*heads)], rows)


def _fixed_table(cells: Sequence[FixedSetCell]) -> Table:
    worlds = list(dict.fromkeys(cell.world for cell in cells))
    by = {(cell.step, cell.world): f"{cell.quality:.1f} / {cell.claimed:.0f}" for cell in cells}
    steps = dict.fromkeys(cell.step for cell in cells)
    rows = [(f"step {step:g}", *(by[step, world] for world in worlds)) for step in steps]
    heads = [f"{world}: true / claimed" for world in worlds]
    return Table([*words("rule"), *figures(*heads)], rows)


def study_rules(
    evaluations: int,
    runs: int,
    seed: int,
    on_progress: OnSimulated | None = None,
    worlds: Sequence[ResearchWorld] = WORLDS,
    ways: Sequence[Way] = WAYS,
) -> RuleReport:
    """Every rule in every world."""
    plan_budget(evaluations)
    jobs = [(world, way, evaluations, runs, seed) for world, way in product(worlds, ways)]
    processes = 1 if runs * len(jobs) < _MIN_RUNS else 2
    return RuleReport(
        evaluations=evaluations,
        runs=runs,
        seed=seed,
        cells=in_processes(fill_cell, jobs, on_progress, processes=processes),
        fixed_set=[
            _fill_fixed(world, step, evaluations, runs, seed)
            for step in _STEPS
            for world in worlds
            if world in WORLDS and world.name in ("small gains", "gains", "none helps")
        ],
    )


def fill_cell(world: ResearchWorld, way: Way, evaluations: int, runs: int, seed: int) -> StudyCell:
    """Play the runs of one rule in one world."""
    results = simulate(world, way, evaluations, runs, seed)
    every = np.ones(runs, bool)
    return StudyCell(
        world=world.name,
        rule=way.name,
        runs=runs,
        quality=mean(results.quality),
        gap=mean(results.claim - results.quality),
        false_keeps=ratio(results.false_keeps.astype(int), results.keeps.astype(int)),
        # Rounding is not worse.
        below=ratio(results.quality < -1e-9, every),
        shown=ratio(results.low > 0, every) if way.end_test else None,
    )


def _fill_fixed(
    world: ResearchWorld, step: float, proposals: int, runs: int, seed: int
) -> FixedSetCell:
    quality, claimed = simulate_fixed_set(world, KeepRule(step=step), proposals, runs, seed)
    return FixedSetCell(
        world=world.name, step=step, quality=float(quality.mean()), claimed=float(claimed.mean())
    )
