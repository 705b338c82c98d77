"""Where the texts of a packet come from: files, or a run in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.parsing.documents import same_text
from autoreason.story import Story
from autoreason.studies.raters.build import OpenTask
from autoreason.task import Entry, read_task, read_texts


def from_files(brief: str, texts: Sequence[Path]) -> OpenTask:
    """A brief, as a file or in words, and files with texts that were written for it."""
    entries = tuple(Entry(name=name, text=text) for name, text in read_texts(texts).items())
    return OpenTask(read_task(brief), entries, source=_short(brief))


def from_pairing(pairing: str) -> OpenTask:
    """`brief.md=a.md,b.md`: a brief and its texts in one word."""
    brief, sign, texts = pairing.partition("=")
    paths = [Path(text.strip()) for text in texts.split(",") if text.strip()]
    if not sign or not brief.strip() or not paths:
        raise InvalidInput(f"{pairing} is no task; write it as brief.md=a.md,b.md")
    return from_files(brief.strip(), paths)


def from_run(run: str, story: Story) -> OpenTask:
    """The first draft of a run and the text it delivered."""
    if story.end and story.draft is None:
        raise InvalidInput(f"run {run} wrote no text; name a run that did, or the texts themselves")
    if story.task is None or story.draft is None or story.delivered is None:
        raise InvalidInput(
            f"run {run} has delivered no text yet; `autoreason resume {run}` goes on with it"
        )
    first, last = story.draft.text, story.delivered.text
    if same_text(first, last):
        raise InvalidInput(f"run {run} delivered its first draft; there is nothing to compare")
    entries = (Entry(name="draft", text=first), Entry(name="delivered", text=last))
    return OpenTask(story.task, entries, source=f"run {run}")


def _short(brief: str) -> str:
    return brief if len(brief) <= 60 and "\n" not in brief else "a brief in words"
