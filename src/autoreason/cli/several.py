"""Naming several runs at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.journals import complete_run, pick, story_of
from autoreason.errors import InvalidInput, JournalUnusable

if TYPE_CHECKING:
    from autoreason.journal import Journal

_EVERY = 1_000_000


def runs_argument(name: str = "runs", metavar: str = "[RUN]...") -> Callable[[Any], Any]:
    """The argument that names any number of runs."""
    return click.argument(name, nargs=-1, metavar=metavar, shell_complete=complete_run)


all_option = options.group(
    "Which runs", options.option("--all", "every", is_flag=True, help="Every run in the journal.")
)


def runs_meant(book: Journal, named: tuple[str, ...], every: bool) -> list[str]:
    """The runs of these names, or every one; without a name, the newest."""
    if every and named:
        raise InvalidInput("--all takes every run; name runs or give --all, not both")
    if every:
        return [row.id for row in reversed(book.runs(_EVERY)) if _legible(book, row.id)]
    if not named:
        return [pick(book, None, lambda _: True, "run in the journal").id]
    return list(dict.fromkeys(book.find(name).id for name in named))


def _legible(book: Journal, run: str) -> bool:
    """Whether a run can be read; one that cannot must not hide the others."""
    try:
        return story_of(book, run).task is not None
    except JournalUnusable:
        click.echo(f"autoreason: {run} is left out: its record is damaged", err=True)
        return False
