"""What the arms of a suite came to on the same tasks: values, planned tests, added repeats, and how they are said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from math import ceil
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from autoreason.report.charts import Chart, ChartRow, ChartVerdict, interval_chart
from autoreason.report.numbers import (
    UNKNOWN,
    count,
    decimal,
    listed,
    money,
    p_statement,
    p_value,
    percent,
    percent_interval,
)
from autoreason.report.table import Column, Figure, Table, words
from autoreason.stats import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import cohens_h, group_values, holm
from autoreason.studies.lab_suite import (
    OF_PROGRAMS,
    SHARES,
    AddRule,
    CellFinished,
    CellResult,
    Measure,
    Suite,
    SuiteComparison,
)
from autoreason.studies.panel_report import DOT_AND_LINE
from autoreason.wording import in_words

TaskRepeat = tuple[str, int]


class ArmValues:
    def __init__(self, suite: Suite, finished: Sequence[CellFinished]) -> None:
        self.suite = suite
        self.cells: dict[str, dict[TaskRepeat, CellResult]] = {arm: {} for arm in suite.arms}
        self.failed: dict[str, dict[TaskRepeat, CellResult]] = {arm: {} for arm in suite.arms}
        self.panels: list[CellFinished] = []
        self._drafts: dict[tuple[str, TaskRepeat], CellResult] = {}
        for each in finished:
            unit = (each.cell.task, each.cell.repeat)
            if each.cell.kind == "draft":
                self._drafts |= {(arm, unit): each.result for arm in each.cell.arms}
            elif each.cell.kind == "panel":
                self.panels += [each] if each.result.finished else []
            else:
                arm, result = each.cell.arms[0], each.result
                if suite.arms[arm].settings.job.is_sampling:
                    # What is recorded as a pass is a draft.
                    result = replace(result, trajectory=(), words_by_pass=())
                (self.cells if result.finished else self.failed)[arm][unit] = result

    def at_limit(self, arm: str) -> dict[TaskRepeat, CellResult]:
        """Cells of an arm that ended at their own limit; without their draft they never began."""
        failed = self.failed[arm].items()
        return {unit: each for unit, each in failed if each.status == "budget" and each.run}

    def of(self, arm: str, measure: Measure) -> dict[TaskRepeat, float]:
        """A measure of an arm, where it is known; at its limit a tournament had not converged."""
        cells = self.cells[arm] | (self.at_limit(arm) if measure == "converged" else {})
        values = {unit: self._value(arm, unit, each, measure) for unit, each in cells.items()}
        return {unit: float(value) for unit, value in values.items() if value is not None}

    def _value(self, arm: str, unit: TaskRepeat, result: CellResult, measure: str) -> float | None:
        # Every arm needs its draft, also where others begin from the same one.
        draft = self._drafts.get((arm, unit))
        if measure == "seconds":
            return result.seconds + (draft.seconds if draft else 0.0)
        if measure in ("calls", "tokens", "cost"):
            both = result.spent.joined(draft.spent) if draft else result.spent
            amount: float | Decimal | None = getattr(both, measure)
            return None if amount is None else float(amount)
        if measure in OF_PROGRAMS:
            return getattr(result.solved, measure, None)
        job = self.suite.arms[arm].settings.job
        if measure == "passes":
            return None if job.is_sampling else len(result.trajectory)
        if measure == "converged":
            return float(result.status == "converged") if job.is_tournament else None
        value: float | None = getattr(result, measure, None)
        return value

    def preferences(self, one: str, other: str, arms: Sequence[str]) -> dict[TaskRepeat, float]:
        """How far judges prefer one arm to another, from 1 to -1, over the panels of these arms."""
        found: dict[TaskRepeat, float] = {}
        for each, first, second in self._judged(one, other, arms):
            rankings = [ballot.ranking or () for ballot in each.result.ballots]
            votes = [
                1.0 if ranking.index(first) < ranking.index(second) else -1.0
                for ranking in rankings
                if first in ranking and second in ranking
            ]
            if votes := [0.0] if first == second else votes:
                found[each.cell.task, each.cell.repeat] = fmean(votes)
        return found

    def same_texts(self, one: str, other: str, arms: Sequence[str]) -> int:
        return sum(first == second for _, first, second in self._judged(one, other, arms))

    def _judged(
        self, one: str, other: str, arms: Sequence[str]
    ) -> Iterator[tuple[CellFinished, str, str]]:
        """Panels of these arms, with the names under which the texts of two of them were judged."""
        for each in self.panels:
            names = each.judged_as
            if set(each.cell.arms) == set(arms) and one in names and other in names:
                yield each, names[one], names[other]


class ArmPair(Struct, frozen=True, kw_only=True):
    comparison: str
    question: str
    measure: Measure
    first: str
    second: str
    first_mean: float | None
    second_mean: float | None
    """Over the same pairs as the difference; None for `preferred`, which only a pair has."""
    difference: Estimate
    """First less second; intervals are simultaneous for all that was planned. Preferences run from -1 to 1."""
    effect: float | None
    """Cohen's h of shares, else the difference in standard deviations of differences."""
    test: Test
    p_value_adjusted: float | None
    wins: int
    """Tasks on which the first has more, or where they are few pairs."""
    losses: int
    detectable: Estimate | None = None
    """Of shares, the smallest difference that so many tasks or pairs would show four times out of five."""
    units: int
    """Tasks times repeats that both arms have a result of."""
    missing: int
    """Those that one of them, or their panel, has none of."""
    repeats: int
    same: int = 0
    """Units in which both delivered the same text, which judges were not shown and which counts half for each."""
    at_limit: int = 0
    """Missing units in which an arm reached the limit of a cell."""

    @property
    def shown(self) -> bool:
        return self.p_value_adjusted is not None and self.p_value_adjusted <= BEYOND_CHANCE

    @property
    def ahead(self) -> str:
        by = self.difference.value
        return (self.first if by > 0 else self.second) if by else ""


def compare_arms(suite: Suite, values: ArmValues) -> list[ArmPair]:
    from autoreason.stats.resampling import cluster_bootstrap, permutation_test

    # As strict as the correction of the tests: a reader looks at the widest difference.
    alpha = BEYOND_CHANCE / max(1, len(suite.pairs))
    found = []
    for comparison, second in suite.pairs:
        first, measure = comparison.arms[0], comparison.measure
        known = [values.of(arm, measure) for arm in (first, second)]
        same = 0
        if measure == "preferred":
            differences = values.preferences(first, second, comparison.arms)
            same = values.same_texts(first, second, comparison.arms)
        else:
            both = known[0].keys() & known[1].keys()
            differences = {u: known[0][u] - known[1][u] for u in sorted(both)}
        repeats = suite.repeats_of(comparison)
        clusters = cluster(differences, suite)
        means = [_mean({u: each[u] for u in differences if u in each}, suite) for each in known]
        limited = values.at_limit(first).keys() | values.at_limit(second).keys()
        # A contract is kept only where there is one.
        tasks = [each for each in suite.tasks.values() if each.task.limited]
        measured = len(tasks if measure == "kept_contract" else suite.tasks)
        if measure in ("recovered", "overfitted"):
            measured = 0
        planned = max(*map(len, known), measured * repeats)
        by = list(map(fmean, clusters))
        found.append(
            ArmPair(
                comparison=comparison.name,
                question=comparison.question,
                measure=measure,
                first=first,
                second=second,
                first_mean=means[0],
                second_mean=means[1],
                difference=cluster_bootstrap(clusters, 1 - alpha, bounded=measure in SHARES),
                effect=_effect(comparison, means, list(differences.values())),
                test=permutation_test(by),
                p_value_adjusted=None,
                wins=sum(each > 0 for each in by),
                losses=sum(each < 0 for each in by),
                detectable=_detectable(by, alpha, "task" if suite.many_tasks else "pair")
                if measure in SHARES and measure != "preferred"
                else None,
                units=len(differences),
                missing=planned - len(differences),
                repeats=repeats,
                same=same,
                at_limit=0 if measure == "converged" else len(limited),
            )
        )
    corrected = holm([each.test.p_value for each in found])
    return [replace(each, p_value_adjusted=p) for each, p in zip(found, corrected, strict=True)]


def compare_recovery(suite: Suite, values: ArmValues) -> list[ArmPair]:
    """What was planned of problems passed, where the first attempt of both arms failed; corrected by itself."""
    planned = [each for each in suite.comparisons if each.measure == "passed"]
    recovered = tuple(replace(each, measure="recovered") for each in planned)
    return compare_arms(replace(suite, comparisons=recovered), values)


def _detectable(by: Sequence[float], alpha: float, noun: str) -> Estimate:
    """At the level that the strictest of all tests has to pass, for arms that differ as these do."""
    if not (n := len(by)) or 2.0 ** (1 - n) > alpha:
        few = f"{count(n, noun)} {'is' if n == 1 else 'are'} too few for any difference to show"
        return Estimate(None, n=n, reason=few)
    from autoreason.stats.power import detectable_difference, detectable_gain

    whole = all(each in (-1, 0, 1) for each in by)
    spread = fmean(map(abs, by)) if whole else stdev(by)
    if spread:
        found = (detectable_gain if whole else detectable_difference)(n, spread, alpha=alpha)
        if found.value is not None and found.value <= 1:
            return found
    # Arms that hardly differ say little about what a difference would take.
    return detectable_gain(n, alpha=alpha)


def cluster(values: Mapping[TaskRepeat, float], suite: Suite) -> list[list[float]]:
    if not suite.many_tasks:
        return [[value] for value in values.values()]
    return group_values((task, value) for (task, _), value in values.items())


def _mean(values: Mapping[TaskRepeat, float], suite: Suite) -> float | None:
    """As a difference is one: each task counts alike, however many of its cells have a result."""
    return fmean(map(fmean, cluster(values, suite))) if values else None


def _effect(
    comparison: SuiteComparison, means: Sequence[float | None], differences: Sequence[float]
) -> float | None:
    if not differences:
        return None
    if comparison.measure == "preferred":
        return cohens_h((1 + fmean(differences)) / 2, 0.5)
    first, second = means
    if comparison.measure in SHARES and first is not None and second is not None:
        return cohens_h(first, second)
    spread = stdev(differences) if len(differences) > 1 else 0.0
    return fmean(differences) / spread if spread else None


def repeats_to_add(rule: AddRule, pairs: Iterable[ArmPair]) -> dict[str, int]:
    """Repeats for each comparison with an interval wider than the rule allows, or none, within the most in all.

    The width of an interval shrinks with the root of the number of repeats.
    """
    more: dict[str, int] = {}
    for pair in pairs:
        needed = rule.repeats
        low, high = pair.difference.low, pair.difference.high
        if low is not None and high is not None:
            needed = min(needed, ceil(pair.repeats * ((high - low) / rule.width) ** 2))
        if needed > pair.repeats:
            more[pair.comparison] = max(more.get(pair.comparison, 0), needed - pair.repeats)
    return more


def add_repeats(suite: Suite, more: dict[str, int]) -> Suite:
    return replace(suite, added=dict(Counter(suite.added) + Counter(more)))


def answer(pair: ArmPair, clusters: str) -> str:
    if pair.difference.value is None:
        return f"no answer: {pair.first} and {pair.second} have no result in common"
    what = describe_finding(pair)
    rests = count(pair.difference.n, clusters)
    if pair.at_limit:
        rests += f"; without {count(pair.at_limit, 'pair')} in which one reached its limit"
    if pair.same:
        where = f"in {count(pair.same, 'pair')}" if pair.same < pair.units else "in all of them"
        rests += f"; {where} both texts are the same, which counts half for each"
    if not pair.difference.value or _is_even(pair):
        return f"not shown: {what} ({rests})"
    p = p_statement(pair.p_value_adjusted)
    if not pair.shown:
        return f"not shown: {what}, but that could be chance ({p}, {rests})"
    return f"{what}, which is more than chance gives ({p}, {rests})"


def turned(pair: ArmPair) -> ArmPair:
    if pair.ahead in ("", pair.first):
        return pair
    by = Estimate(-(pair.difference.value or 0.0), n=pair.difference.n)
    return replace(pair, first=pair.second, second=pair.first, difference=by)


def describe_finding(pair: ArmPair) -> str:
    value = pair.difference.value or 0.0
    first, second = pair.first, pair.second
    if pair.measure == "preferred":
        ahead, behind = (first, second) if value >= 0 else (second, first)
        if not value or _is_even(pair):
            return f"judges prefer neither {first} nor {second}"
        share = (1 + abs(value)) / 2
        shown = f"{share * 100:.3g} %" if percent(share) == _HALF else percent(share)
        return f"judges prefer {ahead} to {behind} in {shown} of votes"
    if not value:
        return f"{first} and {second} are equal by the measure {in_words(pair.measure)}"
    more = "more" if value > 0 else "fewer" if pair.measure in _COUNTED else "less"
    size = in_units(pair.measure, abs(value))
    return f"{first} {_VERBS[pair.measure].format(size=size, more=more, second=second)}"


_HALF = percent(0.5)


def _is_even(pair: ArmPair) -> bool:
    """Whether judges prefer neither: what is not shown and rounds to half of all votes is not a preference."""
    share = (1 + abs(pair.difference.value or 0.0)) / 2
    return pair.measure == "preferred" and not pair.shown and percent(share) == _HALF


_COUNTED = {"words": "word", "calls": "call", "tokens": "token", "passes": "round"}
_COUNTED |= {"attempts": "program", "kept": "change", "evaluations": "evaluation"}
_OFTEN = "{more} often than {second}, by {size}"
_MORE = "{size} {more} than {second} on average"
_VERBS = {
    "words": f"writes {_MORE}",
    "calls": f"makes {_MORE}",
    "tokens": f"takes {_MORE}",
    "cost": f"costs {_MORE}",
    "seconds": f"takes {_MORE}",
    "passes": f"takes {_MORE}",
    "converged": f"settles {_OFTEN}",
    "kept_contract": f"keeps its limits {_OFTEN}",
    "passed": f"passes the tests of a problem {_OFTEN}",
    "passed_public": f"passes all public tests {_OFTEN}",
    "passed_private": f"passes all private tests {_OFTEN}",
    "overfitted": f"passes public tests alone {_OFTEN}",
    "recovered": f"passes after a failed first attempt {_OFTEN}",
    "attempts": f"writes {_MORE}",
    "value": f"gains {_MORE}",
    "claimed": f"claims {_MORE}",
    "kept": f"keeps {_MORE}",
    "evaluations": f"takes {_MORE}",
}


def number(measure: str, value: float) -> str:
    if measure in SHARES:
        return percent(value)
    if measure == "cost":
        return "-" * (value < 0) + money(Decimal(str(round(abs(value), 6))))
    return decimal(value) if abs(value) >= 10 else f"{float(f'{value:.3g}'):g}"


def in_units(measure: str, value: float) -> str:
    if measure in SHARES:
        return f"{value * 100:.1f} points"
    size = number(measure, value)
    if noun := _COUNTED.get(measure):
        return f"{size} {noun}{'' if size.strip('-') == '1' else 's'}"
    return f"{size} s" if measure == "seconds" else size


def difference(measure: str, found: Estimate) -> tuple[str, ...]:
    if found.value is None:
        return (UNKNOWN,)
    shown = in_units(measure, found.value)
    if found.low is None or found.high is None:
        return (shown,)
    low, high = (in_units(measure, end).partition(" ")[0] for end in (found.low, found.high))
    return (shown, f"({low} to {high})")


def in_points(size: Estimate | None) -> str:
    return f"{size.value * 100:.0f} points" if size and size.value is not None else UNKNOWN


_MORE_IS_BETTER = ("preferred", "converged", "kept_contract", "passed", "recovered", "value")


def pair_charts(pairs: Sequence[ArmPair]) -> Iterator[Chart]:
    """The planned tests, those of one question in one chart, each with its interval."""
    together: dict[tuple[str, Measure], list[ArmPair]] = {}
    for each in pairs:
        together.setdefault((each.question, each.measure), []).append(each)
    questions = Counter(question for question, _ in together)
    for (question, measure), found in together.items():
        name = in_words(measure)
        title = question if questions[question] == 1 else f"{question} ({name})"
        preferred = measure == "preferred"
        first, *others = {each.first for each in found}
        first = "the first" if others else first
        less = "fewer" if measure in _COUNTED else "less"
        sides = (f"{less} {name}", f"more {name}")
        if measure in _MORE_IS_BETTER:
            sides = ("the other is ahead", f"{first} is ahead")
        note = f"{DOT_AND_LINE} for all planned tests)."
        # Where the line says otherwise than the test.
        zero = [(each.difference.low or 0) > 0 or (each.difference.high or 0) < 0 for each in found]
        if unlike := [e.second for e, out in zip(found, zero, strict=True) if e.shown != out]:
            note += (
                f" Against {listed(unlike)} test and line say different things; the test decides."
            )
        yield interval_chart(
            title,
            [_interval(each) for each in found],
            sides=("judges prefer the other", f"judges prefer {first}") if preferred else sides,
            middle=0.5 if preferred else 0.0,
            scale=(0.0, 1.0) if preferred else (-1.0, 1.0) if measure in SHARES else None,
            show=percent if preferred else partial(in_units, measure),
            note=note,
        )


def _preferred_share(difference: Estimate) -> Estimate:
    return difference.changed(lambda by: (1 + by) / 2)


def size_of(pair: ArmPair) -> str:
    """`69 % (52 to 86)` of votes, `3 words (1 to 5)`."""
    if pair.measure == "preferred":
        return percent_interval(_preferred_share(pair.difference))
    return " ".join(difference(pair.measure, pair.difference))


def _interval(pair: ArmPair) -> ChartRow:
    found, preferred = pair.difference, pair.measure == "preferred"
    by = found.value or 0.0
    verdict: ChartVerdict = ""
    if pair.shown and by:
        better = pair.measure in _MORE_IS_BETTER
        verdict = "shown" if not better else "good" if by > 0 else "bad"
    found = _preferred_share(found) if preferred else found
    said = f"no interval, {found.reason}" if found.reason else "not shown"
    if verdict:
        said = f"judges prefer {pair.ahead}" if preferred else "more" if by > 0 else "less"
    return ChartRow(
        f"{pair.first} against {pair.second}", found, f"{size_of(pair)}: {said}", verdict
    )


def comparisons_table(pairs: Sequence[ArmPair], clusters: str) -> Table:
    powered = any(each.detectable for each in pairs)
    rows = []
    for each in pairs:
        could = Figure(each.detectable and each.detectable.value, in_points(each.detectable))
        rows.append(
            (
                *(each.comparison, each.first, each.second, in_words(each.measure)),
                figure(each.measure, each.first_mean),
                figure(each.measure, each.second_mean),
                Figure(each.difference, difference(each.measure, each.difference)),
                *(each.wins, each.losses),
                Figure(each.effect, UNKNOWN if each.effect is None else f"{each.effect:+z.2f}"),
                *(Figure(p, p_value(p)) for p in (each.test.p_value, each.p_value_adjusted)),
                *([could] if powered else []),
                *(each.units, each.missing),
            )
        )
    columns = [
        *words("comparison", "first", "second", "measure"),
        *(Column("mean of first", spare=5), Column("mean of second", spare=5)),
        Column("difference"),
        *(Column("more", spare=4), Column("less", spare=4), Column("effect", spare=2)),
        *(Column("p alone", spare=1), Column("corrected p")),
        *([Column("could show", spare=3)] if powered else []),
        *(Column(f"{clusters}s" if clusters == "pair" else "pairs"), Column("missing", spare=3)),
    ]
    return Table(columns, rows)


def figure(measure: str, value: float | None) -> Figure:
    return Figure(value, UNKNOWN if value is None else number(measure, value))
