"""`autoreason journal`: looking after the file that every run is recorded in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import open_journal
from autoreason.errors import InvalidInput, JournalError
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.journal.maintenance import Damage
    from autoreason.paths import Place


@click.group(cls=HelpfulGroup)
def journal() -> None:
    """Check, back up, copy and compact the journal.

    The journal is one SQLite file with every run in it: AUTOREASON_JOURNAL or journal.db in your
    data folder, unless --journal names another. For several machines it is a PostgreSQL database:
    postgresql://user@host/database.

    \b
      autoreason journal check
      autoreason journal backup ~/backups/journal.db
      autoreason journal copy ~/journal.db postgresql://ada@db.lab/runs
      autoreason runs prune --older-than 90d
      autoreason journal compact
    """


@journal.command(cls=HelpfulCommand, short_help="Read every record, and name damaged runs.")
@options.journal_option
@options.json_option
def check(journal: str | None, as_json: bool) -> int:
    """Check the whole file, read every record of every run, and name the runs that are damaged.

    Nothing is written. Exit status 0 where everything is sound, 1 where something is damaged.
    """
    from autoreason.cli.views.outcome import print_json

    path, runs, damages = examine(journal)
    if as_json:
        print_json(
            {"journal": str(path), "runs": runs, "damages": [each._asdict() for each in damages]}
        )
    else:
        for damage in damages:
            click.echo(f"{damage.run or 'the file'}: {damage.what}")
        found = numbers.count(len(damages), "damage") if damages else "sound"
        click.echo(f"{path}, {numbers.count(runs, 'run')}: {found}", err=bool(damages))
    return 1 if damages else 0


def examine(url: str | None) -> tuple[Place, int, list[Damage]]:
    """Where a journal is, how many runs it has, and what is damaged in it."""
    from autoreason.journal import maintenance

    place = _existing(url)
    with open_journal(url) as book, _show_progress() as progress:
        damages = maintenance.check(book, progress)
        try:
            return place, book.count(), damages
        except JournalError:
            return place, 0, damages


def _existing(url: str | None) -> Place:
    """Where a journal is; one that is not there may be a typing error."""
    from autoreason.journal import location
    from autoreason.journal.location import open_store

    place = location.locate(url)
    if not (place.exists() if isinstance(place, Path) else open_store(place).exists()):
        raise InvalidInput(
            f"no journal at {place}; correct its name, or start with `autoreason run`"
        )
    return place


@journal.command(cls=HelpfulCommand, short_help="Copy the journal, also while runs go on.")
@click.argument("file", type=options.FILE)
@options.journal_option
@options.json_option
def backup(file: Path, journal: str | None, as_json: bool) -> None:
    """Copy the journal to FILE as it is at this moment, also while runs go on.

    FILE must not exist. The copy is a journal: use it with --journal FILE.
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.journal import location, maintenance

    path = location.locate(journal)
    with _show_progress() as progress:
        progress("copying", 0, 1)
        maintenance.back_up(path, file.absolute())
    size = file.stat().st_size
    if as_json:
        print_json({"journal": str(path), "copy": str(file), "bytes": size})
    else:
        click.echo(f"{path} is copied to {file}, {numbers.megabytes(size)}", err=True)


@journal.command(cls=HelpfulCommand, short_help="Give back the space of deleted runs.")
@options.journal_option
@options.json_option
def compact(journal: str | None, as_json: bool) -> None:
    """Give back the space of deleted runs.

    No run may be live; as much free space as the journal takes is needed meanwhile.
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.journal import location, maintenance

    path = location.locate(journal)
    with _show_progress() as progress:
        before, after = maintenance.compact(path, progress)
    if as_json:
        print_json({"journal": str(path), "bytes_before": before, "bytes_after": after})
    else:
        sizes = f"{numbers.megabytes(before)} before, {numbers.megabytes(after)} after"
        click.echo(f"{path}: {sizes}", err=True)


@journal.command(cls=HelpfulCommand, short_help="Copy runs to another journal.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.group("How", options.flag("--no-check", help="Do not replay what was copied."))
@options.json_option
def copy(source: str, target: str, no_check: bool, as_json: bool) -> int:
    """Copy every run of the journal FROM to the journal TO, which is created where it is not there.

    Both are files or PostgreSQL databases. Runs keep their names; one that TO has already is
    left as it is, and named where the two differ. What has arrived is compared with
    what was sent, record by record, and each finished run is replayed from TO, offline, unless
    --no-check is given. Interrupted, it goes on with the next run when it is repeated.

    A run that is damaged, or live, is named and left out, and the others are copied; a live suite
    with all its cells. Exit status 0 where all were copied and every replay gives the events of
    the record, 1 otherwise.
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.journal.run_names import suite_name
    from autoreason.run.journal_copy import copy_journal
    from autoreason.run.record import use_journal

    place = _existing(source)
    with (
        open_journal(source) as book,
        use_journal(target, create=True) as other,
        _show_progress() as progress,
    ):
        result = copy_journal(book, other, progress, check=not no_check)
        destination = other.place
    wrong = {**result.damaged, **result.conflicts, **result.differences, **result.failed}
    wrong |= {
        run: f"{run} is live and is not copied; copy again when it has ended"
        for run in result.live
        if suite_name(run) not in result.live
    }
    if as_json:
        ends = {"from": str(place), "to": str(destination)}
        runs = {
            "copied": result.copied,
            "already_there": result.there,
            "damaged": result.damaged,
            "live": result.live,
            "conflicts": result.conflicts,
            "differing": result.differing,
        }
        replays = {
            "replayed": result.replayed,
            "differences": {**result.differences, **result.failed},
        }
        print_json({**ends, **runs, **replays})
    else:
        for sentence in wrong.values():
            click.echo(sentence)
        more = f", {len(result.there):,} already there" if result.there else ""
        copies = f"{numbers.count(len(result.copied), 'run')} copied and compared"
        tried = result.replayed or result.failed
        checks = f", {len(result.replayed):,} replayed" if tried else ""
        differ = f", {len(result.differences):,} of them otherwise" if result.differences else ""
        failed = f", {len(result.failed):,} cannot be" if result.failed else ""
        damaged = f", {len(result.damaged):,} damaged" if result.damaged else ""
        live = f", {len(result.live):,} live" if result.live else ""
        others = f", {len(result.differing):,} not copied" if result.differing else ""
        click.echo(
            f"{place} to {destination}: {copies}{checks}{differ}{failed}{damaged}{live}{others}{more}",
            err=True,
        )
    return 1 if wrong else 0


@contextmanager
def _show_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A line on a terminal with what is being done to a journal and how far it is."""
    from autoreason.cli.views.console import stderr_console

    with stderr_console().status("") as status:
        yield lambda what, done, total: status.update(
            f"{what}: {done:,} of {total:,}" if total > 1 else what
        )
