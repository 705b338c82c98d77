"""`autoreason replay`: a record run again, offline, and compared."""

from __future__ import annotations

from pathlib import Path

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import find_run, open_journal, run_argument


@click.command(cls=HelpfulCommand)
@run_argument(required=False)
@options.journal_option
@options.report_options
def replay(run: str | None, journal: str | None, as_json: bool, html: Path | None) -> int:
    """Run a record again, offline, and compare.

    RUN is a run's name or a part of it; without one, the newest.

    Exit status 0 where the replay gives the events of the record, 1 where it does not.
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.recorded import replay

    with open_journal(journal) as book:
        result = replay(find_run(book, run).id, journal=book)
    show_report(result, as_json=as_json, html=html)
    return 0 if result.same else 1
