"""Naming several runs at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.lookup import complete_run, pick
from autoreason.errors import InvalidInput, JournalError

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.story import Story

EVERY = 1_000_000


def runs_argument(name: str = "runs", metavar: str = "[RUN]...") -> Callable[[Any], Any]:
    """The argument that names any number of runs."""
    return click.argument(name, nargs=-1, metavar=metavar, shell_complete=complete_run)


all_option = options.group(
    "Which runs", options.option("--all", "every", is_flag=True, help="Every run in the journal.")
)


def runs_meant(book: Journal, named: tuple[str, ...], every: bool) -> list[str]:
    """The runs of these names, or every one; without a name, the newest. Only of texts."""
    if every and named:
        raise InvalidInput("--all takes every run; name runs or give --all, not both")
    if every:
        return [row.id for row in reversed(book.runs(EVERY)) if _of_use(book, row.id)]
    return [_of_texts(book, run) for run in runs_named(book, named)]


def runs_named(book: Journal, named: tuple[str, ...]) -> list[str]:
    """The runs of these names, each once; without a name, the newest."""
    if not named:
        return [pick(book, None, lambda _: True, "run in the journal").id]
    return list(dict.fromkeys(book.find(name).id for name in named))


def _of_texts(book: Journal, run: str) -> str:
    if _writes_programs(book.story(run)):
        raise InvalidInput(
            f"run {run} writes programs, and this is for texts; `autoreason show {run}` tells how they did"
        )
    return run


def _writes_programs(story: Story) -> bool:
    from autoreason.run.kinds import written_by

    return written_by(story.settings) == "programs"


def _of_use(book: Journal, run: str) -> bool:
    """Whether a run is of texts and can be read; one that is not must not hide the others."""
    try:
        story = book.story(run)
    except JournalError:
        click.echo(f"autoreason: {run} is left out: its record is damaged", err=True)
        return False
    if _writes_programs(story):
        click.echo(f"autoreason: {run} is left out: it writes programs", err=True)
        return False
    return story.task is not None
