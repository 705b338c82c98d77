"""Finding the journal and the run that is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from autoreason.errors import AutoreasonError, UnknownRun

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from autoreason.journal import Journal, RunRow

_LOOKED_THROUGH = 200


def open_journal(url: str | None) -> Journal:
    """The journal as it is; an absent one is empty."""
    from autoreason.journal import Journal

    return Journal.open(url, create=False)


def pick(
    journal: Journal, name: str | None, wanted: Callable[[RunRow], bool], described: str
) -> RunRow:
    """The run of that name, else the newest that is wanted."""
    if name is not None:
        return journal.find(name)
    for row in journal.runs(_LOOKED_THROUGH):
        if wanted(row):
            return row
    raise UnknownRun(f"there is no {described}; name a run, see `autoreason runs`")


def complete_run(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of runs, for the shell."""
    from click.shell_completion import CompletionItem

    try:
        with open_journal(ctx.params.get("journal")) as journal:
            rows = journal.runs(_LOOKED_THROUGH)
    except AutoreasonError:
        return []
    return [CompletionItem(row.id, help=row.title) for row in rows if row.id.startswith(incomplete)]


def run_argument(*, required: bool) -> Callable[[Any], Any]:
    """The argument that names a run."""
    return click.argument("run", required=required, shell_complete=complete_run)
