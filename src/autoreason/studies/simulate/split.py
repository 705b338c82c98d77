"""How the last calls of a run are best split between the playoff and the confirmation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace

from autoreason.report.numbers import count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.studies.simulate.fast import finish, last_passes, run_courses
from autoreason.studies.simulate.outcomes import summarise
from autoreason.studies.simulate.protocol_search import shortfall
from autoreason.studies.simulate.protocols import named_protocol
from autoreason.studies.simulate.random_draws import RandomDraws
from autoreason.studies.simulate.study import OnProgress, in_processes
from autoreason.studies.simulate.world import World

_MIN_PLAYOFF = 3
"""Fewer judges than that are no playoff."""


class Split(Struct, frozen=True, kw_only=True):
    """Judges of the playoff and of the confirmation, and what they bring."""

    playoff: int
    confirmation: int
    quality: dict[str, float]
    """What is delivered, by world."""
    claimed: dict[str, float]
    """By world, the share of runs with a better text than the first draft that can say so."""
    quality_shortfall: float
    """The most by which it stays behind the best split in any world, as a share of it; of 1 where that is less."""
    claimed_shortfall: float
    """The same for the share that can say so."""

    @property
    def regret(self) -> float:
        """The worse of the two."""
        return max(self.quality_shortfall, self.claimed_shortfall)


class SplitReport(Report, Struct, frozen=True, kw_only=True):
    """Every way to split the last calls of a run between choosing and confirming."""

    heading: ClassVar[str] = "Playoff and confirmation at equal calls"
    splits: list[Split]
    """The one that falls short the least first."""

    @property
    def conclusion(self) -> str:
        """The split that falls short the least."""
        best = self.splits[0]
        return (
            f"{count(best.playoff, 'judge')} for the playoff and {best.confirmation} for the "
            f"confirmation fall short the least, by {best.regret:.2f} at most"
        )

    def sections(self) -> list[Section]:
        """Every split, then the best one by world."""
        heads = ("regret", "quality", "claims")
        rows = [
            (
                f"{one.playoff} + {one.confirmation}",
                *(
                    f"{value:.2f}"
                    for value in (one.regret, one.quality_shortfall, one.claimed_shortfall)
                ),
            )
            for one in self.splits
        ]
        splits = Table([Column("playoff + confirmation", figures=False), *map(Column, heads)], rows)
        regret = (
            "the most by which a split falls short of the best of all splits in any world, in what it "
            "delivers or in the share of better texts that are confirmed"
        )
        best = self.splits[0]
        worlds = Table(
            [Column("world", figures=False), *map(Column, heads[1:])],
            [
                (world, f"{quality:.2f}", percent(best.claimed[world]))
                for world, quality in best.quality.items()
            ],
        )
        return [
            Section(tables=[splits], sentences=[("Regret", regret)]),
            Section(f"By world, {best.playoff} + {best.confirmation}", tables=[worlds]),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Every split with how far it falls short."""
        splits = [{**asdict(split), "regret": split.regret} for split in self.splits]
        return {"conclusion": self.conclusion, "splits": splits}


def splits_of(calls: int) -> list[tuple[int, int]]:
    """Every way to give so many calls to a playoff and a confirmation; one judge alone confirms nothing."""
    playoffs = (0, *range(_MIN_PLAYOFF, calls + 1))
    return [(first, calls - first) for first in playoffs if calls - first != 1]


def compare_splits(
    worlds: Sequence[World], calls: int, runs: int, seed: int, on_progress: OnProgress | None = None
) -> SplitReport:
    """Every split on the same runs, the one that falls short the least first."""
    splits = splits_of(calls)
    jobs = [(world, splits, runs, seed) for world in worlds]
    results = in_processes(_play, jobs, on_progress)
    quality, claimed = (np.array(each).T for each in zip(*results, strict=True))
    quality_short = shortfall(quality, quality.max(axis=0)).max(axis=1)
    claimed_short = (claimed.max(axis=0) - claimed).max(axis=1)
    names = [world.name for world in worlds]
    compared = [
        Split(
            playoff=playoff,
            confirmation=confirmation,
            quality=dict(zip(names, quality[at].tolist(), strict=True)),
            claimed=dict(zip(names, claimed[at].tolist(), strict=True)),
            quality_shortfall=float(quality_short[at]),
            claimed_shortfall=float(claimed_short[at]),
        )
        for at, (playoff, confirmation) in enumerate(splits)
    ]
    return SplitReport(splits=sorted(compared, key=lambda split: split.regret))


def _play(
    world: World, splits: Sequence[tuple[int, int]], runs: int, seed: int
) -> tuple[list[float], list[float]]:
    """Mean quality and share of claims, split by split."""
    settings, luck = named_protocol("robust").settings, RandomDraws(seed, runs).cached()
    courses = run_courses(world, settings, luck)
    last = last_passes(courses, settings)
    summaries = []
    for playoff, confirmation in splits:
        changed = replace(settings, playoff=playoff, confirmation=confirmation)
        summaries.append(summarise(finish(world, changed, luck, courses, last)))
    return (
        [each.quality.value for each in summaries],
        [each.claimed.value if each.claimed else 0.0 for each in summaries],
    )
