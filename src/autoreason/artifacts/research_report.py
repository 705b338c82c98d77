"""The report of a research run: noise, search, what was kept, and the one number that is claimed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from autoreason.artifacts import research_statements as statements
from autoreason.artifacts.end_test import EndResult
from autoreason.artifacts.keep_rule import mean_of
from autoreason.artifacts.research_history import ResearchHistory
from autoreason.artifacts.research_task import Better
from autoreason.artifacts.search_plot import end_means, interval_reach, plot_search, show_mean
from autoreason.artifacts.trial_events import (
    Effect,
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    ProposalSource,
    TrialDecided,
    TrialStatus,
)
from autoreason.events import FINISHED
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table, figures, words
from autoreason.story import Story
from autoreason.tournament.statements import ENDINGS

_NORMAL = 1.96
_REASONS = 4
"""Reasons for refusals that are shown, the most frequent ones."""


class TrialRow(Struct, frozen=True, kw_only=True):
    """One proposal and what became of it."""

    number: int
    incumbent: int
    """The trial it was measured against; 0 is the start."""
    by: ProposalSource
    status: TrialStatus
    reason: str
    hypothesis: str
    expected: str
    effect: Effect | None
    """As it was measured; of a keep it is flattered."""
    shrunken: float | None
    """What a keep in the result is worth, where all are scaled to the end test; None of others, and without one.

    On fresh looks it is the gain without luck; sealed items may differ from the loop's in more than that.
    """
    mean: float | None
    """Of its looks, as the evaluator returned them."""
    evaluations: int
    shared: int
    """Runs of eight words that it shares with items."""


class ResearchReport(Report, Struct, frozen=True, kw_only=True):
    """A research run in numbers; gains are positive where the result is better."""

    metric: str
    better: Better
    evaluations: int
    """Looks that were taken for what is decided."""
    noise: NoiseMeasured | None
    trials: tuple[TrialRow, ...]
    statuses: dict[str, int]
    """Proposals by what became of them."""
    idle: int | None
    """At least so many keeps in the result do nothing or harm; None without an end test on fresh looks."""
    loop_gain: float | None
    """What the loop itself saw of the result: biased by selection."""
    playoff: FinalistsMeasured | None
    end: EndTested | None
    gain: EndResult | None
    """The end test: the only number that is claimed."""
    claimed: bool
    """Whether it is."""
    result: int
    """The trial whose artifact is the result; 0 is the start."""
    claim: str
    test: str
    """What the end test shows; empty where none was made."""

    heading = "Research"

    @property
    def conclusion(self) -> str:
        """What is claimed, and what is not."""
        return self.claim

    @property
    def kept(self) -> tuple[TrialRow, ...]:
        """The trials that were kept."""
        return tuple(trial for trial in self.trials if trial.status == "kept")

    def sections(self) -> list[Section]:
        """Noise, search, playoff, test and kept changes; on a page the plot and every trial."""
        sections = [Section(sentences=self._summary())]
        if self.kept:
            sections.append(
                Section(
                    "Kept changes",
                    tables=[_kept_table(self.kept, sealed=bool(self.end and self.end.sealed))],
                )
            )
        if self.trials and self.noise:
            plots = [plot_search(self)]
            table = _table(self.trials, self.noise.spread)
            means = end_means(self.end).items() if self.end else ()
            tested = [(f"End test, {name}", statements.figure(mean)) for name, mean in means]
            sections.append(
                Section("Every trial", tested, tables=[table], plots=plots, detail=True)
            )
        return sections

    def _summary(self) -> list[tuple[str, str]]:
        rows = []
        if self.noise:
            rows.append(("Noise", statements.noise_floor(self.noise, self.metric)))
        rows.append(("Search", self._search()))
        rows += [("Refused", each) for each in self._reasons("refused")]
        rows += [("Failed", each) for each in self._reasons("failed")]
        rows += [("Guarded", each) for each in self._reasons("guarded")]
        if self.playoff:
            rows.append(("Playoff", statements.finalists(self.playoff)))
        if self.test:
            rows.append(("End test", self.test))
        rows += [("Attention", each) for each in self._flags()]
        return rows

    def _search(self) -> str:
        parts = ", ".join(f"{number} {status}" for status, number in self.statuses.items())
        tried = count(len(self.trials), "proposal")
        return f"{tried}{f': {parts}' if parts else ''}; {count(self.evaluations, 'evaluation')}"

    def _reasons(self, status: TrialStatus) -> list[str]:
        reasons = Counter(
            statements.reason_beside(status, trial.reason)
            for trial in self.trials
            if trial.status == status
        )
        shown = [f"{number} × {reason}" for reason, number in reasons.most_common(_REASONS)]
        left = len(reasons) - len(shown)
        return [*shown, f"and {count(left, 'other reason')}"] if left else shown

    def _flags(self) -> Iterator[str]:
        for trial in self.kept:
            if trial.shared:
                yield (
                    f"trial {trial.number} was kept and shares {count(trial.shared, 'run')} of eight "
                    "words with items that the start does not: see whether it repeats answers"
                )


def research_report(story: Story) -> ResearchReport:
    """The report on a run, so far as it has come."""
    history = ResearchHistory(story)
    corrected, used = history.corrected, history.delivered.trials
    effects = corrected.effects if corrected else (None,) * len(used)
    shrunken = {trial.number: each for trial, each in zip(used, effects, strict=True)}
    ending = (
        "" if story.status in FINISHED else f"{ENDINGS[story.status]}: {story.reason}".rstrip(": ")
    )
    return ResearchReport(
        metric=history.research.metric,
        better=history.research.better,
        evaluations=history.evaluations,
        noise=history.noise,
        trials=tuple(_row(trial, shrunken.get(trial.number)) for trial in history.trials),
        statuses=dict(Counter(trial.status for trial in history.trials).most_common()),
        idle=history.idle,
        loop_gain=statements.loop_gain(history),
        playoff=history.playoff,
        end=history.end,
        gain=history.end_result,
        claimed=history.claimed,
        result=history.result,
        claim=statements.conclusion(history, ending, accepted=story.status == "accepted"),
        test=statements.end_test(history) if history.end else "",
    )


def _row(trial: TrialDecided, shrunken: float | None) -> TrialRow:
    same = set(TrialRow.__struct_fields__) & set(TrialDecided.__struct_fields__)
    return TrialRow(
        **{name: getattr(trial, name) for name in same},
        shrunken=shrunken,
        mean=mean_of(trial.values) if trial.values else None,
    )


def _kept_table(kept: Sequence[TrialRow], *, sealed: bool) -> Table:
    """Keeps with what they seemed worth and what they probably are."""
    columns = [
        Column("trial"),
        Column("change", figures=False, least=20),
        Column("gain as measured", spare=1),
        Column("scaled to end test" if sealed else "without luck"),
        Column("looks", spare=2),
    ]
    return Table(columns, [_kept_row(each) for each in kept])


def _kept_row(trial: TrialRow) -> tuple[str, ...]:
    found = trial.effect
    if found is None:
        return (str(trial.number), trial.hypothesis, UNKNOWN, UNKNOWN, UNKNOWN)
    shrunken = (
        UNKNOWN
        if trial.shrunken is None
        else statements.signed(trial.shrunken, _NORMAL * found.error)
    )
    return (
        str(trial.number),
        trial.hypothesis or UNKNOWN,
        statements.effect(found),
        shrunken,
        str(found.looks),
    )


def _table(trials: Sequence[TrialRow], spread: float) -> Table:
    columns = [
        *(*figures("trial"), *words("on", "status")),
        *figures("mean (95 %)", "gain as measured", "evaluations"),
        *words("hypothesis", "reason"),
    ]
    rows = [
        (
            str(trial.number),
            statements.artifact(trial.incumbent),
            trial.status,
            UNKNOWN
            if trial.mean is None or trial.effect is None
            else show_mean(trial.mean, interval_reach(spread, trial.effect.looks)),
            statements.effect(trial.effect) if trial.effect else UNKNOWN,
            str(trial.evaluations),
            trial.hypothesis or UNKNOWN,
            statements.reason_beside(trial.status, trial.reason),
        )
        for trial in trials
    ]
    return Table(columns, rows, tones={"kept": "good", "failed": "warning", "guarded": "warning"})
