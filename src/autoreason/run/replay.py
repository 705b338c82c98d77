"""Replay: the record run again, offline and without cost, must give the same events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from autoreason.events import LIFECYCLE
from autoreason.prompts import PromptSet
from autoreason.report.numbers import count
from autoreason.report.report import Report, Section
from autoreason.run.door import verb
from autoreason.run.parameters import JournalPlace, RecordedRun
from autoreason.run.recall import Memory, rerun
from autoreason.run.record import name_and_journal, task_and_settings, use_journal
from autoreason.story import build_story


@dataclass(frozen=True, repr=False)
class ReplayResult(Report):
    """The result of a replay."""

    heading: ClassVar[str] = "Replay"
    run: str
    events: int
    """Events that came again as recorded."""
    difference: str | None
    """Where it first differed; None where it did not."""

    @property
    def same(self) -> bool:
        """Whether the record and its replay agree to the end."""
        return self.difference is None

    @property
    def conclusion(self) -> str:
        """Whether it is the same, or where it differs."""
        events = count(self.events, "event")
        if self.same:
            return f"{self.run}: the same, {events}"
        return f"{self.run}: differs after {events}: {self.difference}"

    def names(self) -> list[str]:
        """A run's name is written as it is."""
        return [self.run]

    def sections(self) -> list[Section]:
        """None: the conclusion says it all."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {**super().to_dict(), "same": self.same}


@verb()
async def replay(run: RecordedRun, *, journal: JournalPlace = None) -> ReplayResult:
    """Run a record again from its replies alone, offline and for nothing, and compare.

    Args:
        run: The run's name, a part of it that no other has, or its result.
        journal: An open journal, the file of one, or None for the result's or the user's own.

    Returns:
        Whether the replay gave the events of the record, and where it first differed.

    Raises:
        UnknownRun: No run has that name.
        InvalidInput: Nothing was recorded of the run.
        JournalError: The journal cannot be read.

    Example:
        >>> from autoreason import refine, replay
        >>> result = refine("Explain tides.", "echo/echo", passes=1)
        >>> replay(result.run).same
        True
    """
    name, journal = name_and_journal(run, journal)
    with use_journal(journal) as book:
        run = book.find(name).id
        recorded = [item.event for item in book.events(run)]
        memory = Memory(book.replies(run), book.answers(run))
    story = build_story(recorded)
    task, settings = task_and_settings(run, story, "there is nothing to replay")
    emitted = [event for event in recorded if not isinstance(event, LIFECYCLE)]
    prompts = PromptSet(story.prompts)
    result = await rerun(task, settings, prompts, emitted, memory, story.recovery)
    difference = result.difference and f"{result.difference}; {result.likely_cause}"
    return ReplayResult(run, result.events, difference)
