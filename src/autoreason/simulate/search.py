"""The search for the protocol that does best where it does worst, at equal calls.

Panels decide how a run goes; k, the cap and the playoff only decide where it ends and what it delivers.
So the runs of each panel are played once in each world, and every ending is tried on the same runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autoreason.settings import Settings
from autoreason.simulate.fast import Courses, last_passes, run_courses
from autoreason.simulate.finals import Playoffs
from autoreason.simulate.luck import Luck, Numbers
from autoreason.simulate.protocols import entrant
from autoreason.simulate.study import in_processes
from autoreason.simulate.world import World


class Bench(NamedTuple):
    """How the panel of a pass is held."""

    judges: int
    more_judges: int = 0
    most_judges: int = 9
    close: int = 2
    lead: int = 0
    """Points that a challenger must have over A and one more; not a setting of a run."""
    paper: bool = False
    """As published, random orders and all."""


class Ending(NamedTuple):
    """When a run stops, and what its playoff is like."""

    k: int
    passes: int
    playoff: int
    playoff_texts: int


class Candidate(NamedTuple):
    """A whole protocol."""

    bench: Bench
    ending: Ending


class Grid(NamedTuple):
    """What is tried: every bench with every ending."""

    benches: Sequence[Bench]
    k: Sequence[int]
    passes: Sequence[int]
    playoff: Sequence[int]
    playoff_texts: Sequence[int]

    def endings(self) -> list[Ending]:
        """Every ending; without a playoff its number of texts makes no difference."""
        found = map(Ending._make, product(self.k, self.passes, self.playoff, self.playoff_texts))
        least = min(self.playoff_texts)
        return [each for each in found if each.playoff or each.playoff_texts == least]


GRID = Grid(
    benches=(
        Bench(3, paper=True),
        *(Bench(judges) for judges in (2, 3, 5, 7)),
        *(
            Bench(judges, more, most, close)
            for judges, more in ((2, 1), (2, 2), (3, 2), (3, 3), (4, 2), (5, 2))
            for most, close in ((6, 1), (6, 2), (9, 1), (9, 2), (9, 3), (12, 2))
        ),
        *(Bench(3, 3, 9, 2, lead) for lead in (1, 2, 3)),
    ),
    k=(1, 2, 3, 4, 5),
    passes=(6, 8, 10, 12, 15, 20),
    playoff=(0, 5, 7, 9, 12),
    playoff_texts=(3, 5, 7, 10),
)


class Means(NamedTuple):
    """What endings come to in one world, on the runs of one bench."""

    quality: Numbers
    calls: Numbers


class _Job(NamedTuple):
    world: World
    bench: Bench
    grid: Grid
    runs: int
    seed: int


def settings_of(candidate: Candidate) -> Settings:
    """The candidate as settings of a run, but for its lead."""
    bench, ending = candidate
    panel: dict[str, Any] = {"judges": bench.judges}
    if not bench.paper:
        panel |= {name: getattr(bench, name) for name in ("more_judges", "most_judges", "close")}
    return entrant("paper" if bench.paper else "robust", panel | ending._asdict()).settings


def try_bench(job: _Job) -> Means:
    """Every ending on the same runs."""
    endings = job.grid.endings()
    luck = Luck(job.seed, job.runs).remembered()
    longest = Ending(1, max(job.grid.passes), 0, min(job.grid.playoff_texts))
    settings = settings_of(Candidate(job.bench, longest))
    courses = run_courses(job.world, settings, luck, job.bench.lead)
    found: dict[Ending, tuple[float, float]] = {}
    for k, passes, texts in product(job.grid.k, job.grid.passes, job.grid.playoff_texts):
        stopped = replace(settings, k=k, passes=passes)
        last = last_passes(courses, stopped)
        playoffs = Playoffs(job.grid.playoff, texts, settings.balanced)
        for size, came in _delivered(job.world, luck, courses, last, playoffs).items():
            found[Ending(k, passes, size, texts)] = came
    return Means(
        np.array([found[ending][0] for ending in endings]),
        np.array([found[ending][1] for ending in endings]),
    )


def _delivered(
    world: World, luck: Luck, courses: Courses, last: Any, playoffs: Playoffs
) -> dict[int, tuple[float, float]]:
    """Mean quality and mean calls with playoffs of each size."""
    rows = np.arange(luck.runs)
    standing, calls = courses.standing[rows, last], courses.calls[rows, last]
    chosen = playoffs.hold(world, luck, courses.reigns, standing, last)
    quality = courses.reigns.quality
    return {
        size: (
            float(quality[rows, column].mean()),
            float((calls + np.where(standing > 0, size, 0)).mean()),
        )
        for size, column in chosen.items()
    }
