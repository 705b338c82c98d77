"""How the default protocol was found: every protocol of a grid in every world of `autoreason simulate`.

    python -m paper.protocols table --set passes=20 --set reviewers=9
    python -m paper.protocols search --calls 90

`table` is `autoreason simulate` with ten thousand runs side by side. `search` looks for the protocol that delivers most
at equal calls, by two measures: the mean of what it delivers over what fixed passes with three judges and a review
deliver in the same world (of 1 where that is less), and the plain mean. Every rule that ends a run is compared with
its own passes in a fixed number, too: what it must be better than. What is shown is played again with fresh luck.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Struct

from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.settings import ANY_GROWTH, Settings
from autoreason.studies.simulation import (
    OnProgress,
    Plan,
    choose_protocols,
    in_processes,
    named_protocol,
    run_study,
)
from autoreason.studies.world import Numbers, World, load_worlds
from paper.command import add_output, add_runs, make_parser, show
from paper.fast import play_fast

NEVER = 50
"""Survivals that no run has in a row."""
_MAX_SHOWN = 8
_FRESH = 4
_NEAR = 0.05
"""Mean calls may differ from those asked for by this share."""
_ERRORS = 2


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
    # A confirmation changes nothing that is delivered.
    settings = named_protocol("robust", {"confirmation": 0, **changes}).settings
    return Candidate(family, ending, settings, fixed)


JUDGED = {"judges": 3, "candidates": "B+AB", "max_growth": ANY_GROWTH, "k": NEVER}
"""Contests in every pass, as published, that no survivals end."""
ONE_REVIEW = {"review_every": 0, "review_texts": 5}


def fixed_passes(numbers: Iterable[int]) -> list[Candidate]:
    """What every protocol is measured by: so many passes with three judges, and seven over five texts."""
    family = "3 judges, review 7 over 5"
    return [
        _candidate(family, f"{passes} passes", fixed=True, passes=passes, **JUDGED, **ONE_REVIEW)
        for passes in numbers
    ]


def reviewed(
    judges: int, every: int, reviewers: int, most: Sequence[int], rules: Sequence[tuple[int, float]]
) -> Iterator[Candidate]:
    """Reviews after so many passes: in a fixed number, and ended by rules of how many at least and which trend."""
    passes: dict[str, Any] = {"review_every": every, "reviewers": reviewers}
    passes |= JUDGED | {"judges": judges} if judges else {}
    family = f"{count(judges, 'judge')}, {reviewers} review 9 every {every}"
    for number in most:
        same = passes | {"passes": every * number}
        yield _candidate(family, f"{number} reviews", fixed=True, min_trend=-1.0, **same)
        for least, trend in rules:
            if least < number:
                rule = f"{least} to {number} reviews, trend {trend}"
                yield _candidate(family, rule, min_reviews=least, min_trend=trend, **same)


def grid() -> list[Candidate]:
    """What is tried."""
    rules = [*product((3, 4, 5, 6), (0.2, 0.3, 0.4, 0.5))]
    found = fixed_passes(range(6, 25, 2))
    for every, reviewers in ((4, 4), (5, 5), (5, 7), (6, 5), (8, 5)):
        found += reviewed(0, every, reviewers, range(3, 11), rules)
    for every, reviewers in ((6, 5), (8, 4)):
        found += reviewed(1, every, reviewers, range(2, 6), [*product((2, 3), (0.3, 0.5))])
    return found


class _Played(NamedTuple):
    """By world."""

    quality: Numbers
    errors: Numbers
    calls: Numbers


class RankedProtocol(Struct, frozen=True, kw_only=True):
    """A protocol, played again with fresh luck."""

    name: str
    calls: float
    quality: dict[str, float]
    """By world."""
    relative: float
    """The mean over worlds of its quality over that of the reference, less 1."""
    absolute: float
    """The same of the plain means."""
    better: list[str]
    worse: list[str]
    """Worlds in which it delivers more, or less, than the reference by more than two errors."""
    over_fixed: tuple[float, float] | None
    """Both measures against its own passes in a fixed number at as many calls; None where that is what it is."""


class SearchReport(Report, Struct, frozen=True, kw_only=True):
    """The best protocols of a search at equal calls."""

    heading: ClassVar[str] = "The best protocols at equal calls"

    target: int
    tried: int
    eligible: int
    runs: int
    """Fresh runs of each protocol shown, in each world."""
    reference: RankedProtocol
    ranked: list[RankedProtocol]
    """The best by the relative measure first."""

    @property
    def conclusion(self) -> str:
        if not self.ranked:
            return f"none of {self.tried} protocols takes about {self.target} calls on average"
        best = self.ranked[0]
        return (
            f"{best.name} delivers {best.relative:+.0%} relative and {best.absolute:+.0%} absolute for "
            f"{best.calls:.0f} calls on average"
        )

    def sections(self) -> list[Section]:
        rows = []
        for one in (self.reference, *self.ranked):
            own = one.over_fixed
            measures = (f"{value:+.0%}" for value in (one.relative, one.absolute))
            fixed = (f"{value:+.0%}" for value in own) if own else ("", "")
            worse = ", ".join(one.worse)
            rows.append((one.name, f"{one.calls:.0f}", *measures, *fixed, len(one.better), worse))
        heads = ("calls", "relative", "absolute", "own rel.", "own abs.", "better in")
        table = Table(
            [Column("protocol", figures=False), *map(Column, heads), Column("worse in", False)],
            [tuple(map(str, row)) for row in rows],
        )
        notes = [
            ("Tried", f"{self.tried:,}, {self.eligible:,} at about {self.target} calls"),
            ("Shown", f"the first is the reference; {self.runs:,} fresh runs in each world"),
            ("Own", "against its own passes in a fixed number, at as many calls"),
        ]
        return [Section(tables=[table], sentences=notes)]


def search_protocols(
    worlds: Sequence[World],
    calls: int,
    runs: int,
    seed: int,
    on_progress: OnProgress | None = None,
    candidates: Sequence[Candidate] | None = None,
) -> SearchReport:
    """The best of some protocols whose mean calls over the worlds are about `calls`."""
    tried = grid() if candidates is None else candidates
    first = play_each(tried, worlds, runs, seed, on_progress)
    near = [at for at, one in enumerate(first) if _is_near(one, calls)]
    base = _nearest(tried, first, calls)
    order = sorted(near, key=lambda at: -_measures(first[at], first[base])[0])
    chosen = [at for at in order if at != base][:_MAX_SHOWN]
    families = {tried[at].family for at in (base, *chosen)}
    shown = [
        at
        for at, one in enumerate(tried)
        if at in (base, *chosen) or (one.fixed and one.family in families)
    ]
    fresh = play_each([tried[at] for at in shown], worlds, runs * _FRESH, seed + 1, on_progress)
    again = dict(zip(shown, fresh, strict=True))
    names = [world.name for world in worlds]

    def rank(at: int) -> RankedProtocol:
        family = tried[at].family
        own = [again[x] for x in shown if tried[x].fixed and tried[x].family == family]
        return _rank(tried[at], again[at], again[base], own, names)

    ranked = sorted(map(rank, chosen), key=lambda one: -one.relative)
    return SearchReport(
        target=calls,
        tried=len(tried),
        eligible=len(near),
        runs=runs * _FRESH,
        reference=rank(base),
        ranked=ranked,
    )


def play_each(
    candidates: Sequence[Candidate],
    worlds: Sequence[World],
    runs: int,
    seed: int,
    on_progress: OnProgress | None = None,
) -> list[_Played]:
    """What each delivers in each world."""
    jobs = [(one.settings, world, runs, seed) for one in candidates for world in worlds]
    found = np.array(in_processes(_play, jobs, on_progress))
    return [
        _Played(*each) for each in found.reshape(len(candidates), len(worlds), 3).swapaxes(1, 2)
    ]


def _play(settings: Settings, world: World, runs: int, seed: int) -> tuple[float, float, float]:
    played = play_fast(world, settings, runs, seed)
    error = float(played.quality.std() / runs**0.5)
    return float(played.quality.mean()), error, float(played.calls.mean())


def _is_near(played: _Played, calls: int) -> bool:
    return bool(abs(played.calls.mean() / calls - 1) <= _NEAR)


def _nearest(candidates: Sequence[Candidate], played: Sequence[_Played], calls: int) -> int:
    """The reference whose mean calls are nearest."""
    family = fixed_passes([1])[0].family
    own = [at for at, one in enumerate(candidates) if one.family == family]
    return min(own, key=lambda at: abs(float(played[at].calls.mean()) - calls))


def _measures(one: _Played, base: _Played) -> tuple[float, float]:
    """How much more one delivers than another: relative to what is usual in a world, and as it is."""
    usual = np.maximum(base.quality, 1.0)
    relative = (one.quality / usual).mean() / (base.quality / usual).mean() - 1
    return float(relative), float(one.quality.mean() / base.quality.mean() - 1)


def _rank(
    candidate: Candidate, one: _Played, base: _Played, own: Sequence[_Played], names: list[str]
) -> RankedProtocol:
    relative, absolute = _measures(one, base)
    apart = (one.quality - base.quality) / np.hypot(one.errors, base.errors)
    return RankedProtocol(
        name=candidate.name,
        calls=float(one.calls.mean()),
        quality=dict(zip(names, one.quality.tolist(), strict=True)),
        relative=relative,
        absolute=absolute,
        better=[name for name, errors in zip(names, apart, strict=True) if errors > _ERRORS],
        worse=[name for name, errors in zip(names, apart, strict=True) if errors < -_ERRORS],
        over_fixed=None if candidate.fixed else _over_fixed(one, base, own),
    )


def _over_fixed(one: _Played, base: _Played, own: Sequence[_Played]) -> tuple[float, float] | None:
    """Both measures against passes in a fixed number, between the two numbers whose calls are nearest."""
    by_calls = sorted(own, key=lambda each: float(each.calls.mean()))
    calls = [float(each.calls.mean()) for each in by_calls]
    if len(calls) < 2 or not calls[0] <= one.calls.mean() <= calls[-1]:
        return None
    usual = np.maximum(base.quality, 1.0)
    relative = [float((each.quality / usual).mean()) for each in by_calls]
    absolute = [float(each.quality.mean()) for each in by_calls]
    at = float(one.calls.mean())
    return (
        float((one.quality / usual).mean() / np.interp(at, calls, relative) - 1),
        float(one.quality.mean() / np.interp(at, calls, absolute) - 1),
    )


def main() -> None:
    """The command line."""
    parser = make_parser("paper.protocols", __doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    table, search = (commands.add_parser(name) for name in ("table", "search"))
    for each, runs in ((table, 10_000), (search, 500)):
        each.add_argument("--world", action="append", default=[], metavar="NAME|FILE")
        add_runs(each, runs)
        add_output(each)
    table.add_argument("--protocol", action="append", default=[], choices=("paper", "robust"))
    table.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    table.add_argument("--budget", type=int, metavar="CALLS", help="the most calls of a run")
    search.add_argument("--calls", type=int, default=90, help="mean calls of a run; default: 90")
    show(arguments := parser.parse_args(), "done", partial(_work, arguments))


def _work(arguments: Namespace, progress: OnProgress) -> Report:
    worlds, runs, seed = load_worlds(arguments.world), arguments.runs, arguments.seed
    if arguments.command == "search":
        return search_protocols(worlds, arguments.calls, runs, seed, progress)
    protocols = choose_protocols(arguments.protocol, arguments.changes)
    plan = Plan(runs, seed, arguments.budget)
    return run_study(worlds, protocols, plan, progress, play=play_fast)


if __name__ == "__main__":
    main()
