"""`autoreason export` and `autoreason replay`: what can be done with a finished record."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import opened, pick, run_argument
from autoreason.cli.views import words


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

    with opened(journal) as book:
        row = book.find(run)
        files = export(row.id, folder, journal=book, force=force)
    print(f"{words.count(len(files), 'file')} of {row.id} written to {folder}", file=sys.stderr)


@click.command(cls=HelpfulCommand)
@run_argument(required=False)
@options.journal_option
@options.json_option
def replay(run: str | None, journal: str | None, as_json: bool) -> int:
    """Run a record again, offline, and compare.

    RUN is a run's name or a part of it; without one, the newest.

    Exit status 0 where the replay tells the same story as the record, 1 where it does not.
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.run.replay import replay

    with opened(journal) as book:
        row = pick(book, run, lambda _: True, "run in the journal")
        replayed = replay(row.id, journal=book)
    events = words.count(replayed.events, "event")
    if as_json:
        print_json(
            {
                "run": row.id,
                "same": replayed.same,
                "events": replayed.events,
                "difference": replayed.difference,
            }
        )
    elif replayed.same:
        print(f"{row.id}: the same, {events}")
    else:
        print(f"{row.id}: differs after {events}: {replayed.difference}")
    return 0 if replayed.same else 1
