"""The search for the keep rule that falls short the least: families tuned alike, then played in other worlds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from autoreason.artifacts.acceptance import KeepRule, plan_budget
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.studies.simulation import Interval, OnSimulated, in_processes, mean
from benchmarks.keep_rules.simulation import ResearchWorld, Way, simulate
from benchmarks.keep_rules.study import DEFAULT, NEVER, SINGLE, WORLDS, repeats_rule

Value = TypeVar("Value")
_FRESH = 2
"""Times as many runs for the rules that are shown."""


class Case(NamedTuple):
    """A world and the evaluations that a run has in it."""

    world: ResearchWorld
    evaluations: int


def _world(name: str, gain: float = 0.5, **fields: Any) -> ResearchWorld:
    return ResearchWorld(name=name, about="", gain=gain, **fields)


OTHER_CASES = (
    Case(_world("one in ten helps", helping=0.1), 300),
    Case(_world("15 % help, alike", gain=0.3, helping=0.15, correlation=0.7), 150),
    Case(_world("three in ten help", gain=0.2, helping=0.3), 120),
    Case(_world("heavy tails", gain=0.35, heavy=True), 250),
    Case(_world("noise doubles", gain=0.7, growth=1.0, fading=0.01), 250),
    Case(_world("expensive proposals", price=1), 200),
    Case(_world("nothing helps", helping=0.0, idle=0.7), 150),
    Case(_world("few evaluations", gain=0.7), 80),
    Case(_world("many evaluations", gain=0.3), 600),
)
"""Worlds and budgets that no rule is tuned in."""


class FoundRule(Struct, frozen=True, kw_only=True):
    """The best rule of a family, or a known one, in cases that nothing was chosen by."""

    name: str
    settings: str
    """What it does, in few words."""
    tuned: float
    """The most it fell short in any world that it was chosen in."""
    quality: dict[str, Interval]
    """True quality of the result by case, with fresh luck."""
    mean_shortfall: float
    """By how much it stays behind the best of these rules, as a share of it; of 1 where that is less."""
    worst_shortfall: float
    worst: str
    """The case where that is."""


class RuleSearchReport(Report, Struct, frozen=True, kw_only=True):
    """The best keep rule of every family, each found with as many tries."""

    heading: ClassVar[str] = "Keep rules, tuned alike and tried elsewhere"
    evaluations: int
    """Of a run in the worlds that rules were tuned in."""
    tries: int
    """Settings of each family that were tried; fewer where it has no more."""
    runs: int
    seed: int
    rules: list[FoundRule]
    """The one that falls short the least at worst first."""

    @property
    def conclusion(self) -> str:
        """The rule that falls short the least, and how the default does."""
        best = self.rules[0]
        text = f"{best.name} falls short the least at worst, by {_sizes(best)}"
        if best.name == _DEFAULT:
            return text
        (own,) = (rule for rule in self.rules if rule.name == _DEFAULT)
        return f"{text}; {_DEFAULT} by {_sizes(own)}"

    def names(self) -> list[str]:
        """Names of rules."""
        return [rule.name for rule in self.rules]

    def sections(self) -> list[Section]:
        """The rules, and their quality case by case."""
        found = Table(
            [*words("rule", "settings"), *figures("tuned", "mean", "worst"), *words("where")],
            [
                (
                    rule.name,
                    rule.settings,
                    *(f"{each:.2f}" for each in (rule.tuned, rule.mean_shortfall)),
                    f"{rule.worst_shortfall:.2f}",
                    rule.worst,
                )
                for rule in self.rules
            ],
        )
        quality = Table(
            [*words("case"), *figures(*self.names())],
            [
                (f"{case.world.name}, {case.evaluations}", *self._qualities(case))
                for case in OTHER_CASES
            ],
        )
        notes = [
            ("Tuned", f"the most a rule fell short in six worlds, with {self.evaluations} evaluations; "
             f"{self.tries} settings of each family at most, the one that fell short the least was taken"),
            ("Mean, worst", "shortfall from the best of these rules in the cases below, which chose "
             f"nothing; {self.runs * _FRESH:,} fresh runs each"),
            ("Quality", "true gain over the start, in standard deviations of one evaluation"),
        ]  # fmt: skip
        return [Section(tables=[found, quality], sentences=notes)]

    def _qualities(self, case: Case) -> list[str]:
        return [f"{rule.quality[case.world.name].value:.2f}" for rule in self.rules]


def _sizes(rule: FoundRule) -> str:
    return f"{rule.worst_shortfall:.2f} ({rule.worst}) and {rule.mean_shortfall:.2f} on average"


class _Draw:
    """Settings drawn at random."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def number(self, low: float, high: float) -> float:
        return round(float(self._rng.uniform(low, high)), 2)

    def pick(self, *values: Value) -> Value:
        return values[int(self._rng.integers(len(values)))]

    def record(self) -> dict[str, Any]:
        """How often an incumbent is measured."""
        return {
            "incumbent_least": self.pick(1, 2, 3, 4),
            "incumbent_ratio": self.pick(0.5, 1.0, 1.5),
            "incumbent_every": self.pick(1, 2, 4, NEVER),
            "incumbent_most": self.pick(4, 6, 8, 12),
        }


def _race(draw: _Draw) -> Way:
    rule = KeepRule(
        evaluations=draw.pick(2, 3, 4, 5, 6),
        drop=draw.number(-1, 0.25),
        keep_first=draw.number(1.2, 3),
        keep_later=draw.number(0.8, 2.4),
        keep_last=draw.pick(0.0, 0.0, 0.5, 1.0),
        **draw.record(),
    )
    return Way(name="race, tuned", rule=rule)


def _independent(draw: _Draw) -> Way:
    return replace(_race(draw), name="independent", stacked=False)


def _e_value(draw: _Draw) -> Way:
    evaluations, drop = draw.pick(3, 4, 6, 8, 12, 16), draw.number(-1, 0.25)
    rule = KeepRule(evaluations=evaluations, drop=drop, **draw.record())
    return Way(name="e-value", rule=rule, e_value=draw.number(0.05, 0.95))


def _ladder(draw: _Draw) -> Way:
    rule = replace(SINGLE, **draw.record())
    return Way(name="Ladder", rule=rule, margin=draw.number(0, 2), pooled=False)


def _repeats(draw: _Draw) -> Way:
    return Way(name="repeats", rule=repeats_rule(draw.pick(2, 3, 4, 5, 6), draw.number(-0.2, 2)))


def _greedy(draw: _Draw) -> Way:
    return Way(name="greedy", rule=SINGLE, floor_looks=draw.pick(1, 2, 3, 5))


FAMILIES: tuple[Callable[[_Draw], Way], ...] = (
    _race, _independent, _e_value, _ladder, _repeats, _greedy,
)  # fmt: skip
_DEFAULT = f"{DEFAULT}, the default"
_KNOWN = Way(name=_DEFAULT, playoff=True)


def search_rules(
    evaluations: int,
    tries: int,
    runs: int,
    seed: int,
    on_progress: OnSimulated | None = None,
    processes: int = 2,
) -> RuleSearchReport:
    """Tune every family with as many tries in the six worlds, and play the best of each in cases of other kinds."""
    plan_budget(evaluations)
    families = [settings_of(family, tries, seed + at) for at, family in enumerate(FAMILIES)]
    ways = [*(way for family in families for way in family), _KNOWN]
    tuned = [Case(world, evaluations) for world in WORLDS]
    play = partial(_play, on_progress=on_progress, processes=processes)
    worst = _shortfalls(play(ways, tuned, runs, seed)).max(axis=1)
    ends = np.cumsum([len(family) for family in families])
    chosen = [
        int(end - len(family) + worst[end - len(family) : end].argmin())
        for family, end in zip(families, ends, strict=True)
    ]
    chosen.append(len(ways) - 1)
    played = play([ways[at] for at in chosen], OTHER_CASES, runs * _FRESH, seed + 1)
    short = _shortfalls(played)
    names = [case.world.name for case in OTHER_CASES]
    found = [
        FoundRule(
            name=ways[at].name,
            settings=_describe(ways[at]),
            tuned=float(worst[at]),
            quality=dict(zip(names, qualities, strict=True)),
            mean_shortfall=fmean(row.tolist()),
            worst_shortfall=float(row.max()),
            worst=names[int(row.argmax())],
        )
        for at, qualities, row in zip(chosen, played, short, strict=True)
    ]
    return RuleSearchReport(
        evaluations=evaluations,
        tries=tries,
        runs=runs,
        seed=seed,
        rules=sorted(found, key=lambda rule: rule.worst_shortfall),
    )


def settings_of(family: Callable[[_Draw], Way], tries: int, seed: int) -> list[Way]:
    """Different settings of a family, with and without a playoff."""
    draw = _Draw(seed)
    ways = (replace(family(draw), playoff=draw.pick(True, False)) for _ in range(tries))
    return list(dict.fromkeys(ways))


def _play(
    ways: Sequence[Way],
    cases: Sequence[Case],
    runs: int,
    seed: int,
    *,
    on_progress: OnSimulated | None,
    processes: int,
) -> list[list[Interval]]:
    """The quality of every way in every case."""
    jobs = [(case.world, way, case.evaluations, runs, seed) for way in ways for case in cases]
    found = in_processes(_quality, jobs, on_progress, processes)
    return [found[at : at + len(cases)] for at in range(0, len(found), len(cases))]


def _quality(world: ResearchWorld, way: Way, evaluations: int, runs: int, seed: int) -> Interval:
    return mean(simulate(world, way, evaluations, runs, seed).quality)


def _shortfalls(played: Sequence[Sequence[Interval]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How far each way stays behind the best of all, case by case."""
    quality = np.array([[each.value for each in row] for row in played])
    best = quality.max(axis=0)
    return np.asarray((best - quality) / np.maximum(best, 1.0))


def _describe(way: Way) -> str:
    """The settings of a way in few words; those that it does not use are left out."""
    rule = way.rule
    words = [f"{rule.evaluations} evaluations"] if rule.evaluations > 1 else ["one evaluation"]
    if way.e_value is not None:
        words.append(f"e-value {way.e_value:g}")
    elif rule.evaluations > 1:
        keep = filter(np.isfinite, (rule.keep_first, rule.keep_later, rule.keep_last))
        words.append(f"keep {'/'.join(f'{each:g}' for each in keep)}")
    words += [f"drop {rule.drop:g}"] if np.isfinite(rule.drop) else []
    words += [f"margin {way.margin:g}"] if way.margin else []
    least, most = rule.incumbent_least, rule.incumbent_most
    again = "" if rule.incumbent_every == NEVER else f", +1 every {rule.incumbent_every}"
    words.append(f"incumbent {least} to {most}{again}" if least < most else f"incumbent {most}")
    return "; ".join([*words, "playoff" if way.playoff else "no playoff"])
