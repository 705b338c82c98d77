"""Replay: the record run again, offline and for nothing, must tell the same story."""

from __future__ import annotations

from dataclasses import dataclass

from autoreason.errors import InvalidInput
from autoreason.events import LIFECYCLE
from autoreason.journal import Journal
from autoreason.prompts import PromptSet
from autoreason.run.recall import Memory, retell
from autoreason.story import tell_all


@dataclass(frozen=True)
class Replayed:
    """What came of running a record again."""

    run: str
    events: int
    """Events told again exactly as recorded."""
    difference: str | None
    """Where it first went another way; None where it did not."""

    @property
    def same(self) -> bool:
        """Whether the record and its replay agree to the end."""
        return self.difference is None


async def replay(run: str, *, journal: Journal) -> Replayed:
    """Run a record again from its replies alone."""
    recorded = [item.event for item in journal.events(run)]
    story = tell_all(recorded)
    if story.task is None or story.settings is None:
        raise InvalidInput(
            f"run {run} was killed before anything was recorded; there is nothing to replay"
        )
    told = [event for event in recorded if not isinstance(event, LIFECYCLE)]
    memory = Memory(journal.replies(run))
    retold = await retell(story.task, story.settings, PromptSet(story.prompts), told, memory)
    return Replayed(run, retold.events, retold.difference)
