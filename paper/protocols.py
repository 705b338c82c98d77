"""How the default protocol was found: every protocol of a grid in every world of `autoreason simulate`.

    python -m paper.protocols table --set k=2 --set max_judges=9
    python -m paper.protocols search --calls 95
    python -m paper.protocols split --calls 14

`table` is `autoreason simulate` with ten thousand runs side by side. `search` looks for the protocol that
does best where it does worst, at equal calls: panels decide how a run goes; k, the cap and the playoff
only decide where it ends and what it delivers, so the runs of each panel are played once in each world, and
every ending is tried on the same runs. `split` says how the last calls of a run are best split between the
playoff, whose judges choose, and the confirmation, whose judges only say whether the result is better.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict, replace
from numpy.typing import NDArray

from autoreason.report.numbers import count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.settings import Settings
from autoreason.studies.simulation import (
    Interval,
    OnProgress,
    Plan,
    choose_protocols,
    in_processes,
    mean,
    named_protocol,
    run_study,
    summarise,
)
from autoreason.studies.world import Counts, Numbers, RandomDraws, World, load_worlds
from paper.command import add_output, add_runs, make_parser, show
from paper.fast import play_fast


class PanelSetup(NamedTuple):
    """How the panel of a pass is run."""

    judges: int
    extra_judges: int = 0
    max_judges: int = 9
    close_margin: int = 2
    required_lead: int = 1
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

    bench: PanelSetup
    ending: Ending

    @property
    def name(self) -> str:
        """As tables show it: judges, then the ending."""
        bench, ending = self
        panel = f"{bench.judges}"
        if bench.extra_judges:
            panel += f"+{bench.extra_judges} to {bench.max_judges} within {bench.close_margin}"
        panel += f" lead {bench.required_lead}" if bench.required_lead > 1 else ""
        playoff = f"{ending.playoff} over {ending.playoff_texts}" if ending.playoff else "none"
        kind = "paper: " if bench.paper else ""
        return f"{kind}{panel}, k {ending.k}, cap {ending.passes}, playoff {playoff}"

    def settings(self) -> Settings:
        """As settings of a run."""
        bench, ending = self
        panel: dict[str, Any] = {"judges": bench.judges}
        if not bench.paper:
            panel |= {
                name: getattr(bench, name)
                for name in ("extra_judges", "max_judges", "close_margin", "required_lead")
            }
        # A confirmation changes nothing that is delivered.
        panel |= {"confirmation": 0} | ending._asdict()
        return named_protocol("paper" if bench.paper else "robust", panel).settings


class Grid(NamedTuple):
    """What is tried: every bench with every ending."""

    benches: Sequence[PanelSetup]
    k: Sequence[int]
    passes: Sequence[int]
    playoff: Sequence[int]
    playoff_texts: Sequence[int]

    def endings(self) -> list[Ending]:
        """Every ending; without a playoff its number of texts makes no difference."""
        endings = map(Ending._make, product(self.k, self.passes, self.playoff, self.playoff_texts))
        least = min(self.playoff_texts)
        return [each for each in endings if each.playoff or each.playoff_texts == least]


PAPER = Candidate(PanelSetup(3, paper=True), Ending(2, 15, 0, 3))
GRID = Grid(
    benches=(
        PAPER.bench,
        # Fewer than three judges cannot see every text in every position.
        *(PanelSetup(judges) for judges in (3, 5, 7)),
        *(
            PanelSetup(judges, extra, max_judges, close)
            for judges, extra in ((3, 2), (3, 3), (5, 2))
            for max_judges, close in product((6, 9, 12), (1, 2, 3))
        ),
        *(PanelSetup(3, 3, 6, 2, lead) for lead in (2, 3, 4)),
    ),
    k=(1, 2, 3, 4, 5),
    passes=(10, 15, 20),
    playoff=(0, 5, 7, 9, 12),
    # A ballot over more than five texts is too large for a schema that requires full rankings.
    playoff_texts=(3, 5),
)


def default_candidate() -> Candidate:
    """The protocol as runs have it without any option."""
    settings = named_protocol("robust").settings
    bench = {name: getattr(settings, name) for name in PanelSetup._fields[:5]}
    return Candidate(
        PanelSetup(**bench), Ending(*(getattr(settings, name) for name in Ending._fields))
    )


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


def main() -> None:
    """The command line."""
    parser = make_parser("paper.protocols", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    table, search, split = (commands.add_parser(name) for name in ("table", "search", "split"))
    for each, runs in ((table, 10_000), (search, 1000), (split, 10_000)):
        each.add_argument("--world", action="append", default=[], metavar="NAME|FILE")
        add_runs(each, runs)
        add_output(each)
    table.add_argument("--protocol", action="append", default=[], choices=("paper", "robust"))
    table.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    table.add_argument("--budget", type=int, metavar="CALLS", help="the most calls of a run")
    search.add_argument("--calls", type=int, default=95, help="mean calls of a run; default: 95")
    split.add_argument("--calls", type=int, default=14, help="judges of both; default: 14")
    show(arguments := parser.parse_args(), "done", partial(_work, arguments))


def _work(arguments: Namespace, progress: OnProgress) -> Report:
    worlds, runs, seed = load_worlds(arguments.world), arguments.runs, arguments.seed
    if arguments.command == "table":
        protocols = choose_protocols(arguments.protocol, arguments.changes)
        plan = Plan(runs, seed, arguments.budget)
        return run_study(worlds, protocols, plan, progress, play=play_fast)
    work = search_protocols if arguments.command == "search" else compare_splits
    return work(worlds, arguments.calls, runs, seed, progress)


if __name__ == "__main__":
    main()
