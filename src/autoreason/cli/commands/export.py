"""`autoreason export`: a run as a folder that can be read without autoreason."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import open_journal, run_argument
from autoreason.report import numbers


@click.command(cls=HelpfulCommand)
@run_argument(required=True)
@click.argument("folder", type=options.FILE)
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@options.journal_option
def export(run: str, folder: Path, force: bool, journal: str | None) -> None:
    """Write a run's texts and record into a folder.

    Brief, settings and prompts, every text, critique and ballot by pass, every call as it was
    made, the final text and run.json: files that can be read without autoreason.

    \b
      autoreason export amber-fox ./amber-fox
    """
    from autoreason.run.export import export

    with open_journal(journal) as book:
        row = book.find(run)
        files = export(row.id, folder, journal=book, force=force)
    print(f"{numbers.count(len(files), 'file')} of {row.id} written to {folder}", file=sys.stderr)
