"""How the default protocol was found: every protocol of a grid in every world of `autoreason simulate`.

    python -m paper.protocols table --set passes=20 --set reviewers=9
    python -m paper.protocols search --calls 90
    python -m paper.protocols check --random 400

`table` is `autoreason simulate` with ten thousand runs side by side. `search` looks for the protocol that delivers most
at equal calls, by two measures: the mean of what it delivers over what fixed passes with three judges and a review
deliver in the same world (of 1 where that is less), and the plain mean. Every rule that ends a run is compared with
its own passes in a fixed number, too: what it must be better than. What is shown is played again with fresh luck.
`check` does the same for the default, with fewer calls and with more, in worlds that chose nothing.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from math import exp, log
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.settings import ANY_GROWTH, Settings
from autoreason.studies.simulation import (
    OnSimulated,
    SimulationPlan,
    choose_protocols,
    in_processes,
    named_protocol,
    run_study,
)
from autoreason.studies.world import (
    Critics,
    Judges,
    Numbers,
    Revision,
    Synthesis,
    World,
    load_worlds,
)
from paper.command import add_output, add_runs, make_parser, show
from paper.fast import play_fast

NEVER = 50
"""Survivals that no run has in a row."""
_MAX_SHOWN = 8
_MAX_NAMED = 20
"""Of more worlds only their number is shown."""
_FRESH = 4
_NEAR = 0.05
"""Mean calls may differ from those asked for by this share."""
_ERRORS = 2
_APART = 10_000
"""Between the seeds of worlds."""


class Candidate(NamedTuple):
    """A protocol, and the family whose passes it has."""

    family: str
    ending: str
    settings: Settings
    fixed: bool = False
    """Whether its number of passes is fixed."""

    @property
    def name(self) -> str:
        return f"{self.family}, {self.ending}"


def _candidate(family: str, ending: str, *, fixed: bool = False, **changes: Any) -> Candidate:
    # A confirmation would be the same for all.
    settings = named_protocol("robust", {"confirmation": 0, **changes}).settings
    return Candidate(family, ending, settings, fixed)


JUDGED = {"judges": 3, "candidates": "B+AB", "max_growth": ANY_GROWTH, "k": NEVER}
"""Contests in every pass, as published, that no survivals end."""
ONE_REVIEW = {"review_every": 0, "review_texts": 5}
_MEASURE = "3 judges, review 7 over 5"


def fixed_passes(numbers: Iterable[int]) -> list[Candidate]:
    """What every protocol is measured by: so many passes with three judges, and seven over five texts."""
    return [
        _candidate(_MEASURE, f"{passes} passes", fixed=True, passes=passes, **JUDGED, **ONE_REVIEW)
        for passes in numbers
    ]


def reviewed(
    judges: int, every: int, reviewers: int, most: Sequence[int], least: Sequence[int]
) -> Iterator[Candidate]:
    """Reviews after so many passes: in a fixed number, and ended from so many on by the same text first again."""
    passes: dict[str, Any] = {"review_every": every, "reviewers": reviewers}
    passes |= JUDGED | {"judges": judges} if judges else {}
    family = f"{count(judges, 'judge')}, {reviewers} review 9 every {every}"
    for number in most:
        same = passes | {"passes": every * number}
        yield _candidate(family, f"{number} reviews", fixed=True, min_reviews=NEVER, **same)
        for fewest in least:
            if fewest < number:
                rule = f"{fewest} to {number} reviews"
                yield _candidate(family, rule, min_reviews=fewest, **same)


def default() -> list[Candidate]:
    """The default with fewer calls, as it is, and with more; and what all are compared with."""
    found = fixed_passes(range(6, 29, 2))
    for fewest, most in ((2, 5), (3, 8), (4, 14)):
        found += [each for each in reviewed(0, 5, 7, [most], [fewest]) if not each.fixed]
    return [*found, *reviewed(0, 5, 7, range(3, 12), [])]


def grid() -> list[Candidate]:
    """What is tried."""
    least = (2, 3, 4, 5)
    found = fixed_passes(range(6, 25, 2))
    for every, reviewers in ((4, 4), (5, 5), (5, 7), (6, 5), (8, 5)):
        found += reviewed(0, every, reviewers, range(3, 15), least)
    for every, reviewers in ((6, 5), (8, 4)):
        found += reviewed(1, every, reviewers, range(2, 6), (2, 3))
    return found


class _Played(NamedTuple):
    """By world."""

    quality: Numbers
    errors: Numbers
    calls: Numbers

    @property
    def mean_calls(self) -> float:
        return float(self.calls.mean())


class RankedProtocol(Struct, frozen=True, kw_only=True):
    """A protocol against fixed passes with three judges at as many calls."""

    name: str
    calls: float
    quality: dict[str, float]
    """By world."""
    relative: float
    """The mean over worlds of its quality over that of the fixed passes there, or over 1 where that is less, less 1."""
    absolute: float
    """The same of the plain means."""
    better: list[str]
    worse: list[str]
    """Worlds in which it delivers more, or less, by more than two errors."""
    over_own: tuple[float, float] | None = None
    """Both measures against its own passes in a fixed number at as many calls; None where that is what it is."""


class SearchReport(Report, Struct, frozen=True, kw_only=True):
    """Protocols at equal calls."""

    heading: ClassVar[str] = "Protocols at equal calls"

    target: int | None
    """The calls that were asked for; None where all rules are shown."""
    tried: int
    worlds: int
    runs: int
    """Runs of each protocol shown, in each world; fresh ones after a search."""
    ranked: list[RankedProtocol]
    """The best by the relative measure first, or as they were given."""

    @property
    def conclusion(self) -> str:
        if not self.ranked:
            return f"none of {self.tried} protocols takes about {self.target} calls on average"
        best = max(self.ranked, key=lambda one: one.relative)
        return (
            f"{best.name} delivers {best.relative:+.0%} relative and {best.absolute:+.0%} absolute for "
            f"{best.calls:.0f} calls on average"
        )

    def sections(self) -> list[Section]:
        heads = ("calls", "relative", "absolute", "own rel.", "own abs.", "better in")
        table = Table(
            [Column("protocol", figures=False), *map(Column, heads), Column("worse in", False)],
            [self._row(one) for one in self.ranked],
        )
        notes = [
            ("Tried", count(self.tried, "protocol")),
            ("Shown", f"{self.runs:,} runs of each in each of {count(self.worlds, 'world')}"),
            ("Against", f"fixed passes ({_MEASURE}) at as many calls; worlds beyond two errors"),
            ("Own", "against its own passes in a fixed number, at as many calls"),
        ]
        return [Section(tables=[table], sentences=notes)]

    def _row(self, one: RankedProtocol) -> tuple[str, ...]:
        measures = one.relative, one.absolute, *(one.over_own or ())
        shown = [f"{value:+.0%}" for value in measures]
        named = self.worlds <= _MAX_NAMED
        worse = ", ".join(one.worse) if named else str(len(one.worse))
        shown += [""] * (4 - len(shown))
        return one.name, f"{one.calls:.0f}", *shown, str(len(one.better)), worse


def search_protocols(
    worlds: Sequence[World],
    calls: int,
    runs: int,
    seed: int,
    on_progress: OnSimulated | None = None,
    candidates: Sequence[Candidate] | None = None,
) -> SearchReport:
    """The best of some protocols whose mean calls over the worlds are about `calls`, played again."""
    tried = grid() if candidates is None else candidates
    first = play_each(tried, worlds, runs, seed, on_progress)
    measure = _of_family(_MEASURE, tried, first)
    gains = {
        at: _measures(played, _at_calls(measure, calls))[0]
        for at, (one, played) in enumerate(zip(tried, first, strict=True))
        if one.family != _MEASURE and abs(played.mean_calls / calls - 1) <= _NEAR
    }
    best_first = sorted(gains, key=gains.__getitem__, reverse=True)
    chosen = [tried[at] for at in best_first[:_MAX_SHOWN]]
    families = {_MEASURE, *(one.family for one in chosen)}
    again = [one for one in tried if one in chosen or (one.fixed and one.family in families)]
    fresh = play_each(again, worlds, runs * _FRESH, seed + 1, on_progress)
    ranked = _rank_all(chosen, again, fresh, [world.name for world in worlds])
    return SearchReport(
        target=calls,
        tried=len(tried),
        worlds=len(worlds),
        runs=runs * _FRESH,
        ranked=sorted(ranked, key=lambda one: -one.relative),
    )


def check_protocols(
    worlds: Sequence[World],
    runs: int,
    seed: int,
    on_progress: OnSimulated | None = None,
    candidates: Sequence[Candidate] | None = None,
) -> SearchReport:
    """Every rule among some protocols, each followed by its own passes in a fixed number."""
    tried = default() if candidates is None else candidates
    played = play_each(tried, worlds, runs, seed, on_progress)
    names = [world.name for world in worlds]
    rules = [one for one in tried if not one.fixed]
    ranked = []
    for rule, found in zip(rules, _rank_all(rules, tried, played, names), strict=True):
        own = _at_calls(_of_family(rule.family, tried, played), found.calls)
        measure = _at_calls(_of_family(_MEASURE, tried, played), found.calls)
        ranked += [found, _rank(f"{rule.family}, fixed number", own, measure, names)]
    return SearchReport(target=None, tried=len(tried), worlds=len(worlds), runs=runs, ranked=ranked)


def play_each(
    candidates: Sequence[Candidate],
    worlds: Sequence[World],
    runs: int,
    seed: int,
    on_progress: OnSimulated | None = None,
) -> list[_Played]:
    """What each delivers in each world; all have the same luck in a world, and other luck in another."""
    jobs = [
        (one.settings, world, runs, seed + _APART * at)
        for one in candidates
        for at, world in enumerate(worlds)
    ]
    found = np.array(in_processes(_play, jobs, on_progress))
    return [
        _Played(*each) for each in found.reshape(len(candidates), len(worlds), 3).swapaxes(1, 2)
    ]


def _play(settings: Settings, world: World, runs: int, seed: int) -> tuple[float, float, float]:
    played = play_fast(world, settings, runs, seed)
    error = float(played.quality.std() / runs**0.5)
    return float(played.quality.mean()), error, float(played.calls.mean())


def _of_family(
    family: str, candidates: Sequence[Candidate], played: Sequence[_Played]
) -> list[_Played]:
    """The fixed numbers of passes of a family, fewest calls first."""
    own = [
        each
        for one, each in zip(candidates, played, strict=True)
        if one.fixed and one.family == family
    ]
    return sorted(own, key=lambda each: each.mean_calls)


def _at_calls(fixed: Sequence[_Played], calls: float) -> _Played:
    """Between the two numbers of passes whose calls are nearest; the fewest or the most beyond them."""
    place = float(np.interp(calls, [each.mean_calls for each in fixed], range(len(fixed))))
    low, high = fixed[int(place)], fixed[min(int(place) + 1, len(fixed) - 1)]
    # They had the same luck, so errors are not made smaller by taking two.
    return _Played(
        *(one + (place % 1) * (other - one) for one, other in zip(low, high, strict=True))
    )


def _measures(one: _Played, base: _Played, usual: _Played | None = None) -> tuple[float, float]:
    """How much more one delivers than another: relative to what is usual in a world, and as it is."""
    scale = np.maximum((usual or base).quality, 1.0)
    relative = (one.quality / scale).mean() / (base.quality / scale).mean() - 1
    return float(relative), float(one.quality.mean() / base.quality.mean() - 1)


def _rank(name: str, one: _Played, measure: _Played, names: Sequence[str]) -> RankedProtocol:
    relative, absolute = _measures(one, measure)
    apart = (one.quality - measure.quality) / np.hypot(one.errors, measure.errors)
    return RankedProtocol(
        name=name,
        calls=one.mean_calls,
        quality=dict(zip(names, one.quality.tolist(), strict=True)),
        relative=relative,
        absolute=absolute,
        better=[world for world, errors in zip(names, apart, strict=True) if errors > _ERRORS],
        worse=[world for world, errors in zip(names, apart, strict=True) if errors < -_ERRORS],
    )


def _rank_all(
    shown: Sequence[Candidate],
    candidates: Sequence[Candidate],
    played: Sequence[_Played],
    names: Sequence[str],
) -> list[RankedProtocol]:
    """What some of the candidates deliver at equal calls."""
    by_name = {one.name: each for one, each in zip(candidates, played, strict=True)}
    ranked = []
    for candidate in shown:
        one = by_name[candidate.name]
        measure = _at_calls(_of_family(_MEASURE, candidates, played), one.mean_calls)
        found = _rank(candidate.name, one, measure, names)
        own = _of_family(candidate.family, candidates, played)
        if not candidate.fixed and own[0].mean_calls <= found.calls <= own[-1].mean_calls:
            over_own = _measures(one, _at_calls(own, found.calls), measure)
            found = replace(found, over_own=over_own)
        ranked.append(found)
    return ranked


def random_worlds(number: int, seed: int) -> list[World]:
    """Worlds that chose nothing: authors and judges as different as real ones may be, the same for a seed."""
    return [_random_world(f"world {at}", Random(f"{seed}/{at}")) for at in range(1, number + 1)]


def _random_world(name: str, luck: Random) -> World:
    def some(share: float, value: float) -> float:
        return value if luck.random() < share else 0.0

    draw = luck.uniform
    gain, pull, level = draw(-0.6, 0.5), draw(0.2, 0.7), draw(-1.0, 2.5)
    # Half of the authors pull a text towards a level of their own.
    towards = {"pull": pull, "level": level} if luck.random() < 0.5 else {"gain": gain}
    # Where judges like what is long, authors lengthen it.
    longer = some(0.25, draw(0.3, 1.6))
    growth = {"growth": draw(0, 0.5), "growth_spread": draw(0, 0.3)} if longer else {}
    return World(
        name=name,
        about="Drawn at random.",
        kind="drift",
        revision=Revision(spread=draw(0.4, 1.5), **towards, **growth),
        critics=Critics(silent=some(0.15, draw(0.2, 0.8)), at=draw(1, 3)),
        synthesis=Synthesis(spread=draw(0.3, 0.6)),
        judges=Judges(
            noise=exp(draw(log(0.6), log(4))),
            shared=draw(0.2, 1.2),
            first=luck.gauss(0.3, 0.7),
            last=some(0.4, luck.gauss(0, 0.5)),
            newer=some(0.65, draw(0, 1.6)),
            lasting=some(0.3, draw(0, 0.8)),
            longer=longer,
        ),
    )


def main() -> None:
    """The command line."""
    parser = make_parser("paper.protocols", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    table, search, check = (commands.add_parser(name) for name in ("table", "search", "check"))
    for each, runs in ((table, 10_000), (search, 500), (check, 2000)):
        each.add_argument("--world", action="extend", nargs="+", default=[], metavar="NAME|FILE")
        each.add_argument("--random", type=int, default=0, metavar="N", help="N worlds by the seed")
        add_runs(each, runs)
        add_output(each)
    table.add_argument("--protocol", action="append", default=[], choices=("paper", "robust"))
    table.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    table.add_argument("--budget", type=int, metavar="CALLS", help="the most calls of a run")
    search.add_argument("--calls", type=int, default=90, help="mean calls of a run; default: 90")
    show(arguments := parser.parse_args(), "done", partial(_work, arguments))


def _work(arguments: Namespace, progress: OnSimulated) -> Report:
    runs, seed = arguments.runs, arguments.seed
    worlds = random_worlds(arguments.random, seed) or load_worlds(arguments.world)
    if arguments.command == "search":
        return search_protocols(worlds, arguments.calls, runs, seed, progress)
    if arguments.command == "check":
        return check_protocols(worlds, runs, seed, progress)
    protocols = choose_protocols(arguments.protocol, arguments.changes)
    plan = SimulationPlan(runs, seed, arguments.budget)
    return run_study(worlds, protocols, plan, progress, play=play_fast)


if __name__ == "__main__":
    main()
