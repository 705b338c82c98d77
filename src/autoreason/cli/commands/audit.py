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
from autoreason.errors import InvalidInput, JournalError, UnknownRun

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.studies.audit.audited_record import AuditedRun


@click.command(cls=HelpfulCommand, shares="as_json html journal")
@runs_argument("records", "[RUN|FILE]...")
@all_option
def audit(
    records: tuple[str, ...],
    every: bool,
    journal: str | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Say what a record is worth, without calling a model.

    Lost ballots, empty panels, bias for a position, agreement, whether convergence is more than
    coin flips, leaks, cut-off texts and more: each with its number, what is normal, and what to do.
    What is said to be more than chance is tested, exactly or by resampling whole panels or runs, and every
    p-value is corrected for all questions that are tested (Holm): at most one record
    in twenty shows such a thing by chance.
    Several records are audited together; an audit of all runs goes on where it was interrupted. RUN is
    a run in the journal; without one, the newest. FILE is a transcript or a file of recorded passes, or
    a folder of them.

    \b
      autoreason audit amber-fox
      autoreason audit --all
      autoreason audit recorded/transcripts/task_01.jsonl recorded/ballots.jsonl
    """
    from autoreason.cli.views.console import stderr_console
    from autoreason.cli.views.outcome import show_report
    from autoreason.cli.views.pager import paged
    from autoreason.studies.audit.audit import audit_runs

    if every and records:
        raise InvalidInput("--all takes every run; name records or give --all, not both")
    with stderr_console().status("reading") as status:
        runs = _read(records, every, journal, status.update)
        status.update("examining")
        found = audit_runs(runs)
    with nullcontext() if as_json else paged():
        show_report(found, as_json=as_json, html=html)


def _read(
    records: tuple[str, ...], every: bool, journal: str | None, note: Callable[[str], None]
) -> list[AuditedRun]:
    from autoreason.studies.audit.files import read_records, without_duplicates
    from autoreason.studies.audit.own_runs import read_run

    plainly_files = [name for name in records if "/" in name or name.endswith(".jsonl")]
    others = [name for name in records if name not in plainly_files]
    runs = [run for name in plainly_files for run in read_records(Path(name))]
    if others or not records:
        with open_journal(journal) as book:
            files = [name for name in others if Path(name).exists() and not _is_run(name, book)]
            runs += [run for name in files for run in read_records(Path(name))]
            named = tuple(name for name in others if name not in files)
            if every:
                runs += _read_every(book, note)
            elif named or not records:
                runs += [each for run in find_runs(book, named) for each in read_run(run, book)]
    return without_duplicates(runs)


def _read_every(book: Journal, note: Callable[[str], None]) -> Iterator[AuditedRun]:
    """Every run in the journal, oldest first; one that cannot be read must not hide the others."""
    from autoreason.studies.audit.own_runs import NotAudited
    from autoreason.studies.audit.readings import readings_of

    with readings_of(book) as readings:
        for number, run in enumerate(readings, 1):
            note(f"reading run {number:,} of {len(readings):,}")
            try:
                yield from readings.read(run)
            except JournalError:
                warn_left_out(run, "its record is damaged")
            except NotAudited as left_out:
                warn_left_out(run, f"it {left_out.why}")


def _is_run(name: str, book: Journal) -> bool:
    """A run comes before a folder of the same name: it may be the run's own export."""
    try:
        book.find(name)
    except UnknownRun:
        return False
    return True
