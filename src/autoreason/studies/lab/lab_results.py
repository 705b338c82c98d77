"""What came of the arms of a suite: values by task and repeat, planned tests, added repeats, failure modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil
from statistics import fmean, stdev
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.programs.assignment import assignments_of
from autoreason.report.numbers import listed
from autoreason.stats.results import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import cohens_h, holm
from autoreason.studies.audit.check_judging import invalid_level
from autoreason.studies.audit.check_writing import has_drifted
from autoreason.studies.lab.lab_suite import (
    SHARES,
    AddRule,
    CellFinished,
    CellResult,
    Measure,
    Suite,
    SuiteComparison,
    draft_settings,
    groups,
)

Unit = tuple[str, int]
"""A task and a repeat."""
_SAMPLING = "best_of_n"


class ArmValues:
    """What is known of every arm, by task and repeat."""

    def __init__(self, suite: Suite, finished: Sequence[CellFinished]) -> None:
        self.suite = suite
        self.cells: dict[str, dict[Unit, CellResult]] = {arm: {} for arm in suite.arms}
        """Cells of each arm that have a result."""
        self.failed: dict[str, dict[Unit, CellResult]] = {arm: {} for arm in suite.arms}
        """Those that have none."""
        self.panels: list[CellFinished] = []
        self._drafts: dict[tuple[str, Unit], CellResult] = {}
        for each in finished:
            unit = (each.cell.task, each.cell.repeat)
            if each.cell.kind == "draft":
                self._drafts |= {(arm, unit): each.result for arm in each.cell.arms}
            elif not each.result.finished:
                if each.cell.kind == "arm":
                    self.failed[each.cell.arms[0]][unit] = each.result
            elif each.cell.kind == "panel":
                self.panels.append(each)
            else:
                self.cells[each.cell.arms[0]][unit] = self._without_drafts(each)

    def _without_drafts(self, finished: CellFinished) -> CellResult:
        """The result of an arm without what is recorded as a pass and is a draft."""
        strategy = self.suite.arms[finished.cell.arms[0]].settings.job.name
        if strategy != _SAMPLING:
            return finished.result
        return replace(finished.result, trajectory=(), words_by_pass=())

    def at_limit(self, arm: str) -> dict[Unit, CellResult]:
        """Cells of an arm that ended at their own limit; without their draft they never began."""
        failed = self.failed[arm].items()
        return {unit: each for unit, each in failed if each.status == "budget" and each.run}

    def of(self, arm: str, measure: Measure) -> dict[Unit, float]:
        """A measure of an arm, where it is known; at its limit a tournament had not converged."""
        found: dict[Unit, float] = {}
        cells = self.cells[arm] | (self.at_limit(arm) if measure == "converged" else {})
        for unit, result in cells.items():
            if (value := self._value(arm, unit, result, measure)) is not None:
                found[unit] = float(value)
        return found

    def _value(self, arm: str, unit: Unit, result: CellResult, measure: str) -> float | None:
        if measure in ("calls", "tokens", "cost", "seconds"):
            # Every arm needs its draft, also where others begin from the same one.
            draft = self._drafts.get((arm, unit))
            both = result.spent.joined(draft.spent) if draft else result.spent
            if measure == "seconds":
                return result.seconds + (draft.seconds if draft else 0.0)
            amount: float | Decimal | None = getattr(both, measure)
            return None if amount is None else float(amount)
        strategy = self.suite.arms[arm].settings.job.name
        if measure == "passes":
            return None if strategy == _SAMPLING else len(result.trajectory)
        if measure == "converged":
            return float(result.status == "converged") if strategy == "autoreason" else None
        value: float | None = getattr(result, measure, None)
        return value

    def preferences(self, one: str, other: str, arms: Sequence[str]) -> dict[Unit, float]:
        """How far judges prefer one arm to another, from 1 to -1, over the panels of these arms."""
        found: dict[Unit, float] = {}
        for each, first, second in self._judged(one, other, arms):
            votes = [0.0] if first == second else list(_votes(each, first, second))
            if votes:
                found[each.cell.task, each.cell.repeat] = fmean(votes)
        return found

    def same_texts(self, one: str, other: str, arms: Sequence[str]) -> int:
        """How often both arms delivered the same text, by the panels of these arms."""
        return sum(first == second for _, first, second in self._judged(one, other, arms))

    def _judged(
        self, one: str, other: str, arms: Sequence[str]
    ) -> Iterator[tuple[CellFinished, str, str]]:
        """Panels of these arms, with the names under which the texts of two of them were judged."""
        for each in self.panels:
            names = each.judged_as
            if set(each.cell.arms) == set(arms) and one in names and other in names:
                yield each, names[one], names[other]


def _votes(panel: CellFinished, one: str, other: str) -> Iterator[float]:
    for ballot in panel.result.ballots:
        ranking = ballot.ranking or ()
        if one in ranking and other in ranking:
            yield 1.0 if ranking.index(one) < ranking.index(other) else -1.0


class ArmPair(Struct, frozen=True, kw_only=True):
    """Two arms of a comparison."""

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
    """Corrected for every planned test (Holm)."""
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
        """Whether chance alone would seldom give as much."""
        return self.p_value_adjusted is not None and self.p_value_adjusted <= BEYOND_CHANCE


def compare_arms(suite: Suite, values: ArmValues) -> list[ArmPair]:
    """Every planned test, corrected for all of them."""
    from autoreason.stats.resampling import cluster_bootstrap, permutation_test

    # As strict as the correction of the tests: a reader looks at the widest difference.
    confidence = 1 - BEYOND_CHANCE / max(1, len(suite.pairs))
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
        clusters = _clusters(differences, suite)
        means = [_mean({u: each[u] for u in differences if u in each}, suite) for each in known]
        limited = values.at_limit(first).keys() | values.at_limit(second).keys()
        planned = max(len(known[0]), len(known[1]), _measured_tasks(suite, measure) * repeats)
        found.append(
            ArmPair(
                comparison=comparison.name,
                question=comparison.question,
                measure=measure,
                first=first,
                second=second,
                first_mean=means[0],
                second_mean=means[1],
                difference=cluster_bootstrap(clusters, confidence, bounded=measure in SHARES),
                effect=_effect(comparison, means, list(differences.values())),
                test=permutation_test(list(map(fmean, clusters))),
                p_value_adjusted=None,
                units=len(differences),
                missing=planned - len(differences),
                repeats=repeats,
                same=same,
                at_limit=0 if measure == "converged" else len(limited),
            )
        )
    corrected = holm([each.test.p_value for each in found])
    return [replace(each, p_value_adjusted=p) for each, p in zip(found, corrected, strict=True)]


def _measured_tasks(suite: Suite, measure: Measure) -> int:
    """How many tasks a measure is planned for: a contract is kept only where there is one."""
    tasks = suite.tasks.values()
    if measure != "kept_contract":
        return len(tasks)
    return sum(not each.task.contract.empty for each in tasks)


def _clusters(values: Mapping[Unit, float], suite: Suite) -> list[list[float]]:
    """Values by task, or one by one where there are too few tasks to speak of others."""
    if not suite.many_tasks:
        return [[value] for value in values.values()]
    by_task: dict[str, list[float]] = {}
    for (task, _), value in values.items():
        by_task.setdefault(task, []).append(value)
    return list(by_task.values())


def _mean(values: Mapping[Unit, float], suite: Suite) -> float | None:
    """As a difference is one: each task counts alike, however many of its cells have a result."""
    return fmean(map(fmean, _clusters(values, suite))) if values else None


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


class AddedRepeats(Struct, frozen=True, kw_only=True):
    """Repeats that were added to a comparison at one time."""

    comparison: str
    repeats: int
    width: float | None
    """How wide its widest interval was before; None where it had none yet."""


def repeats_to_add(rule: AddRule, pairs: Iterable[ArmPair]) -> dict[str, int]:
    """Repeats for each comparison with an interval wider than the rule allows, or none, within the most in all.

    The width of an interval shrinks with the root of the number of repeats.
    """
    more: dict[str, int] = {}
    for pair in pairs:
        needed = rule.repeats
        if (width := _width(pair)) is not None:
            needed = min(needed, ceil(pair.repeats * (width / rule.width) ** 2))
        if needed > pair.repeats:
            more[pair.comparison] = max(more.get(pair.comparison, 0), needed - pair.repeats)
    return more


def add_repeats(suite: Suite, more: dict[str, int]) -> Suite:
    """A suite with more repeats of these comparisons."""
    return replace(suite, additions=(*suite.additions, more))


def additions(suite: Suite, finished: Sequence[CellFinished]) -> Iterator[AddedRepeats]:
    """What was added and why, one after another."""
    before = replace(suite, additions=())
    for more in suite.additions:
        known = {cell.part for group in groups(before) for cells in group for cell in cells}
        cells = [each for each in finished if each.cell.part in known]
        widths: dict[str, list[float | None]] = {}
        for pair in compare_arms(before, ArmValues(before, cells)):
            widths.setdefault(pair.comparison, []).append(_width(pair))
        for name, repeats in more.items():
            found = [width for width in widths[name] if width is not None]
            width = max(found) if len(found) == len(widths[name]) else None
            yield AddedRepeats(comparison=name, repeats=repeats, width=width)
        before = add_repeats(before, more)


def _width(pair: ArmPair) -> float | None:
    low, high = pair.difference.low, pair.difference.high
    return None if low is None or high is None else high - low


_FEW_SURVIVALS = 0.2
_Seen = Iterator[tuple[bool, bool | None]]
"""For each cell that can show a mode: whether it has the sign, and whether the paper's condition is met, if known."""


class LabFailure(Struct, frozen=True, kw_only=True):
    """A mode of failure in the cells of one arm."""

    mode: str
    """As the paper's last table calls it."""
    cells: int
    """Cells with its sign."""
    of: int
    """Cells whose record can show it."""
    under_condition: int | None
    """Cells with its sign and the condition that the paper names; None where the record does not say."""


class FailureMode(Struct, frozen=True, kw_only=True):
    """A row of the paper's taxonomy, and how a record shows it."""

    name: str
    condition: str
    """The paper's."""
    sign: str
    unknown: str
    """Why no cell of an arm can show it."""
    not_recorded: str = ""
    """What the record does not say."""
    see: Callable[[Suite, str, ArmValues], _Seen]


def diagnose(suite: Suite, arm: str, values: ArmValues) -> tuple[LabFailure, ...]:
    """Every mode, with the cells of an arm that have its sign."""
    found = []
    for mode in MODES:
        seen = list(mode.see(suite, arm, values))
        met = [condition for sign, condition in seen if sign]
        under = sum(map(bool, met)) if seen and None not in met else None
        found.append(
            LabFailure(mode=mode.name, cells=len(met), of=len(seen), under_condition=under)
        )
    return tuple(found)


def _worse_than_draft(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    preferences = _preferences_to_draft(suite, arm, values)
    for unit, each in values.cells[arm].items():
        if unit in preferences:
            yield preferences[unit] < 0, not each.cast
        elif each.confirmed:
            prefer, judges = each.confirmed
            yield 2 * prefer < judges, not each.cast


def _preferences_to_draft(suite: Suite, arm: str, values: ArmValues) -> Mapping[Unit, float]:
    """How far panels prefer an arm to its own draft, which an arm without a pass delivers that began from the same."""
    return {
        unit: preference
        for arms in suite.judged
        for draft in arms
        if arm in arms and draft != arm and suite.arms[draft].settings.job.name == "single"
        for unit, preference in values.preferences(arm, draft, arms).items()
        if _same_draft(suite, unit[0], arm, draft)
    }


def _same_draft(suite: Suite, task: str, *names: str) -> bool:
    """Whether arms begin from one draft: the task's, or one that they share."""
    arms = [suite.arms[name] for name in names]
    wanted = [draft_settings(arm.settings) for arm in arms]
    shared = all(arm.shared_draft for arm in arms) and wanted.count(wanted[0]) == len(wanted)
    return shared or suite.tasks[task].task.draft is not None


def _drift(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for (task, _), each in values.cells[arm].items():
        words = each.words_by_pass
        if len(words) > 1:
            far = has_drifted(words[-1] / max(1, words[0]), each.kept_wording)
            yield far or _synthesis_dominates(each), suite.tasks[task].task.contract.empty


def _synthesis_dominates(cell: CellResult) -> bool:
    judged = [winner for winner, slots in zip(cell.trajectory, cell.judged, strict=False) if slots]
    few = judged.count("A") < _FEW_SURVIVALS * len(judged)
    return len(judged) > 1 and few and 2 * judged.count("AB") > len(judged)


def _overfitting(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for (task, _), each in values.cells[arm].items():
        private = any(one.private for one in assignments_of(suite.tasks[task].task))
        if each.passed is not None and private:
            yield bool(each.overfitted), None


def _no_convergence(suite: Suite, arm: str, values: ArmValues) -> _Seen:
    if not suite.arms[arm].settings.job.is_tournament:
        return
    for each in (*values.cells[arm].values(), *values.at_limit(arm).values()):
        if each.trajectory:
            broken = bool(each.cast) and invalid_level(each.invalid, each.cast) == "alarm"
            yield each.status in ("capped", "budget"), broken
    failed = values.failed[arm].values()
    yield from ((True, True) for each in failed if each.status == "panel_failed")


def _too_weak(_suite: Suite, arm: str, values: ArmValues) -> _Seen:
    for each in values.cells[arm].values():
        if each.challengers:
            # Too few different texts is the sign itself.
            weak = 2 * each.clones >= each.challengers
            yield weak, weak


MODES = (
    FailureMode(
        name="Self-correction unreliability",
        condition="no external signal",
        sign="independent judges prefer the draft that a text began from",
        unknown="no panel compared texts with the drafts that they began from",
        see=_worse_than_draft,
    ),
    FailureMode(
        name="Drift / synthesis dominance",
        condition="unconstrained scope",
        sign="a text less than half or more than one and a half times as long as its draft, or "
        "with hardly any of its wording; or A survives fewer than one pass in five while AB wins most",
        unknown="no text was revised",
        see=_drift,
    ),
    FailureMode(
        name="Overfitting to visible feedback",
        condition="shallow revision loop",
        sign="a program passes the public tests and fails private ones",
        unknown="no programs with private tests",
        not_recorded="whether a revision loop was too shallow",
        see=_overfitting,
    ),
    FailureMode(
        name="No convergence",
        condition="broken judge pipeline",
        sign="the most passes or the limit of the cell were reached, or a panel failed",
        unknown="not a tournament",
        see=_no_convergence,
    ),
    FailureMode(
        name="Model too weak",
        condition="insufficient generation diversity",
        sign="half of all challengers or more repeat another text",
        unknown="no challengers were written",
        not_recorded="whether a stronger model would have written other texts, or the task admits no others",
        see=_too_weak,
    ),
)
"""In the paper's order."""


_QUALITIES: tuple[Measure, ...] = ("passed", "value", "preferred")


class LabArm(Struct, frozen=True, kw_only=True):
    """What one arm did, over all its cells."""

    arm: str
    cells: int
    finished: int
    at_limit: int
    """Cells that reached their own limit: they did not converge, and no other figure includes them."""
    means: dict[str, float | None]
    """By measure; None where nothing is known."""
    quality: float | None
    """By `quality_by` of the report."""
    no_quality: str = ""
    """Why there is none, where other arms have one."""
    converged_by_pass: tuple[float, ...] = ()
    """Share of its tournaments that had converged after so many passes."""
    words_by_pass: tuple[float, ...] = ()
    """Mean length of the text, the first draft first; a run that ended keeps its last."""
    failures: tuple[LabFailure, ...] = ()
    """The paper's taxonomy, each mode with the cells that have its sign."""


def describe_arm(
    suite: Suite, arm: str, values: ArmValues, quality_by: Measure | Literal[""]
) -> LabArm:
    """What an arm did, over all its cells."""
    cells = values.cells[arm]
    measures = dict.fromkeys(("words", "calls", "cost", *suite.measures))
    measures |= dict.fromkeys(each.measure for each in suite.comparisons if arm in each.arms)
    means: dict[str, float | None] = {}
    for measure in measures:
        known = values.of(arm, measure) if measure != "preferred" else {}
        if measure != "preferred":
            means[measure] = fmean(known.values()) if known else None
    contests = [each for each in cells.values() if each.words_by_pass and each.trajectory]
    at_limit = list(values.at_limit(arm).values())
    quality = _quality(arm, values, quality_by)
    is_contest = suite.arms[arm].settings.job.is_tournament
    return LabArm(
        arm=arm,
        cells=len(cells) + len(values.failed[arm]),
        finished=len(cells),
        at_limit=len(at_limit),
        means=means,
        quality=quality,
        no_quality=_no_quality(suite, arm) if quality_by and quality is None else "",
        converged_by_pass=_converged_by_pass([*contests, *at_limit]) if is_contest else (),
        words_by_pass=_words_by_pass(contests),
        failures=diagnose(suite, arm, values),
    )


def quality_measure(values: ArmValues) -> Measure | Literal[""]:
    """The first of these that anything is known of."""
    for measure in _QUALITIES:
        if any(_quality(arm, values, measure) is not None for arm in values.suite.arms):
            return measure
    return ""


def _quality(arm: str, values: ArmValues, by: Measure | Literal[""]) -> float | None:
    arms = _rivals(values.suite)
    if not by or (by == "preferred" and arm not in arms):
        return None
    if by != "preferred":
        known = list(values.of(arm, by).values())
    else:
        found = [values.preferences(arm, other, arms) for other in arms if other != arm]
        known = [(1 + preference) / 2 for each in found for preference in each.values()]
    return fmean(known) if known else None


def _rivals(suite: Suite) -> tuple[str, ...]:
    """The most arms that were judged together: a share of votes against other rivals says something else."""
    return max(suite.judged, key=len, default=())


def _no_quality(suite: Suite, arm: str) -> str:
    arms = _rivals(suite)
    if arm in arms or not arms:
        return "nothing is known of it"
    if any(arm in each for each in suite.judged):
        return f"it was judged against other rivals than {listed(arms)}, and its share would not compare"
    return "no panel judged it"


def _converged_by_pass(cells: Sequence[CellResult]) -> tuple[float, ...]:
    longest = max((len(each.trajectory) for each in cells), default=0)
    ends = [len(each.trajectory) for each in cells if each.status == "converged"]
    return tuple(sum(end <= n for end in ends) / len(cells) for n in range(1, longest + 1))


def _words_by_pass(cells: Sequence[CellResult]) -> tuple[float, ...]:
    longest = max((len(each.words_by_pass) for each in cells), default=0)
    return tuple(
        fmean(each.words_by_pass[min(n, len(each.words_by_pass) - 1)] for each in cells)
        for n in range(longest)
    )
