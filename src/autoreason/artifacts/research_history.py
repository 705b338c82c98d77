"""What a research run has done so far: its trials, its kept changes, and the artifact it leads to."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

from autoreason.artifacts.deliverable import Deliverable, deliverable
from autoreason.artifacts.end_test import CorrectedKeeps, EndResult, correct_keeps, end_test
from autoreason.artifacts.keep_rule import measure_noise
from autoreason.artifacts.research_task import ResearchTask, research_of
from autoreason.artifacts.trial_events import (
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
        research, delivered = research_of(story.task), deliverable(story)
        assert research is not None
        assert delivered is not None
        self.research: ResearchTask = research
        self.delivered: Deliverable = delivered
        """The artifact at the start, and what it has become."""
        options = story.settings.strategy_options if story.settings else {}
        self.unchecked = bool(options.get("unchecked"))
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


def _last(events: list[Kind]) -> Kind | None:
    return events[-1] if events else None
