"""The report of a suite: a table and a sentence for every question, and how the arms went about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from statistics import fmean
from typing import Literal

from msgspec import Struct

from autoreason.events import BallotCast
from autoreason.exchange import Spent
from autoreason.report.numbers import count
from autoreason.report.report import NOTHING_KNOWN, Report, Section
from autoreason.report.sentences import listed
from autoreason.story import Story
from autoreason.studies.lab.added_repeats import AddedRepeats, additions
from autoreason.studies.lab.arm_pairs import ArmPair, compare_arms
from autoreason.studies.lab.arm_values import ArmValues
from autoreason.studies.lab.lab_failures import LabFailure, diagnose
from autoreason.studies.lab.lab_suite import (
    AddRule,
    CellFinished,
    CellResult,
    Form,
    Measure,
    Suite,
    SuiteMatch,
    suite_of,
)
from autoreason.studies.lab.lab_trees import TrajectoryTree, trajectory_trees
from autoreason.studies.lab.suite_cells import count_cells
from autoreason.studies.panels.panel_report import CountedBallot, PanelReport, report

_HEADINGS = {"strategies": "A comparison of strategies", "rules": "Rules of research"}
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
    """Standings, agreement, position and length, by the arms that were judged together."""
    judged: int
    """Panels that gave valid ballots."""
    left_out: tuple[LeftOutCell, ...]
    spent: Spent
    trees: tuple[TrajectoryTree, ...]
    """Who won each pass, for every task and every arm that is a tournament."""
    clusters: str
    """What was drawn again, and whose signs were flipped: `task`, or `pair`, a task in a repeat by both arms."""
    costs: str
    """What quality is set against: `cost`, or `calls` where nothing costs anything or a price is not known."""
    quality_by: str
    """What quality is: the share of problems `passed`, the mean `value`, or the share of votes by which an arm is
    `preferred` to its rivals in one panel; empty where there is nothing of it."""
    added: dict[str, int] = {}
    """Repeats that were added to a comparison by the rule of the suite."""
    additions: tuple[AddedRepeats, ...] = ()
    """The same one after another, and why."""
    add: AddRule | None = None
    broken: int = 0
    """Results of research that break a guard at the end, and count as no gain."""
    opened: int = 0
    """How often a sealed set has been opened, by these cells and before them."""
    match: SuiteMatch | None = None
    form: Form = "suite"

    origin: dict[str, str] = {}
    """Run, models, seed and start, as a page shows them."""

    @property
    def heading(self) -> str:  # type: ignore[override]
        """The suite, or what it was made for."""
        return _HEADINGS.get(self.form) or f"Suite {self.suite}"

    @property
    def conclusion(self) -> str:
        """Who wins, or how many questions have an answer; nothing before all cells have ended."""
        if self.cells < self.planned:
            return (
                f"unfinished: {self.cells:,} of {count(self.planned, 'cell')} have ended, "
                "and nothing is concluded before all have"
            )
        if self.form == "strategies":
            panel = next(iter(self.panels.values()), None)
            return panel.conclusion if panel else "no winner: there was nothing to judge"
        if self.form == "rules":
            from autoreason.studies.lab.lab_statements import rules_conclusion

            return rules_conclusion(self)
        if not self.pairs:
            cells = count(self.cells, "cell")
            return f"the suite {self.suite} is done, with {cells} and no comparisons to answer"
        shown = [each for each in self.pairs if each.shown]
        if not shown:
            return f"nothing is shown beyond chance in {count(len(self.pairs), 'planned test')}"
        return (
            f"{len(shown)} of {count(len(self.pairs), 'planned test')} "
            f"{'shows' if len(shown) == 1 else 'show'} a difference beyond chance"
        )

    def names(self) -> Sequence[str]:
        """Those of the suite and its arms."""
        return [self.suite, *(each.arm for each in self.arms)]

    def about(self) -> Mapping[str, str]:
        """The run it comes from."""
        return self.origin

    def sections(self) -> list[Section]:
        """Answers first, then tables, then how the arms went about it."""
        from autoreason.studies.lab.lab_tables import sections

        return sections(self)


def lab_report(story: Story, origin: Mapping[str, str] = NOTHING_KNOWN) -> LabReport:
    """The report of a suite's story; `origin` is what else is known of its run."""
    suite = suite_of(story.task)
    assert suite is not None
    finished = sorted(story.of(CellFinished), key=lambda each: each.cell.number)
    values = ArmValues(suite, finished)
    quality_by = _quality_by(values)
    arms = [_arm(suite, arm, values, quality_by) for arm in suite.arms]
    spent = reduce(Spent.joined, (each.result.spent for each in finished), Spent())
    costs = "calls" if spent.cost is None or not spent.cost else "cost"
    return LabReport(
        suite=suite.name,
        tasks=len(suite.tasks),
        repeats=suite.repeats,
        cells=len(finished),
        planned=count_cells(suite),
        # Strategies are all compared with each other, by the panels' own tests.
        pairs=() if suite.form == "strategies" else tuple(compare_arms(suite, values)),
        arms=tuple(arms),
        panels=_panels(suite, values),
        judged=sum(bool(each.result.ballots) for each in values.panels),
        left_out=tuple(
            LeftOutCell(cell=each.cell.part, run=each.result.run, reason=each.result.reason)
            for each in finished
            if not each.result.finished
        ),
        spent=spent,
        trees=tuple(trajectory_trees(suite, finished)),
        clusters="task" if suite.many_tasks else "pair",
        costs=costs,
        quality_by=quality_by,
        added=suite.added,
        additions=tuple(additions(suite, finished)),
        add=suite.add,
        broken=sum(each.result.broken for each in finished),
        opened=max((each.result.opened for each in finished), default=0),
        match=suite.match,
        form=suite.form,
        origin=dict(origin),
    )


def _arm(suite: Suite, arm: str, values: ArmValues, quality_by: Measure | Literal[""]) -> LabArm:
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
    is_contest = suite.arms[arm].settings.strategy == "autoreason"
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


def _quality_by(values: ArmValues) -> Measure | Literal[""]:
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
