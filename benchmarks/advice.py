"""Advice in worlds whose truth is known: how often `autoreason advise` ends in what, by simulation.

python -m benchmarks.advice
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import ClassVar, get_args

from msgspec import Struct
from paper.command import add_output, add_runs, make_parser, show

from autoreason.report.numbers import count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.settings import Models, Settings, make_settings
from autoreason.studies.advice_job import (
    AdviceEnding,
    conclude,
    limit_calls,
    max_pilots,
    pilot_calls,
    run_calls,
)
from autoreason.studies.advice_measures import (
    CORRELATION,
    JUDGES,
    PAIRS,
    Pilot,
    Right,
    find_fault,
    judge_findings,
    may_fail,
    weigh_pilots,
)
from autoreason.tournament.judges import seat_calls

_ENDINGS: tuple[AdviceEnding, ...] = tuple(
    each for each in get_args(AdviceEnding) if each != "research"
)


class AdviceWorld(Struct, frozen=True, kw_only=True):
    """What is true of a brief, its author and its judges."""

    name: str
    result: float
    """The share of all judges who prefer the result of a short run to its draft."""
    sees: float = 0.9
    """The share of planted defects that a judge sees."""
    lean: float = 0.0
    """By how much the text shown first wins more often."""


WORLDS = (
    *(
        AdviceWorld(name=f"{share:.0%} prefer the result", result=share)
        for share in (0.9, 0.8, 0.7)
    ),
    AdviceWorld(name="60% prefer the result", result=0.6),
    AdviceWorld(name="no gain", result=0.5),
    AdviceWorld(name="the result is worse", result=0.3),
    AdviceWorld(name="80% prefer the result, judges see 70%", result=0.8, sees=0.7),
    AdviceWorld(name="judges toss coins", result=0.5, sees=0.5),
    AdviceWorld(name="judges take the first text", result=0.5, sees=0.5, lean=1.0),
)


class AdviceOutcomes(Struct, frozen=True, kw_only=True):
    """How often the advice is what, in one world."""

    world: AdviceWorld
    runs: int
    endings: dict[str, float]
    calls: float
    """On average."""


class AdviceStudy(Report, Struct, frozen=True, kw_only=True):
    """What advice ends in, world by world."""

    heading: ClassVar[str] = "Advice in worlds whose truth is known"
    outcomes: tuple[AdviceOutcomes, ...]
    call_limit: int
    run_calls: int
    """What the run takes that is asked about."""
    pilots: int
    """How many the limit allows."""

    @property
    def conclusion(self) -> str:
        """How often it advises a run that nobody prefers, and one that most prefer."""
        by_name = {each.world.name: each.endings["run it"] for each in self.outcomes}
        none, most = by_name["no gain"], by_name["80% prefer the result"]
        return (
            f"with {count(self.call_limit, 'call')} at most, where a run takes about {self.run_calls}, "
            f"{percent(none)} of briefs for which a run gains nothing are advised to be run, and {percent(most)} of "
            "those for which 80 % of judges prefer the result"
        )

    def sections(self) -> list[Section]:
        """Every world, and what it is made of."""
        rows = [
            (
                each.world.name.replace("%", " %"),
                *(percent(each.endings[ending]) for ending in _ENDINGS),
                f"{each.calls:.0f}",
            )
            for each in self.outcomes
        ]
        columns = [*words("world"), *figures(*_ENDINGS, "calls")]
        runs = count(self.outcomes[0].runs, "advice", "pieces of advice")
        how = (
            f"{runs} a world, {count(self.pilots, 'pilot')} at most; judges of one text share a taste "
            f"(correlation {CORRELATION}); judges see {percent(0.9)} of planted defects unless the world says otherwise"
        )
        return [Section(tables=[Table(columns, rows)], sentences=[("Played", how)])]


def study_advice(runs: int, seed: int) -> AdviceStudy:
    """Play so many pieces of advice about a default run in every world."""
    settings = make_settings(Models.everywhere("simulated/model"), seed)
    return AdviceStudy(
        outcomes=tuple(_play(world, runs, seed, settings) for world in WORLDS),
        call_limit=limit_calls(settings),
        run_calls=run_calls(settings),
        pilots=max_pilots(settings),
    )


def _play(world: AdviceWorld, runs: int, seed: int, settings: Settings) -> AdviceOutcomes:
    random = Random(f"{seed}/{world.name}")
    endings: Counter[str] = Counter()
    spent = 0
    question, pilot = seat_calls(settings).usual, pilot_calls(settings)
    allowed = [max_pilots(settings, 2 * pairs) for pairs in range(PAIRS + 1)]
    for _ in range(runs):
        right = play_judge(world, random)
        judge = judge_findings(right, ())
        pilots = () if find_fault(judge) else play_pilots(world, allowed[len(right)], random)
        endings[conclude(judge, pilots)[0]] += 1
        spent += 2 * len(right) * question + len(pilots) * pilot
    return AdviceOutcomes(
        world=world,
        runs=runs,
        endings={ending: endings[ending] / runs for ending in _ENDINGS},
        calls=spent / runs,
    )


def play_judge(world: AdviceWorld, random: Random) -> Right:
    """What a judge answers about pairs in both orders, until no fault can be shown any more."""
    first, second = (world.sees + side * world.lean / 2 for side in (1, -1))
    right: Right = ()
    while len(right) < PAIRS and may_fail(right, (), PAIRS - len(right)):
        one, other = random.random() < first, random.random() < second
        # Sorted, since neither the order of pairs nor that of texts counts: what follows is then known from before.
        right = tuple(sorted((*right, (one or other, one and other))))
    return right


def play_pilots(world: AdviceWorld, pilots: int, random: Random) -> tuple[Pilot, ...]:
    """What pilots measure in a world, until they decide."""
    tried: tuple[Pilot, ...] = ()
    while len(tried) < pilots and weigh_pilots(tried) == "undecided":
        vote = _vote(world.result, random)
        tried = (*tried, Pilot(name=f"pilot {len(tried) + 1}", judges=JUDGES, prefer=vote))
    return tried


def _vote(share: float, random: Random) -> int:
    """How many of a panel prefer one text, where this text appeals more or less to all of them."""
    scale = (1 - CORRELATION) / CORRELATION
    appeal = random.betavariate(share * scale, (1 - share) * scale)
    return sum(random.random() < appeal for _ in range(JUDGES))


def main() -> None:
    """The command line."""
    parser = make_parser("benchmarks.advice", __doc__)
    add_runs(parser, 10_000)
    add_output(parser)
    arguments = parser.parse_args()
    show(arguments, "worlds", lambda _: study_advice(arguments.runs, arguments.seed))


if __name__ == "__main__":
    main()
