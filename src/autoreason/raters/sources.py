"""Where the texts of a packet come from: files, or a run in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autoreason.errors import InvalidInput
from autoreason.raters.making import Entry, OpenTask
from autoreason.story import Story
from autoreason.task import read_task, read_text


def from_files(brief: str, texts: Sequence[Path]) -> OpenTask:
    """A brief, as a file or in words, and files with texts that were written for it."""
    bare = [path.name for path in texts]
    names = [str(path) if bare.count(path.name) > 1 else path.name for path in texts]
    entries = [
        Entry(name, read_text(path, "text")) for name, path in zip(names, texts, strict=True)
    ]
    return OpenTask(read_task(brief), tuple(entries), source=_short(brief))


def from_pairing(pairing: str) -> OpenTask:
    """`brief.md=a.md,b.md`: a brief and its texts in one word."""
    brief, sign, texts = pairing.partition("=")
    paths = [Path(text.strip()) for text in texts.split(",") if text.strip()]
    if not sign or not brief.strip() or not paths:
        raise InvalidInput(f"{pairing} is no task; write it as brief.md=a.md,b.md")
    return from_files(brief.strip(), paths)


def from_run(run: str, story: Story) -> OpenTask:
    """The first draft of a run and the text it delivered."""
    if story.task is None or story.draft is None or story.delivered is None:
        raise InvalidInput(
            f"run {run} has delivered no text yet; `autoreason resume {run}` goes on with it"
        )
    first, last = story.draft.text, story.delivered.text
    if first.split() == last.split():
        raise InvalidInput(f"run {run} delivered its first draft; there is nothing to compare")
    entries = (Entry("draft", first), Entry("delivered", last))
    return OpenTask(story.task, entries, source=f"run {run}")


def _short(brief: str) -> str:
    return brief if len(brief) <= 60 and "\n" not in brief else "a brief in words"
