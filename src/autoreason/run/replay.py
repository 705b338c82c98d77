"""Replay: the record run again, offline and without cost, must give the same events."""

from __future__ import annotations

from dataclasses import dataclass

from autoreason.errors import InvalidInput
from autoreason.events import LIFECYCLE
from autoreason.journal import Journal
from autoreason.prompts import PromptSet
from autoreason.run.recall import Memory, rerun
from autoreason.story import build_story


@dataclass(frozen=True)
class ReplayResult:
    """The result of a replay."""

    run: str
    events: int
    """Events that came again as recorded."""
    difference: str | None
    """Where it first differed; None where it did not."""

    @property
    def same(self) -> bool:
        """Whether the record and its replay agree to the end."""
        return self.difference is None


async def replay(run: str, *, journal: Journal) -> ReplayResult:
    """Run a record again from its replies alone."""
    recorded = [item.event for item in journal.events(run)]
    story = build_story(recorded)
    if story.task is None or story.settings is None:
        raise InvalidInput(
            f"run {run} was killed before anything was recorded; there is nothing to replay"
        )
    emitted = [event for event in recorded if not isinstance(event, LIFECYCLE)]
    memory = Memory(journal.replies(run), journal.answers(run))
    rerun_result = await rerun(
        story.task, story.settings, PromptSet(story.prompts), emitted, memory, story.recovery
    )
    return ReplayResult(run, rerun_result.events, rerun_result.difference)
