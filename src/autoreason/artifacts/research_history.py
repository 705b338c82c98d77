"""What a research run has done so far: its trials, its kept changes, and the artifact it leads to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar

from autoreason.artifacts import research_statements as statements
from autoreason.artifacts.artifact import with_changes
from autoreason.artifacts.artifact_paths import path_fault
from autoreason.artifacts.end_test import CorrectedKeeps, EndResult, correct_keeps, end_test
from autoreason.artifacts.keep_rule import measure_noise
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.artifacts.trial_events import (
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    TrialDecided,
)
from autoreason.errors import JournalError
from autoreason.job_types import Research
from autoreason.report.numbers import count
from autoreason.story import Story

Kind = TypeVar("Kind")


class Deliverable(NamedTuple):
    """The artifact at the start and at the end."""

    start: Files
    """As it is on disk: of a fork, the start of the first run."""
    files: Files
    trials: tuple[TrialDecided, ...]
    """The keeps of this run that lead to it, in order; none where its start is the result."""


def deliverable(story: Story) -> Deliverable | None:
    """What a run delivers, or would if it ended now; None where it is no research."""
    research = research_of(story.task)
    if research is None:
        return None
    kept = {each.number: each for each in story.of(TrialDecided) if each.status == "kept"}
    trials = _lineage(kept, _chosen(story, kept))
    files = _with_changes(research.files, trials)
    for path in {*research.origin, *research.files, *files}:
        if fault := path_fault(path):
            raise JournalError(f"a path in the record {fault}: {path!r}; the record is damaged")
    return Deliverable(research.origin or research.files, files, tuple(trials))


def _lineage(kept: Mapping[int, TrialDecided], number: int) -> list[TrialDecided]:
    """The keeps that lead to a trial, in order: each was measured against an earlier one."""
    trials: list[TrialDecided] = []
    while number:
        trials.insert(0, kept[number])
        number = kept[number].incumbent
    return trials


def _with_changes(files: Files, trials: Iterable[TrialDecided]) -> Files:
    for trial in trials:
        files = with_changes(files, trial.changes)
    return files


def _chosen(story: Story, kept: dict[int, TrialDecided]) -> int:
    """The trial that was tested, or won the playoff, or was kept last; 0 is the start."""
    if tested := story.of(EndTested):
        return tested[-1].trial
    if measured := story.of(FinalistsMeasured):
        return measured[-1].chosen
    return next(reversed(kept), 0)


class ResearchHistory:
    """The fold over the events of a research run; made anew when there are more."""

    def __init__(self, story: Story) -> None:
        research, delivered = research_of(story.task), deliverable(story)
        assert research is not None
        assert delivered is not None
        self.research: ResearchTask = research
        self.delivered: Deliverable = delivered
        """The artifact at the start, and what it has become."""
        self.forked_from = story.forked_from or ""
        """The run whose result is the start; empty where this is no fork."""
        self.unchecked = isinstance(story.job, Research) and story.job.unchecked
        """Nobody tried whether the artifact can write its own score."""
        self.trials = story.of(TrialDecided)
        """In the order in which they were decided."""
        self.noise = _last(story.of(NoiseMeasured))
        self.playoff = _last(story.of(FinalistsMeasured))
        self.end = _last(story.of(EndTested))

    @cached_property
    def kept(self) -> list[TrialDecided]:
        """The trials that were kept, each on the one before."""
        return [trial for trial in self.trials if trial.status == "kept"]

    @property
    def result(self) -> int:
        """The trial whose artifact is the result so far; 0 is the start."""
        return self.delivered.trials[-1].number if self.delivered.trials else 0

    def files_of(self, number: int) -> Files:
        """The artifact after a trial that was kept; 0 is the start."""
        kept = {trial.number: trial for trial in self.kept}
        return _with_changes(self.research.files, _lineage(kept, number))

    def looks_at(self, incumbent: int) -> dict[int, float]:
        """The looks at an incumbent that trials were compared with, by number; 0 is the start."""
        records = (trial.record for trial in self.trials if trial.incumbent == incumbent)
        return {number: value for record in records for number, value in record.items()}

    @property
    def evaluations(self) -> int:
        """Looks that were taken for what is decided."""
        search = sum(trial.evaluations for trial in self.trials)
        floor = len(self.noise.values) if self.noise else 0
        playoff = self.playoff.looks * len(self.playoff.trials) if self.playoff else 0
        end = len(self.end.result) + len(self.end.start) if self.end else 0
        return floor + search + playoff + end

    @cached_property
    def spread(self) -> float:
        """The standard deviation of one look, by every look of floor and search; 0 where none differs."""
        first = {0: self.noise.values if self.noise else ()}
        values = first | {trial.number: trial.values for trial in self.trials}
        for number in (0, *(trial.number for trial in self.kept)):
            # An incumbent's record begins with the looks it was kept with.
            record = tuple(self.looks_at(number).values())
            values[number] = max(values[number], record, key=len)
        return measure_noise(values.values()).spread

    @cached_property
    def end_result(self) -> EndResult | None:
        """The end test over the pairs that have both numbers; None where there is none, or the result failed."""
        if self.end is None or None in self.end.result:
            return None
        groups, sign = len(self.end.start), self.research.sign
        pairs = [
            (sign * one, sign * other, len(range(at, self.research.sealed, groups)))
            for at, (one, other) in enumerate(zip(self.end.result, self.end.start, strict=True))
            if one is not None and other is not None
        ]
        if not pairs:
            return None
        result, start, items = zip(*pairs, strict=True)
        return end_test(result, start, self.spread, items if any(items) else ())

    @property
    def claimed(self) -> bool:
        """Whether a gain is claimed.

        It must be shown and break no guard, and without chance the items must not be those that chose the result.
        """
        found, research = self.end_result, self.research
        if self.end is None or self.end.broken or found is None or not found.shown:
            return False
        return not found.deterministic or not research.items or bool(research.sealed)

    @cached_property
    def corrected(self) -> CorrectedKeeps | None:
        """What the keeps that led to the result are worth; None where no end test says so."""
        effects = [trial.effect for trial in self.delivered.trials if trial.effect]
        if self.end_result is None or len(effects) < len(self.delivered.trials):
            return None
        return correct_keeps(effects, self.end_result.gain)

    @property
    def idle(self) -> int | None:
        """How many keeps in the result do nothing or harm at least; None where no end test on fresh looks says so.

        Sealed items may be of another kind, and what is lost on them is then no luck.
        """
        return self.corrected.idle if self.corrected and self.end and not self.end.sealed else None


def _last(events: list[Kind]) -> Kind | None:
    return events[-1] if events else None


class ResearchProgress:
    """Counts over what is decided so far."""

    def __init__(self, story: Story) -> None:
        assert story.settings is not None
        self._history = ResearchHistory(story)
        self._terms = story.settings.job_as(Research)

    def stage(self, asked: Collection[str]) -> str:
        """What is going on, by the first words of the keys under way."""
        if self._history.noise is None:
            return "noise floor"
        if "end" in asked or self._history.end:
            return "end test"
        return "playoff" if "playoff" in asked or self._history.playoff else "search"

    @property
    def so_far(self) -> str:
        """Trials and keeps, and what the last one came to."""
        history = self._history
        if history.noise is None:
            return "measuring the start"
        kept = f"{len(history.kept)} kept of {count(len(history.trials), 'proposal')}"
        last = history.trials[-1] if history.trials else None
        return f"{kept}; trial {last.number} {statements.decision(last)}" if last else kept

    @property
    def needs(self) -> str:
        """What would end the search."""
        history = self._history
        kept = [at for at, trial in enumerate(history.trials, 1) if trial.status == "kept"]
        # Those under way when patience ended are decided, too.
        idle = min(len(history.trials) - (kept[-1] if kept else 0), self._terms.patience)
        used = f"{history.evaluations:,} of {count(self._terms.evaluations, 'evaluation')}"
        return f"{used}, {idle} of {self._terms.patience} proposals without a keep"
