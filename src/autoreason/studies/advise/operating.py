"""Advice in worlds whose truth is known: how often it ends in what, by simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import ClassVar, get_args

from msgspec import Struct

from autoreason.report.numbers import count, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.settings import Budget, Models, make_settings
from autoreason.studies.advise.advice_job import Ending, conclude, count_calls, max_pilots
from autoreason.studies.advise.judge_check import PAIRS, JudgeScore
from autoreason.studies.advise.pick_test import DRAFTS, PickTest
from autoreason.studies.advise.pilots import CORRELATION, JUDGES, Pilot, weigh_pilots

CALL_LIMIT = 150
_ENDINGS: tuple[Ending, ...] = tuple(each for each in get_args(Ending) if each != "research")


class AdviceWorld(Struct, frozen=True, kw_only=True):
    """What is true of a brief, its author and its judges."""

    name: str
    result: float
    """The share of all judges who prefer the result of a short run to its draft."""
    pick: float = 0.8
    """The share of all judges who prefer the draft that a panel picked to another."""
    distance: float = 0.6
    """The share of words in which two drafts differ."""
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
    AdviceWorld(name="no gain, best of n works", result=0.5),
    AdviceWorld(name="no gain, drafts alike", result=0.5, pick=0.5, distance=0.1),
    AdviceWorld(name="no gain, drafts as good", result=0.5, pick=0.5),
    AdviceWorld(name="the result is worse", result=0.3),
    AdviceWorld(name="judges toss coins", result=0.5, pick=0.5, sees=0.5),
    AdviceWorld(name="judges go by position", result=0.5, pick=0.5, sees=0.5, lean=0.9),
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
    pilots: int
    """How many the limit allows."""

    @property
    def conclusion(self) -> str:
        """How often it advises a run that nobody prefers, and one that most prefer."""
        by_name = {each.world.name: each.endings["run it"] for each in self.outcomes}
        none, most = by_name["no gain, best of n works"], by_name["80% prefer the result"]
        return (
            f"with {count(self.call_limit, 'call')}, {percent(none)} of briefs for which a run gains nothing are "
            f"advised to be run, and {percent(most)} of those for which 80 % of judges prefer the result"
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
            f"(correlation {CORRELATION}), drafts differ in 60 % of their words unless alike"
        )
        return [Section(tables=[Table(columns, rows)], sentences=[("Played", how)])]


def study_advice(runs: int, seed: int, call_limit: int = CALL_LIMIT) -> AdviceStudy:
    """Play so many pieces of advice in every world."""
    budget = Budget(calls=call_limit)
    settings = make_settings(Models.everywhere("simulated/model"), seed, budget=budget)
    pilots = max_pilots(settings)
    calls = count_calls(settings)
    return AdviceStudy(
        outcomes=tuple(_play(world, runs, seed, pilots, calls) for world in WORLDS),
        call_limit=call_limit,
        pilots=pilots,
    )


def _play(
    world: AdviceWorld, runs: int, seed: int, pilots: int, calls: Sequence[int]
) -> AdviceOutcomes:
    random = Random(f"{seed}/{world.name}")
    endings: Counter[str] = Counter()
    spent = 0
    check, pick, pilot = calls
    for _ in range(runs):
        score, picked, tried = play_advice(world, pilots, random)
        endings[conclude(score, picked, tried)[0]] += 1
        spent += check + (pick if not score.fault else 0) + pilot * len(tried)
    return AdviceOutcomes(
        world=world,
        runs=runs,
        endings={ending: endings[ending] / runs for ending in _ENDINGS},
        calls=spent / runs,
    )


def play_advice(
    world: AdviceWorld, pilots: int, random: Random
) -> tuple[JudgeScore, PickTest, tuple[Pilot, ...]]:
    """What one piece of advice measures in a world."""
    score = _play_judge(world, random)
    prefer = _vote(world.pick, random)
    picked = PickTest(drafts=DRAFTS, distance=world.distance, judges=JUDGES, prefer=prefer)
    tried: tuple[Pilot, ...] = ()
    while not score.fault and len(tried) < pilots and weigh_pilots(tried) == "undecided":
        vote = _vote(world.result, random)
        tried = (*tried, Pilot(name=f"pilot {len(tried) + 1}", judges=JUDGES, prefer=vote))
    return score, picked, tried


def _play_judge(world: AdviceWorld, random: Random) -> JudgeScore:
    when_first, when_second = (
        sum(random.random() < world.sees + side * world.lean / 2 for _ in range(PAIRS))
        for side in (1, -1)
    )
    return JudgeScore(
        valid=2 * PAIRS, right=when_first + when_second, first=when_first + PAIRS - when_second
    )


def _vote(share: float, random: Random) -> int:
    """How many of a panel prefer one text, where this text appeals more or less to all of them."""
    scale = (1 - CORRELATION) / CORRELATION
    appeal = random.betavariate(share * scale, (1 - share) * scale)
    return sum(random.random() < appeal for _ in range(JUDGES))
