"""`autoreason runs`: the runs in the journal, and taking care of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import complete_run, open_journal, run_argument
from autoreason.cli.times import Moment, when
from autoreason.cli.views.pager import paged
from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.jobs import allowance
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import solved_in
from autoreason.report import numbers
from autoreason.tournament import statements

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from autoreason.journal import Journal, RunRow
    from autoreason.journal.maintenance import Damage
    from autoreason.paths import Place
    from autoreason.report.table import Table
    from autoreason.story import Story


_deleting = options.group(
    "How",
    options.flag("--yes", help="Do not ask."),
    options.flag("--dry-run", help="Only say what would be deleted."),
)


@click.group(cls=HelpfulGroup, default="list")
def runs() -> None:
    """List runs and take care of the journal they are in.

    Without a command, runs are listed, with the options of `runs list`. The journal is one SQLite
    file with every run in it: AUTOREASON_JOURNAL or journal.db in your data folder, unless --journal
    names another. For several machines it is a PostgreSQL database: postgresql://user@host/database.

    \b
      autoreason runs --since 7d --search wedding
      autoreason runs delete amber-fox @2
      autoreason runs prune --older-than 90d --dry-run
      autoreason runs check
      autoreason runs backup ~/backups/journal.db
      autoreason runs copy ~/journal.db postgresql://ada@db.lab/runs
    """


@runs.command(
    "list", cls=HelpfulCommand, shares="as_json journal", short_help="The runs, newest first."
)
@options.group(
    "Which runs",
    options.option("-n", "limit", type=Number(1, 1_000_000), default=20, help="How many."),
    options.option(
        "--status STATUS",
        "states",
        multiple=True,
        help="live, killed, damaged, converged, capped, done, accepted, budget, stopped, "
        "panel_failed, provider_failed or metric_failed.",
    ),
    options.option("--strategy NAME", help="Of this strategy, or of this kind: solve, compare …"),
    options.option("--model TEXT", help="A model's address contains this."),
    options.option(
        "--since WHEN", type=Moment(), help="Started at 2026-11-15 or 7d ago, or later."
    ),
    options.option("--until WHEN", type=Moment(), help="Started before."),
    options.option("--search TEXT", help="The title or the name contains this."),
    options.option(
        "--suite NAME", help="The cells of this suite: its run, or its name for the newest."
    ),
    options.flag("--all", "cells", help="The cells of all suites, too."),
)
def list_runs(limit: int, journal: str | None, as_json: bool, **wanted: Any) -> None:
    """List the runs in the journal, newest first, and what they cost.

    Winners are those of the last passes: A is the text that stood, B a revision, AB a synthesis, ?
    a pass that decided nothing. Runs that write programs say what they solved of what there is to
    solve, problems times strategies times repeats. A live run is under way now; a killed one can be
    resumed.

    \b
      autoreason runs --status killed --status budget
      autoreason runs --model openai/ --strategy solve --json
    """
    from autoreason.cli.views.console import print_table, stdout_console
    from autoreason.cli.views.outcome import print_json
    from autoreason.journal.listing import select_runs

    with open_journal(journal) as book:
        rows = list(islice(select_runs(book, **wanted), limit + 1))
        found = [(row, _story(book, row)) for row in rows[:limit]]
        empty = not rows and not book.count()
    if as_json:
        print_json([_as_object(row, story) for row, story in found])
    elif found:
        with paged():
            print_table(stdout_console(), _table(found))
            click.echo(_total([row for row, _ in found], more=len(rows) > limit))
    elif empty:
        click.echo("no runs yet; start with `autoreason run`", err=True)
    else:
        click.echo("no run matches; `autoreason runs` lists them all", err=True)


def _story(book: Journal, row: RunRow) -> Story | None:
    """What a list shows of a run; of a set of problems with what came of each."""
    from autoreason.cli.lookup import writes_programs
    from autoreason.journal.listing import readable_story

    story = readable_story(book, row.id)
    return book.story(row.id) if story and row.has_cells and writes_programs(story) else story


def _total(rows: list[RunRow], *, more: bool) -> str:
    """What those that are shown have cost; adding up all others would read the whole journal."""
    from functools import reduce

    from autoreason.exchange import Spent
    from autoreason.journal.run_names import suite_name

    # What a suite has spent contains its cells.
    shown = {row.id for row in rows}
    counted = (row.spent for row in rows if suite_name(row.id) not in shown)
    spent = reduce(Spent.joined, counted, Spent())
    number = numbers.count(len(rows), "run")
    rest = f"; -n {10 * len(rows):,} shows more" if more else ""
    return f"{number}: {allowance.spending(spent)}{rest}"


@runs.command(
    cls=HelpfulCommand, shares="as_json journal", short_help="Take runs out of the journal."
)
@click.argument("named", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_run)
@_deleting
def delete(named: tuple[str, ...], journal: str | None, as_json: bool, **how: bool) -> None:
    """Take runs out of the journal, with everything recorded of them. There is no way back.

    RUN is a run's name or a part of it, last, or @2. A live run is never deleted, nor a suite
    without the one that `lab run --more` made of it. `autoreason runs compact` gives the space back.
    """
    with open_journal(journal) as book:
        rows = {row.id: row for row in map(book.find, named)}
        _delete(book, list(rows.values()), as_json=as_json, **how)


@runs.command(
    cls=HelpfulCommand,
    shares="as_json journal",
    short_help="Delete runs that are older than a while.",
)
@options.group(
    "Which runs",
    options.option(
        "--older-than WHEN",
        type=Moment(),
        required=True,
        help="Not worked on since, such as 30d, 12w or 2026-01-31.",
    ),
    options.option("--status STATUS", "states", multiple=True, help="Only these."),
)
@_deleting
def prune(
    older_than: datetime,
    states: tuple[str, ...],
    journal: str | None,
    as_json: bool,
    **how: bool,
) -> None:
    """Delete runs that were not worked on for a while. There is no way back.

    A live run is never deleted, nor a suite without the one that `lab run --more` made of it.
    `autoreason runs compact` gives the space back.

    \b
      autoreason runs prune --older-than 30d --dry-run
      autoreason runs prune --older-than 30d --status stopped --yes
    """
    from autoreason.journal.listing import select_runs

    with open_journal(journal) as book:
        rows: dict[str, RunRow] = {}
        # The newest first, so that a suite comes after the one that was made of it.
        for row in select_runs(book, states=states):
            if row.updated < older_than and not (row.live or _needed_by(book, row, rows)):
                rows[row.id] = row
        _delete(book, list(rows.values()), as_json=as_json, **how)


def _needed_by(book: Journal, row: RunRow, beside: Collection[str]) -> str | None:
    """A suite that adds to this one and is not deleted with it; None where there is none."""
    later = book.continuation(row.id) if row.has_cells else None
    return None if later in beside else later


def _check_unneeded(book: Journal, rows: list[RunRow]) -> None:
    from autoreason.journal.journal import continued_error
    from autoreason.journal.run_names import owning_run

    ids = {row.id for row in rows}
    for row in rows:
        if row.live:
            owner = owning_run(row.id)
            raise RunLocked(f"{row.id} is live; end it first with `autoreason tell {owner} stop`")
        if later := _needed_by(book, row, ids):
            raise continued_error(row.id, later)


def _delete(book: Journal, rows: list[RunRow], *, yes: bool, dry_run: bool, as_json: bool) -> None:
    from autoreason.cli.views.outcome import print_json

    _check_unneeded(book, rows)
    if not as_json:
        for row in rows:
            click.echo(f"{row.id}  {when(row.created)}  {row.state}  {row.title}", err=True)
    number = numbers.count(len(rows), "run")
    if rows and not (dry_run or yes):
        if as_json or not sys.stdin.isatty():
            raise InvalidInput(
                f"{number} would be deleted for good; add --yes, or --dry-run to look"
            )
        click.confirm(f"Delete {number} for good?", abort=True, err=True)
    if not dry_run:
        for row in sorted(rows, key=lambda row: row.created, reverse=True):
            book.delete_run(row.id)
    if as_json:
        print_json({"deleted": not dry_run, "runs": [row.id for row in rows]})
    else:
        click.echo(f"{number} {'would be deleted' if dry_run else 'deleted'}", err=True)


@runs.command(
    cls=HelpfulCommand,
    shares="as_json html journal",
    short_help="Read every record, or replay one run.",
)
@run_argument(required=False)
def check(run: str | None, journal: str | None, as_json: bool, html: Path | None) -> int:
    """Read every record of every run and name the runs that are damaged; or replay one run.

    With RUN its record is run again, offline, and the events are compared.

    Nothing is written. Exit status 0 where everything is sound or the same, 1 otherwise.
    """
    from autoreason.cli.views.outcome import print_json, show_report

    if run is not None:
        from autoreason.run.recorded import replay

        with open_journal(journal) as book:
            result = replay(book.find(run).id, journal=book)
        show_report(result, as_json=as_json, html=html)
        return 0 if result.same else 1
    path, number, damages = examine(journal)
    if as_json:
        found = [each._asdict() for each in damages]
        print_json({"journal": str(path), "runs": number, "damages": found})
    else:
        for damage in damages:
            click.echo(f"{damage.run or 'the file'}: {damage.what}")
        state = numbers.count(len(damages), "damage") if damages else "sound"
        click.echo(f"{path}, {numbers.count(number, 'run')}: {state}", err=bool(damages))
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


@runs.command(
    cls=HelpfulCommand,
    shares="as_json journal",
    short_help="Copy the journal, also while runs go on.",
)
@click.argument("file", type=options.FILE)
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


@runs.command(
    cls=HelpfulCommand, shares="as_json journal", short_help="Give back space that no run needs."
)
def compact(journal: str | None, as_json: bool) -> None:
    """Make the file as small as it can be.

    Space of deleted runs is given back, texts that no run needs are dropped, and long texts of runs
    that were stored with every request are stored once. No run may be live; as much free space as the journal
    takes is needed meanwhile.
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


@runs.command(cls=HelpfulCommand, shares="as_json", short_help="Copy runs to another journal.")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@options.group("How", options.flag("--no-check", help="Do not replay what was copied."))
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
    from autoreason.run.record import use_journal
    from autoreason.run.recorded import copy_journal

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


def _state(row: RunRow, story: Story | None) -> str:
    return row.state if story else "damaged"


def _as_object(row: RunRow, story: Story | None) -> dict[str, Any]:
    return {
        "run": row.id,
        "created": row.created,
        "updated": row.updated,
        "status": _state(row, story),
        "strategy": story.job.name if story and story.job else None,
        **_progress(story),
        "calls": row.spent.calls,
        "tokens": row.spent.tokens,
        "cost": row.spent.cost,
        "title": row.title,
        "forked_from": row.forked_from,
    }


def _progress(story: Story | None) -> dict[str, Any]:
    """How far a run has come: passes of a text, or programs that pass of those there are to be."""
    score, kept = _score(story), _kept(story)
    text = story if score is None and kept is None else None
    return {
        "passes": len(text.trajectory) if text else None,
        "trajectory": text.trajectory if text else None,
        "solved": score.solved if score else None,
        "to_solve": score.total if score else None,
        "kept": kept.solved if kept else None,
        "trials": kept.total if kept else None,
    }


def _kept(story: Story | None) -> _Score | None:
    """The proposals of a research run that were kept, and all that are decided; None of any other run."""
    if story is None or story.writes != "files":
        return None
    from autoreason.artifacts.trial_events import TrialDecided

    trials = story.of(TrialDecided)
    return _Score(sum(trial.status == "kept" for trial in trials), len(trials))


class _Score(NamedTuple):
    solved: int
    total: int


def _score(story: Story | None) -> _Score | None:
    """What was solved of a set of problems; None of any other run."""
    from autoreason.cli.lookup import writes_programs

    if story is None or not writes_programs(story):
        return None
    from autoreason.programs.units import units_of
    from autoreason.studies.lab.lab_suite import CellFinished, count_cells, suite_of

    if suite := suite_of(story.task):
        passed = sum(bool(each.result.passed) for each in story.of(CellFinished))
        return _Score(passed, count_cells(suite))
    assigned = assignments_of(story.task) if story.task else ()
    units = units_of(solved_in(story), {each.id: each for each in assigned})
    return _Score(sum(bool(unit.solved) for unit in units), 1)


def _table(found: list[tuple[RunRow, Story | None]]) -> Table:
    from autoreason.events import FINISHED
    from autoreason.journal.listing import STATES
    from autoreason.report.table import Column, Table, Tone

    tones: dict[str, Tone] = dict.fromkeys(STATES, "warning")
    tones.update(dict.fromkeys(FINISHED, "good"), live="muted")
    columns = [
        Column("run", figures=False),
        Column("when", figures=False, spare=1),
        Column("status", figures=False),
        Column("passes", spare=4),
        Column("winners", figures=False),
        Column("calls", spare=2),
        Column("cost", spare=3),
        Column("title", figures=False, least=_LEAST_TITLE),
    ]
    return Table(columns, [_cells(row, story) for row, story in found], tones=tones)


_LEAST_TITLE = 20
_SHOWN = 6
"""Winners of the last passes."""


def _cells(row: RunRow, story: Story | None) -> tuple[str, ...]:
    job = story.job if story else None
    # A title need not name what is usual.
    named = job and not (job.is_tournament or job.writes in ("programs", "files"))
    won = story.trajectory if story else ()
    score, kept = _score(story), _kept(story)
    progress = statements.winners(won, _SHOWN) or "-"
    if score:
        progress = f"solved {score.solved} of {score.total}"
    elif kept:
        progress = f"kept {kept.solved} of {kept.total}"
    return (
        row.id,
        when(row.created),
        _state(row, story),
        "-" if score or kept else f"{len(won):,}",
        progress,
        f"{row.spent.calls:,}",
        numbers.money(row.spent.cost),
        f"{job.label}: {row.title}" if job and named and not score else row.title,
    )
