"""`autoreason audit`: what a record is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import (
    all_option,
    find_runs,
    open_journal,
    runs_argument,
    warn_left_out,
)
from autoreason.errors import InvalidInput, JournalError

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.studies.audit.audited_run import AuditedRun


@click.command(cls=HelpfulCommand, shares="as_json html journal")
@runs_argument()
@all_option
def audit(
    runs: tuple[str, ...], every: bool, journal: str | None, as_json: bool, html: Path | None
) -> None:
    """Say what a record is worth, without calling a model.

    Lost ballots, bias for a position, agreement, whether convergence is more than coin flips,
    leaks, drift, cut-off replies and more: each with its number, what is normal, and what to do.
    What is said to be more than chance is tested, exactly or by resampling whole panels or runs, and every
    p-value is corrected for all questions that are tested (Holm): at most one record
    in twenty shows such a thing by chance.
    Several runs are audited together; without one, the newest is.

    \b
      autoreason audit amber-fox
      autoreason audit --all
    """
    from autoreason.cli.views.console import stderr_console
    from autoreason.cli.views.outcome import show_report
    from autoreason.cli.views.pager import paged
    from autoreason.studies.audit.audit import audit_runs
    from autoreason.studies.audit.audited_run import read_run

    if every and runs:
        raise InvalidInput("--all takes every run; name runs or give --all, not both")
    with stderr_console().status("reading") as status:
        with open_journal(journal) as book:
            if every:
                audited = list(read_every(book, status.update))
            else:
                audited = [part for run in find_runs(book, runs) for part in read_run(run, book)]
        status.update("examining")
        found = audit_runs(audited)
    with nullcontext() if as_json else paged():
        show_report(found, as_json=as_json, html=html)


def read_every(book: Journal, note: Callable[[str], None]) -> Iterator[AuditedRun]:
    """Every run in the journal, oldest first; one that cannot be read must not hide the others."""
    from autoreason.studies.audit.audited_run import NotAudited, read_run

    runs = book.stamps()
    for number, run in enumerate(runs, 1):
        note(f"reading run {number:,} of {len(runs):,}")
        try:
            yield from read_run(run, book)
        except JournalError:
            warn_left_out(run, "its record is damaged")
        except NotAudited as left_out:
            warn_left_out(run, f"it {left_out.why}")
