"""Forks: a new run that starts from a text another run had reached."""

from __future__ import annotations

from msgspec.structs import replace

from autoreason.errors import InvalidInput
from autoreason.journal import Journal
from autoreason.programs.task import assignments_of
from autoreason.story import Story, build_story
from autoreason.task import Task


def fork(run: str, at_pass: int | None, *, journal: Journal) -> Task:
    """The same task, starting from the incumbent after a pass; 0 is the first draft, None the text delivered."""
    story = build_story([item.event for item in journal.events(run)])
    if story.task is None:
        raise InvalidInput(
            f"run {run} was killed before anything was recorded; there is nothing to fork"
        )
    if story.task.entries:
        raise InvalidInput(f"run {run} judges finished texts; there is no text to fork")
    if assignments_of(story.task):
        raise InvalidInput(f"run {run} writes programs; there is no text to fork")
    return replace(story.task, draft=_text(story, run, at_pass))


def _text(story: Story, run: str, at_pass: int | None) -> str:
    decided = sum(p.decided is not None for p in story.passes)
    if not story.incumbents or (at_pass is not None and not 0 <= at_pass <= decided):
        raise InvalidInput(
            f"run {run} has no text after pass {at_pass or 0}; it has {decided} decided passes"
        )
    if at_pass is None:
        return story.text or ""
    return [each for each in story.incumbents if each.since <= at_pass][-1].text
