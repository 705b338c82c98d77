"""What a research run delivers, from its record: the artifact of the trial that was chosen. Pure."""

from __future__ import annotations

from typing import NamedTuple

from autoreason.artifacts.artifact import with_changes
from autoreason.artifacts.artifact_paths import path_fault
from autoreason.artifacts.measurement import Files
from autoreason.artifacts.research_task import research_of
from autoreason.artifacts.trial_events import EndTested, FinalistsMeasured, TrialDecided
from autoreason.errors import JournalError
from autoreason.story import Story


class Deliverable(NamedTuple):
    """The artifact at the start and at the end."""

    start: Files
    files: Files
    trials: tuple[TrialDecided, ...]
    """The keeps that lead from one to the other, in order; none where the start is the result."""


def deliverable(story: Story) -> Deliverable | None:
    """What a run delivers, or would if it ended now; None where it is no research."""
    research = research_of(story.task)
    if research is None:
        return None
    kept = {each.number: each for each in story.of(TrialDecided) if each.status == "kept"}
    trials: list[TrialDecided] = []
    number = _chosen(story, kept)
    while number:
        trials.insert(0, kept[number])
        # A trial was measured against an earlier one.
        number = kept[number].incumbent
    files = research.files
    for trial in trials:
        files = with_changes(files, trial.changes)
    for path in {*research.files, *files}:
        if fault := path_fault(path):
            raise JournalError(f"a path in the record {fault}: {path!r}; the record is damaged")
    return Deliverable(research.files, files, tuple(trials))


def _chosen(story: Story, kept: dict[int, TrialDecided]) -> int:
    """The trial that was tested, or won the playoff, or was kept last; 0 is the start."""
    if tested := story.of(EndTested):
        return tested[-1].trial
    if measured := story.of(FinalistsMeasured):
        return measured[-1].chosen
    return next(reversed(kept), 0)
