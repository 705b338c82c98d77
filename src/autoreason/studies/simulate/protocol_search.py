"""The search for the protocol that does best where it does worst, at equal calls.

Panels decide how a run goes; k, the cap and the playoff only decide where it ends and what it delivers.
So the runs of each bench are played once in each world, and every ending is tried on the same runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.studies.simulate.fast import Courses, finish, last_passes, run_courses
from autoreason.studies.simulate.finals import Playoffs
from autoreason.studies.simulate.grid import (
    GRID,
    PAPER,
    Candidate,
    Ending,
    Grid,
    PanelSetup,
    default_candidate,
)
from autoreason.studies.simulate.outcomes import Interval, mean
from autoreason.studies.simulate.random_draws import Numbers, RandomDraws
from autoreason.studies.simulate.study import OnProgress, in_processes
from autoreason.studies.simulate.texts import Counts
from autoreason.studies.simulate.world import World

_MAX_SHOWN = 5
_FRESH = 10
_BEYOND = " (beyond the limit)"


class RankedProtocol(Struct, frozen=True, kw_only=True):
    """A protocol, played again with fresh luck."""

    name: str
    note: str
    """What it is, where it is one we know."""
    quality: dict[str, Interval]
    """By world."""
    calls: dict[str, float]
    mean_calls: float
    regret: float
    """The most by which it falls short, in any world, of the best that was within the calls there;
    as a share of that, or of 1 where that is less."""
    worst: str
    """The world where that is."""

    def is_beyond(self, calls: int) -> bool:
        """Whether it takes more calls than that on average, as printed."""
        return round(self.mean_calls) > calls


class SearchReport(Report, Struct, frozen=True, kw_only=True):
    """The best protocols of a search, and some known ones."""

    heading: ClassVar[str] = "The best protocols at equal calls"

    calls: int
    tried: int
    eligible: int
    runs: int
    """Fresh runs of each protocol shown, in each world."""
    best: dict[str, float]
    """The best quality that any protocol within the calls delivered, by world."""
    ranked: list[RankedProtocol]
    """Those with the least regret, and some that we know; the best first, and those beyond the calls last."""

    @property
    def conclusion(self) -> str:
        """The protocol with the least regret of those within the calls."""
        best = self.ranked[0]
        if best.is_beyond(self.calls):
            return f"none of the protocols shown stays within {self.calls} calls on average"
        return (
            f"{best.name} has the least regret of those shown within {self.calls} calls, "
            f"{best.regret:.2f} (in {best.worst}), for {best.mean_calls:.0f} calls on average"
        )

    def names(self) -> list[str]:
        """Names of protocols."""
        return [each.name for each in self.ranked]

    def sections(self) -> list[Section]:
        """The protocols, and their quality by world."""
        letters = [chr(ord("a") + at) for at in range(len(self.ranked))]
        words = [Column(title, figures=False) for title in ("", "protocol", "known as")]
        names = Table(
            words,
            [
                (letter, one.name, one.note + _BEYOND * one.is_beyond(self.calls))
                for letter, one in zip(letters, self.ranked, strict=True)
            ],
        )
        worlds = [
            (world, *(f"{one.quality[world].value:.2f}" for one in self.ranked), f"{best:.2f}")
            for world, best in self.best.items()
        ]
        rows = [
            ("calls", *(f"{one.mean_calls:.0f}" for one in self.ranked), ""),
            ("regret", *(f"{one.regret:.2f}" for one in self.ranked), ""),
            *worlds,
        ]
        quality = Table([Column("", figures=False), *map(Column, (*letters, "best"))], rows)
        tried = (
            f"{self.tried:,} protocols tried, {self.eligible:,} of them within {self.calls} calls on "
            "average over the worlds; best is the most that any of those delivered"
        )
        regret = (
            "the most by which a protocol falls short of the best in any world, as a share of it"
        )
        notes = [
            ("Tried", tried),
            ("Shown", f"played again, {self.runs:,} fresh runs in each world"),
            ("Regret", regret),
        ]
        return [Section(tables=[names, quality], sentences=notes)]


class _Means(NamedTuple):
    """By ending."""

    quality: Numbers
    calls: Numbers


class _ReplayMeans(NamedTuple):
    quality: Interval
    calls: float


def search_protocols(
    worlds: Sequence[World],
    calls: int,
    runs: int,
    seed: int,
    on_progress: OnProgress | None = None,
    grid: Grid = GRID,
) -> SearchReport:
    """The best protocols of a grid whose mean calls over the worlds are within `calls`."""
    trials = [(world, bench, grid, runs, seed) for bench in grid.benches for world in worlds]
    tried = in_processes(_try_endings, trials, on_progress)
    shape = (len(grid.benches), len(worlds), len(grid.endings()))
    quality, calls_used = (
        np.stack(means).reshape(shape).transpose(0, 2, 1).reshape(-1, len(worlds))
        for means in zip(*tried, strict=True)
    )
    candidates = [Candidate(*both) for both in product(grid.benches, grid.endings())]
    within = calls_used.mean(axis=1) <= calls
    best = quality[within].max(axis=0)
    worst = np.where(within, shortfall(quality, best).max(axis=1), np.inf)
    selected = {candidates[at]: "" for at in np.argsort(worst)[:_MAX_SHOWN] if within[at]}
    longest = _longest_paper(candidates, calls_used.mean(axis=1), within)
    selected |= {longest: "paper, same calls"} if longest else {}
    selected |= {PAPER: "as published", default_candidate(): "the default"}
    again = [(one, world, runs * _FRESH, seed + 1) for one in selected for world in worlds]
    replays = in_processes(_play_again, again, on_progress)
    ranked = [
        _rank(one, note, worlds, replays[at * len(worlds) :][: len(worlds)], best)
        for at, (one, note) in enumerate(selected.items())
    ]
    return SearchReport(
        calls=calls,
        tried=len(candidates),
        eligible=int(within.sum()),
        runs=runs * _FRESH,
        best={world.name: float(each) for world, each in zip(worlds, best, strict=True)},
        ranked=sorted(ranked, key=lambda each: (each.is_beyond(calls), each.regret)),
    )


def shortfall(quality: Numbers, best: Numbers) -> Numbers:
    """How far qualities stay behind the best, as a share of it; of 1 where that is less than 1."""
    return np.asarray((best - quality) / np.maximum(best, 1.0))


def _longest_paper(
    candidates: Sequence[Candidate], calls: Numbers, within: NDArray[np.bool_]
) -> Candidate | None:
    """The published procedure with k and cap raised to spend what the others may."""
    plain = [
        at
        for at, (bench, ending) in enumerate(candidates)
        if bench.paper and not ending.playoff and within[at]
    ]
    return candidates[max(plain, key=lambda at: float(calls[at]))] if plain else None


def _try_endings(world: World, bench: PanelSetup, grid: Grid, runs: int, seed: int) -> _Means:
    """Every ending on the same runs."""
    luck = RandomDraws(seed, runs).cached()
    endings = grid.endings()
    settings = replace(Candidate(bench, endings[0]).settings(), passes=max(grid.passes))
    courses = run_courses(world, settings, luck)
    results: dict[Ending, tuple[float, float]] = {}
    for k, passes, texts in product(grid.k, grid.passes, grid.playoff_texts):
        last = last_passes(courses, replace(settings, k=k, passes=passes))
        playoffs = Playoffs(grid.playoff, texts, settings.balanced_orders)
        for size, result in _by_playoff_size(world, luck, courses, last, playoffs).items():
            results[Ending(k, passes, size, texts)] = result
    quality, calls = zip(*(results[ending] for ending in endings), strict=True)
    return _Means(np.array(quality), np.array(calls))


def _by_playoff_size(
    world: World, luck: RandomDraws, courses: Courses, last: Counts, playoffs: Playoffs
) -> dict[int, tuple[float, float]]:
    """Mean quality and mean calls with playoffs of each size."""
    rows = np.arange(luck.runs)
    incumbent, calls = courses.incumbent[rows, last], courses.calls[rows, last]
    chosen = playoffs.run(world, luck, courses.incumbents, incumbent, last)
    return {
        size: (
            float(courses.incumbents.quality[rows, column].mean()),
            float((calls + np.where(incumbent > 0, size, 0)).mean()),
        )
        for size, column in chosen.items()
    }


def _play_again(candidate: Candidate, world: World, runs: int, seed: int) -> _ReplayMeans:
    settings, luck = candidate.settings(), RandomDraws(seed, runs)
    courses = run_courses(world, settings, luck)
    outcomes = finish(world, settings, luck, courses, last_passes(courses, settings))
    return _ReplayMeans(mean(outcomes.quality), float(outcomes.calls.mean()))


def _rank(
    candidate: Candidate,
    note: str,
    worlds: Sequence[World],
    replays: Sequence[_ReplayMeans],
    best: Numbers,
) -> RankedProtocol:
    short = shortfall(np.array([each.quality.value for each in replays]), best)
    names = [world.name for world in worlds]
    return RankedProtocol(
        name=candidate.name,
        note=note,
        quality={name: each.quality for name, each in zip(names, replays, strict=True)},
        calls={name: each.calls for name, each in zip(names, replays, strict=True)},
        mean_calls=float(np.mean([each.calls for each in replays])),
        regret=float(short.max()),
        worst=names[int(short.argmax())],
    )
