"""The report of a suite: a table and a sentence for every question, and how the arms went about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from math import ceil
from statistics import fmean, stdev

from msgspec import Struct
from msgspec.structs import replace

from autoreason.events import BallotCast
from autoreason.exchange import Spent
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.stats.results import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import cohens_h, holm
from autoreason.story import Story
from autoreason.studies.lab.arm_values import ArmValues, Unit
from autoreason.studies.lab.lab_failures import LabFailure, diagnose
from autoreason.studies.lab.lab_suite import (
    SHARES,
    AddRule,
    CellFinished,
    CellResult,
    Measure,
    Suite,
    SuiteComparison,
    count_cells,
    suite_of,
)
from autoreason.studies.lab.lab_trees import TrajectoryTree, trajectory_trees
from autoreason.studies.panels.panel_report import CountedBallot, PanelReport, report


class ArmPair(Struct, frozen=True, kw_only=True):
    """Two arms of a comparison."""

    comparison: str
    question: str
    measure: Measure
    first: str
    second: str
    first_mean: float | None
    second_mean: float | None
    """None for `preferred`, which only a pair has."""
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

    @property
    def shown(self) -> bool:
        """Whether chance alone would seldom give as much."""
        return self.p_value_adjusted is not None and self.p_value_adjusted <= BEYOND_CHANCE


class LabArm(Struct, frozen=True, kw_only=True):
    """What one arm did, over all its cells."""

    arm: str
    cells: int
    finished: int
    means: dict[str, float | None]
    """By measure; None where nothing is known."""
    quality: float | None
    """Share of rivals beaten in panels, of problems passed, or the mean gain."""
    frontier: bool = False
    """No arm is better for as much, or as good for less."""
    converged_by_pass: tuple[float, ...] = ()
    """Share of its tournaments that had converged after so many passes."""
    words_by_pass: tuple[float, ...] = ()
    """Mean length of the text, the first draft first; a run that ended keeps its last."""
    failures: tuple[LabFailure, ...] = ()
    """The paper's taxonomy, each mode with the cells that have its sign."""


class LeftOutCell(Struct, frozen=True, kw_only=True):
    """A cell without a result."""

    cell: str
    run: str
    reason: str


class LabReport(Report, Struct, frozen=True, kw_only=True):
    """A suite in numbers."""

    suite: str
    tasks: int
    repeats: int
    cells: int
    planned: int
    """Cells that the suite has; fewer have ended where it is not over."""
    pairs: tuple[ArmPair, ...]
    arms: tuple[LabArm, ...]
    panels: dict[str, PanelReport]
    """Agreement, position and length, by the arms that were judged together."""
    left_out: tuple[LeftOutCell, ...]
    spent: Spent
    trees: tuple[TrajectoryTree, ...]
    """Who won each pass, for every task and every arm that is a tournament."""
    clusters: str
    """What was drawn again, and whose signs were flipped: `task`, or `pair`, a task in a repeat by both arms."""
    costs: str
    """What quality is set against: `cost`, or `calls` where nothing costs anything or a price is not known."""
    added: dict[str, int] = {}
    """Repeats that were added to a comparison by the rule of the suite."""
    added_without_interval: tuple[str, ...] = ()
    """Comparisons that had no interval before repeats were added."""
    add: AddRule | None = None

    heading = "A suite"

    @property
    def conclusion(self) -> str:
        """How many questions have an answer; none before all cells have ended."""
        if self.cells < self.planned:
            return (
                f"unfinished: {self.cells:,} of {count(self.planned, 'cell')} have ended, "
                "and nothing is concluded before all have"
            )
        if not self.pairs:
            return f"{count(self.cells, 'cell')} of {self.suite}; it asks no question"
        shown = [each for each in self.pairs if each.shown]
        if not shown:
            return f"nothing is shown beyond chance in {count(len(self.pairs), 'planned test')}"
        return (
            f"{len(shown)} of {count(len(self.pairs), 'planned test')} "
            f"{'shows' if len(shown) == 1 else 'show'} a difference beyond chance"
        )

    def names(self) -> Sequence[str]:
        """That of the suite."""
        return [self.suite]

    def sections(self) -> list[Section]:
        """Answers first, then tables, then how the arms went about it."""
        from autoreason.studies.lab.lab_tables import sections

        return sections(self)


def lab_report(story: Story) -> LabReport:
    """The report of a suite's story."""
    suite = suite_of(story.task)
    assert suite is not None
    finished = sorted(story.of(CellFinished), key=lambda each: each.cell.number)
    values = ArmValues(suite, finished)
    arms = [_arm(suite, arm, values) for arm in suite.arms]
    spent = reduce(Spent.joined, (each.result.spent for each in finished), Spent())
    costs = "calls" if spent.cost is None or not spent.cost else "cost"
    return LabReport(
        suite=suite.name,
        tasks=len(suite.tasks),
        repeats=suite.repeats,
        cells=len(finished),
        planned=count_cells(suite),
        pairs=tuple(_pairs(suite, values)),
        arms=tuple(_with_frontier(arms, costs)),
        panels=_panels(suite, values),
        left_out=tuple(
            LeftOutCell(cell=each.cell.part, run=each.result.run, reason=each.result.reason)
            for each in finished
            if not each.result.finished
        ),
        spent=spent,
        trees=tuple(trajectory_trees(suite, finished)),
        clusters="task" if suite.many_tasks else "pair",
        costs=costs,
        added=suite.added,
        added_without_interval=_added_without_interval(suite, finished),
        add=suite.add,
    )


def compare_arms(suite: Suite, finished: Sequence[CellFinished]) -> list[ArmPair]:
    """Every planned test of a suite."""
    return _pairs(suite, ArmValues(suite, finished))


def _added_without_interval(suite: Suite, finished: Sequence[CellFinished]) -> tuple[str, ...]:
    if not suite.added:
        return ()
    first = [each for each in finished if each.cell.repeat <= suite.repeats]
    pairs = compare_arms(replace(suite, added={}), first)
    without = {each.comparison for each in pairs if each.difference.low is None}
    return tuple(name for name in suite.added if name in without)


def _pairs(suite: Suite, values: ArmValues) -> list[ArmPair]:
    """Every planned test, corrected for all of them."""
    from autoreason.stats.bootstrap import cluster_bootstrap
    from autoreason.stats.paired import permutation_test

    # As strict as the correction of the tests: a reader looks at the widest difference.
    confidence = 1 - BEYOND_CHANCE / max(1, len(suite.pairs))
    found = []
    for comparison, second in suite.pairs:
        first = comparison.arms[0]
        known = [values.of(arm, comparison.measure) for arm in (first, second)]
        if comparison.measure == "preferred":
            differences = values.preferences(first, second, comparison.arms)
        else:
            both = known[0].keys() & known[1].keys()
            differences = {u: known[0][u] - known[1][u] for u in sorted(both)}
        repeats = suite.repeats_of(comparison)
        clusters = _clusters(differences, together=suite.many_tasks)
        bounded = comparison.measure in SHARES
        interval = cluster_bootstrap(clusters, confidence, bounded=bounded)
        test = permutation_test(list(map(fmean, clusters)))
        means = [fmean(each.values()) if each else None for each in known]
        planned = max(len(known[0]), len(known[1]), len(suite.tasks) * repeats)
        found.append((comparison, second, means, interval, test, differences, planned, repeats))
    corrected = holm([each[4].p_value for each in found])
    return [
        ArmPair(
            comparison=comparison.name,
            question=comparison.question,
            measure=comparison.measure,
            first=comparison.arms[0],
            second=second,
            first_mean=means[0],
            second_mean=means[1],
            difference=interval,
            effect=_effect(comparison, means, list(differences.values())),
            test=test,
            p_value_adjusted=p,
            units=len(differences),
            missing=planned - len(differences),
            repeats=repeats,
        )
        for (comparison, second, means, interval, test, differences, planned, repeats), p in zip(
            found, corrected, strict=True
        )
    ]


def _clusters(differences: Mapping[Unit, float], *, together: bool) -> list[list[float]]:
    """Differences by task, or one by one where there are too few tasks to speak of others."""
    if not together:
        return [[value] for value in differences.values()]
    by_task: dict[str, list[float]] = {}
    for (task, _), value in differences.items():
        by_task.setdefault(task, []).append(value)
    return list(by_task.values())


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


def _arm(suite: Suite, arm: str, values: ArmValues) -> LabArm:
    cells = values.cells[arm]
    measures = dict.fromkeys(("words", "calls", "cost", *suite.measures))
    measures |= dict.fromkeys(each.measure for each in suite.comparisons if arm in each.arms)
    means: dict[str, float | None] = {}
    for measure in measures:
        known = values.of(arm, measure) if measure != "preferred" else {}
        if measure != "preferred":
            means[measure] = fmean(known.values()) if known else None
    contests = [each for each in cells.values() if each.words_by_pass and each.trajectory]
    is_contest = suite.arms[arm].settings.strategy == "autoreason"
    return LabArm(
        arm=arm,
        cells=len(cells) + len(values.failed[arm]),
        finished=len(cells),
        means=means,
        quality=_quality(suite, arm, values),
        converged_by_pass=_converged_by_pass(contests) if is_contest else (),
        words_by_pass=_words_by_pass(contests),
        failures=diagnose(suite, arm, values),
    )


def _quality(suite: Suite, arm: str, values: ArmValues) -> float | None:
    for measure in ("passed", "value"):
        if known := values.of(arm, measure):
            return fmean(known.values())
    beaten = [
        (1 + preference) / 2
        for arms in suite.judged[:1]
        for other in arms
        if arm in arms and other != arm
        for preference in values.preferences(arm, other, arms).values()
    ]
    return fmean(beaten) if beaten else None


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


def _with_frontier(arms: Sequence[LabArm], costs: str) -> Iterator[LabArm]:
    known = [
        (price, each.quality)
        for each in arms
        if (price := each.means.get(costs)) is not None and each.quality is not None
    ]
    # The best for each price, if none is as good for less.
    best = {
        (price, quality)
        for price, quality in known
        if not any(
            other >= quality and paid <= price and (paid, other) != (price, quality)
            for paid, other in known
        )
    }
    for each in arms:
        yield replace(each, frontier=(each.means.get(costs), each.quality) in best)


def _panels(suite: Suite, values: ArmValues) -> dict[str, PanelReport]:
    """Who judged how, by the arms that were judged together."""
    found = {}
    for arms in suite.judged:
        judged, cast, lengths = [], [], {}
        for at, each in enumerate(values.panels):
            if set(each.cell.arms) != set(arms) or not each.result.ballots:
                continue
            groups: dict[str, tuple[str, ...]] = {}
            for arm, entry in each.judged_as.items():
                groups[entry] = (*groups.get(entry, ()), arm)
            unit = (each.cell.task, each.cell.repeat)
            lengths[at] = {arm: values.cells[arm][unit].words or 0 for arm in each.judged_as}
            for seat, ballot in enumerate(each.result.ballots):
                if ballot.ranking:
                    ranking = tuple(groups[name] for name in ballot.ranking)
                    judged.append(CountedBallot(ranking=ranking, cluster=at))
                cast.append(
                    BallotCast(
                        stage=each.cell.part,
                        seat=seat,
                        model="",
                        order=ballot.order,
                        labels=(),
                        ranking=ballot.ranking,
                    )
                )
        seen = {arm for each in lengths.values() for arm in each}
        if judged and len(seen) > 1:
            words = {
                arm: round(fmean(e[arm] for e in lengths.values() if arm in e)) for arm in seen
            }
            pairwise = bool(suite.panel and suite.panel.pairwise)
            found[" / ".join(arms)] = report(
                judged,
                {arm: words[arm] for arm in arms if arm in words},
                # In pairs every text stood in both places.
                [] if pairwise else cast,
                clustered=True,
                pairwise=pairwise,
                lengths=lengths,
            )
    return found


def repeats_to_add(rule: AddRule, pairs: Iterable[ArmPair]) -> dict[str, int]:
    """Repeats for each comparison with an interval wider than the rule allows, or none, within the most in all.

    The width of an interval shrinks with the root of the number of repeats.
    """
    more: dict[str, int] = {}
    for pair in pairs:
        low, high = pair.difference.low, pair.difference.high
        width = None if low is None or high is None else high - low
        needed = rule.repeats
        if width is not None:
            needed = min(needed, ceil(pair.repeats * (width / rule.width) ** 2))
        if needed > pair.repeats:
            more[pair.comparison] = max(more.get(pair.comparison, 0), needed - pair.repeats)
    return more
