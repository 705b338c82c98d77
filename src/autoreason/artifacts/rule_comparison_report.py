"""The report of rules of research against each other: what each claimed, and what fresh looks say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, isfinite, sqrt
from statistics import fmean, stdev

from msgspec import Struct

from autoreason.artifacts import research_statements as statements
from autoreason.artifacts.research_history import ResearchHistory
from autoreason.artifacts.research_terms import ResearchTerms, RuleName
from autoreason.jobs.job import read_options
from autoreason.keys import PartName
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.stats.results import BEYOND_CHANCE
from autoreason.stats.shares import enough_repeats, holm, student_t
from autoreason.story import Story

_TAIL = 0.025


class RuleRun(Struct, frozen=True, kw_only=True):
    """One research run by a rule; gains are positive where the result is better than the start."""

    repeat: int
    gain: float | None
    """On fresh looks or sealed items; None where a look gave no number.

    It is 0 where the start is the result, or has to stay because the result breaks a guard on these looks.
    """
    claimed: float
    """What the loop itself saw of its result; 0 where nothing was kept."""
    kept: int
    evaluations: int
    broken: str = ""
    """The guard that the result breaks on these looks, in words."""


class RuleRuns(Struct, frozen=True, kw_only=True):
    """All finished runs by a rule."""

    rule: RuleName
    runs: tuple[RuleRun, ...]

    @property
    def gains(self) -> dict[int, float]:
        """True gains by repeat, where they are known."""
        return {run.repeat: run.gain for run in self.runs if run.gain is not None}


class RulePair(Struct, frozen=True, kw_only=True):
    """Two rules over the same repeats; positive where the first is better."""

    first: RuleName
    second: RuleName
    difference: float
    low: float
    high: float
    """95 %; the interval of this pair alone."""
    repeats: int
    p_value_adjusted: float | None
    """By flipped signs, adjusted for all pairs (Holm)."""

    @property
    def beyond_chance(self) -> bool:
        """Whether one of the two is shown to be better."""
        return self.p_value_adjusted is not None and self.p_value_adjusted <= BEYOND_CHANCE


class RuleComparisonReport(Report, Struct, frozen=True, kw_only=True):
    """Rules of research in numbers."""

    metric: str
    rules: tuple[RuleRuns, ...]
    pairs: tuple[RulePair, ...]
    repeats: int
    sealed: bool
    opened: int = 0
    """How often the sealed set has been opened, by these runs and before them."""

    heading = "Rules of research"

    @property
    def conclusion(self) -> str:
        """Which rule is better than which, or that none is shown to be."""
        shown = [_better(pair) for pair in self.pairs if pair.beyond_chance]
        where = "sealed items" if self.sealed else "fresh evaluations"
        if not shown:
            return f"no rule is shown to be better on {where}, in {count(self.repeats, 'repeat')}"
        return f"on {where}, in {count(self.repeats, 'repeat')}: {'; '.join(shown)}"

    def names(self) -> list[str]:
        """Those of the rules."""
        return [each.rule for each in self.rules]

    def sections(self) -> list[Section]:
        """What each rule gained and claimed, then every pair."""
        missing = sum(run.gain is None for each in self.rules for run in each.runs)
        notes = [
            (
                "Claimed",
                f"is what the loop itself saw of its result, {statements.SELECTION}; "
                "the gain is the same result on looks that decided nothing",
            ),
        ]
        if self.opened:
            times = count(self.opened, "time")
            notes.append(
                ("Sealed", f"the sealed set has been opened {times}, each end test counted")
            )
        if missing:
            notes.append(("Left out", f"{count(missing, 'run')} whose result gave no number"))
        if broken := sum(bool(run.broken) for each in self.rules for run in each.runs):
            these = "a guard on these looks"
            results = count(
                broken, f"result breaks {these} and counts", f"results break {these} and count"
            )
            notes.append(("Guards", f"{results} as no gain"))
        if few := few_repeats(self.repeats, len(self.rules)):
            notes.append(("Repeats", few))
        tables = [_rule_table(self.rules), *([_pair_table(self.pairs)] if self.pairs else [])]
        return [Section(tables=tables), Section(sentences=notes)]


def few_repeats(repeats: int, rules: int) -> str:
    """What so few repeats cannot show; empty where they are enough."""
    if repeats >= (needed := enough_repeats(rules)):
        return ""
    return (
        f"{count(repeats, 'repeat')} of {rules} rules cannot show that one of them is best beyond "
        f"chance; that takes {needed} or more"
    )


def rule_comparison_report(story: Story) -> RuleComparisonReport:
    """The report of a comparison's story, so far as it has come."""
    assert story.settings is not None
    terms = read_options(story.settings, ResearchTerms)
    histories = {
        PartName.parse(name): ResearchHistory(replace(part, task=story.task))
        for name, part in story.parts.items()
        if part.end
    }
    rules = tuple(
        RuleRuns(
            rule=rule,
            runs=tuple(_run(part, each) for part, each in histories.items() if part.name == rule),
        )
        for rule in terms.rules
    )
    research = next(iter(histories.values())).research if histories else None
    return RuleComparisonReport(
        metric=research.metric if research else "",
        rules=rules,
        pairs=compare_pairs(rules),
        repeats=terms.repeats,
        sealed=bool(research and research.sealed),
        opened=max((each.end.opened for each in histories.values() if each.end), default=0),
    )


def _run(part: PartName, history: ResearchHistory) -> RuleRun:
    tested = history.end_result
    gain = tested.gain if tested else None
    broken = history.end.broken if history.end else ""
    return RuleRun(
        repeat=part.repeat,
        gain=0.0 if broken or not history.end else gain,
        broken=broken,
        claimed=statements.loop_gain(history) or 0.0 if history.result else 0.0,
        kept=len(history.kept),
        evaluations=history.evaluations,
    )


def compare_pairs(rules: Sequence[RuleRuns]) -> tuple[RulePair, ...]:
    """Every two rules over the repeats in which both have a number."""
    from autoreason.stats.resampling import permutation_test

    found = []
    for one, other in combinations(rules, 2):
        shared = [each for each in one.gains if each in other.gains]
        differences = [one.gains[each] - other.gains[each] for each in shared]
        if differences:
            found.append((one, other, differences))
    tests = [permutation_test(differences) for _, _, differences in found]
    return tuple(
        RulePair(
            first=one.rule,
            second=other.rule,
            difference=fmean(differences),
            low=fmean(differences) - reach(differences),
            high=fmean(differences) + reach(differences),
            repeats=len(differences),
            p_value_adjusted=p,
        )
        for (one, other, differences), p in zip(
            found, holm([test.p_value for test in tests]), strict=True
        )
    )


def reach(values: Sequence[float]) -> float:
    """Half of Student's interval of a mean; infinite of one value."""
    if len(values) < 2:
        return inf
    return student_t(len(values) - 1, _TAIL) * stdev(values) / sqrt(len(values))


def _better(pair: RulePair) -> str:
    better, worse = pair.first, pair.second
    low, high = pair.low, pair.high
    if pair.difference < 0:
        better, worse, low, high = worse, better, -high, -low
    return f"{better} gains {statements.gain(abs(pair.difference), low, high)} more than {worse}"


def _rule_table(rules: Sequence[RuleRuns]) -> Table:
    measured = figures("runs", "gain", "claimed", "kept", "evaluations")
    return Table([*words("rule"), *measured], [_rule_row(each) for each in rules])


def _rule_row(each: RuleRuns) -> tuple[str, ...]:
    gains, runs = list(each.gains.values()), each.runs
    if not runs:
        return (each.rule, "0", *[UNKNOWN] * 4)
    mean = _interval(fmean(gains), reach(gains)) if gains else UNKNOWN
    claimed = [run.claimed for run in runs]
    return (
        each.rule,
        str(len(runs)),
        mean,
        statements.signed(fmean(claimed), _finite(reach(claimed))),
        f"{fmean(run.kept for run in runs):.1f}",
        f"{fmean(run.evaluations for run in runs):.0f}",
    )


def _pair_table(pairs: Sequence[RulePair]) -> Table:
    rows = [
        (
            f"{pair.first} - {pair.second}",
            _interval(pair.difference, (pair.high - pair.low) / 2),
            str(pair.repeats),
            UNKNOWN if pair.p_value_adjusted is None else f"{pair.p_value_adjusted:.3f}",
        )
        for pair in pairs
    ]
    measured = figures("mean, 95 %", "repeats", "p, adjusted")
    return Table([*words("difference in gain"), *measured], rows)


def _interval(value: float, half: float) -> str:
    return statements.gain(value, value - half, value + half)


def _finite(value: float) -> float:
    return value if isfinite(value) else 0.0
