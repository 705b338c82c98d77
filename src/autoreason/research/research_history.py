"""What a research run has done so far: its trials, its kept changes, and the artifact it leads to."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

from autoreason.research.artifact import with_changes
from autoreason.research.end_test import EndResult, end_test
from autoreason.research.measurement import Files
from autoreason.research.research_task import ResearchTask, research_of
from autoreason.research.trial_events import (
    EndTested,
    FinalistsMeasured,
    NoiseMeasured,
    TrialDecided,
)
from autoreason.story import Story

Kind = TypeVar("Kind")


class ResearchHistory:
    """The fold over the events of a research run; made anew when there are more."""

    def __init__(self, story: Story) -> None:
        research = research_of(story.task)
        assert research is not None
        self.research: ResearchTask = research
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
        if self.end:
            return self.end.trial
        if self.playoff:
            return self.playoff.chosen
        return self.kept[-1].number if self.kept else 0

    @cached_property
    def files(self) -> Files:
        """The artifact of the result so far."""
        return self.files_after(self.result)

    def files_after(self, trial: int) -> Files:
        """The artifact after a trial that was kept; 0 is the start."""
        files = self.research.files
        for each in self._line(trial):
            files = with_changes(files, each.changes)
        return files

    def _line(self, trial: int) -> list[TrialDecided]:
        """The trials that lead to one, the first one first."""
        by_number = {each.number: each for each in self.kept}
        line: list[TrialDecided] = []
        while trial:
            line.append(by_number[trial])
            trial = line[-1].incumbent
        return line[::-1]

    @property
    def evaluations(self) -> int:
        """Looks that were taken for what is decided."""
        search = sum(trial.evaluations for trial in self.trials)
        floor = len(self.noise.values) if self.noise else 0
        playoff = self.playoff.looks * len(self.playoff.trials) if self.playoff else 0
        end = len(self.end.result) + len(self.end.start) if self.end else 0
        return floor + search + playoff + end

    @property
    def spread(self) -> float:
        """The standard deviation of one look at the start; 0 where it is not known."""
        return self.noise.spread if self.noise else 0.0

    @property
    def sign(self) -> int:
        """What a number is multiplied by so that higher is better."""
        return 1 if self.research.better == "higher" else -1

    @cached_property
    def end_result(self) -> EndResult | None:
        """The end test over the pairs that have both numbers; None where there is none, or the result failed."""
        if self.end is None or None in self.end.result:
            return None
        pairs = [
            (self.sign * one, self.sign * other)
            for one, other in zip(self.end.result, self.end.start, strict=True)
            if one is not None and other is not None
        ]
        if not pairs:
            return None
        result, start = zip(*pairs, strict=True)
        return end_test(result, start, self.spread)


def _last(events: list[Kind]) -> Kind | None:
    return events[-1] if events else None
