"""Finding the runs that are meant, and what they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli.command import open_journal
from autoreason.errors import AutoreasonError, InvalidInput, JournalError, UnknownRun
from autoreason.job_types import Lab

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from autoreason.journal import Journal, RunRow
    from autoreason.story import Story

_NEWEST = 200
"""Runs among which one without a name is looked for."""


def find_run(
    journal: Journal,
    name: str | None,
    wanted: Callable[[RunRow], bool] = lambda _: True,
    description: str = "run in the journal",
) -> RunRow:
    """The run of that name, else the newest that is wanted."""
    if name is not None:
        return journal.find(name)
    if row := next(filter(wanted, journal.iter_runs(page=1)), None):
        return row
    raise UnknownRun(f"there is no {description}; name a run, see `autoreason runs`")


def find_runs(journal: Journal, names: tuple[str, ...]) -> list[str]:
    """The runs of these names, each once; without a name, the newest."""
    if not names:
        return [find_run(journal, None).id]
    return list(dict.fromkeys(journal.find(name).id for name in names))


def find_text_runs(journal: Journal, names: tuple[str, ...], every: bool) -> list[str]:
    """The runs of these names, or every one, so far as they write texts; without a name, the newest."""
    if every and names:
        raise InvalidInput("--all takes every run; name runs or give --all, not both")
    found = []
    runs = [row.id for row in reversed(journal.runs(None))] if every else find_runs(journal, names)
    for run in runs:
        try:
            story = journal.story(run)
        except JournalError:
            # One that cannot be read must not hide the others.
            if not every:
                raise
            warn_left_out(run, "its record is damaged")
            continue
        if writes_programs(story) or story.writes == "files":
            warn_left_out(run, "it writes no texts")
        elif story.task is not None:
            found.append(run)
    return found


def warn_left_out(run: str, why: str) -> None:
    click.echo(f"autoreason: {run} is left out: {why}", err=True)


def is_contest(story: Story) -> bool:
    """Whether every pass is put to a vote."""
    return story.job is None or story.job.is_tournament


def writes_programs(story: Story) -> bool:
    """Whether it writes programs, for one problem or a set of them."""
    if not isinstance(story.job, Lab):
        return story.writes == "programs"
    from autoreason.studies.lab_suite import suite_of

    suite = suite_of(story.task)
    return bool(suite and suite.form == "problems")


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    try:
        with open_journal(ctx.params.get("journal")) as journal:
            rows = journal.runs(_NEWEST)
    except AutoreasonError:
        return []
    return [CompletionItem(row.id, help=row.title) for row in rows if row.id.startswith(incomplete)]


def run_argument(*, required: bool) -> Callable[[Any], Any]:
    return click.argument("run", required=required, shell_complete=complete_run)


def when(moment: datetime) -> str:
    """A moment on this machine's clock, as short as it can be."""
    here, now = moment.astimezone(), datetime.now().astimezone()
    if here.date() == now.date():
        return f"today {here:%H:%M}"
    return f"{here:%d %b %H:%M}" if here.year == now.year else f"{here:%d %b %Y}"
