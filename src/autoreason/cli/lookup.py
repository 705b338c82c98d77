"""Finding the journal and the runs that are meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.errors import AutoreasonError, InvalidInput, JournalError, UnknownRun
from autoreason.job_types import Lab

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from autoreason.journal import Journal, RunRow
    from autoreason.story import Story

_NEWEST = 200
"""Runs among which one without a name is looked for."""

all_option = options.group(
    "Which runs", options.flag("--all", "every", help="Every run in the journal.")
)


def open_journal(url: str | None) -> Journal:
    """The journal as it is; an absent one is empty."""
    from autoreason.journal import Journal

    return Journal.open(url, create=False)


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
    """The runs of these names, or every one that writes texts; without a name, the newest."""
    if every and names:
        raise InvalidInput("--all takes every run; name runs or give --all, not both")
    if every:
        return [row.id for row in reversed(journal.runs(None)) if _has_texts(journal, row.id)]
    runs = find_runs(journal, names)
    for run in runs:
        story = journal.story(run)
        if writes_programs(story) or writes_files(story):
            what = "writes programs" if writes_programs(story) else "improves an artifact"
            raise InvalidInput(
                f"run {run} {what}, and this is for texts; `autoreason show {run}` shows its result"
            )
    return runs


def _has_texts(journal: Journal, run: str) -> bool:
    """Whether a run can be read and writes texts; one that cannot be read must not hide the others."""
    try:
        story = journal.story(run)
    except JournalError:
        warn_left_out(run, "its record is damaged")
        return False
    if writes_programs(story):
        warn_left_out(run, "it writes programs")
        return False
    if writes_files(story):
        warn_left_out(run, "it improves an artifact")
        return False
    return story.task is not None


def warn_left_out(run: str, why: str) -> None:
    """Say that one of many runs is left out."""
    click.echo(f"autoreason: {run} is left out: {why}", err=True)


def writes_programs(story: Story) -> bool:
    """Whether a run writes programs rather than a text."""
    if not isinstance(story.job, Lab):
        return story.writes == "programs"
    from autoreason.studies.lab.lab_suite import suite_of

    suite = suite_of(story.task)
    return bool(suite and suite.form == "problems")


def writes_files(story: Story) -> bool:
    """Whether a run improves an artifact rather than a text."""
    return story.writes == "files"


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of runs, for the shell."""
    from click.shell_completion import CompletionItem

    try:
        with open_journal(ctx.find_root().params.get("journal")) as journal:
            rows = journal.runs(_NEWEST)
    except AutoreasonError:
        return []
    return [CompletionItem(row.id, help=row.title) for row in rows if row.id.startswith(incomplete)]


def run_argument(*, required: bool) -> Callable[[Any], Any]:
    """The argument that names a run."""
    return click.argument("run", required=required, shell_complete=complete_run)


def runs_argument(name: str = "runs", metavar: str = "[RUN]...") -> Callable[[Any], Any]:
    """The argument that names any number of runs."""
    return click.argument(name, nargs=-1, metavar=metavar, shell_complete=complete_run)
