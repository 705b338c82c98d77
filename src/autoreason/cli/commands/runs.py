"""`autoreason runs`: the runs in the journal, which they are, and taking them out of it."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import complete_run, open_journal
from autoreason.cli.times import Moment, when
from autoreason.cli.views.pager import paged
from autoreason.errors import InvalidInput, RunLocked
from autoreason.jobs import spending
from autoreason.programs.events import solved_in
from autoreason.programs.task import assignments_of
from autoreason.report import numbers
from autoreason.tournament import statements

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from autoreason.journal import Journal, RunRow
    from autoreason.report.table import Table
    from autoreason.story import Story


_deleting = options.group(
    "How",
    options.flag("--yes", help="Do not ask."),
    options.flag("--dry-run", help="Only say what would be deleted."),
)


@click.group(cls=HelpfulGroup, invoke_without_command=True)
@options.group(
    "Which runs",
    options.option(
        "-n", "limit", type=Number(1, 1_000_000), default=20, show_default=True, help="How many."
    ),
    options.option(
        "--status STATUS",
        "states",
        multiple=True,
        help="live, killed, damaged, converged, capped, done, accepted, budget, stopped, "
        "panel_failed, provider_failed or metric_failed. Repeatable.",
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
@options.journal_option
@options.json_option
@click.pass_context
def runs(
    ctx: click.Context, /, limit: int, journal: str | None, as_json: bool, **wanted: Any
) -> None:
    """List, search, delete and prune runs.

    The runs in the journal, newest first, and what they cost.
    Winners are those of the last passes: A is the text that stood, B a revision, AB a synthesis, ?
    a pass that decided nothing. Runs that write programs say what they solved of what there is to
    solve, problems times strategies times repeats. A live run is under way now; a killed one can be
    resumed.

    \b
      autoreason runs --since 7d --search wedding
      autoreason runs --status killed --status budget
      autoreason runs --model openai/ --strategy solve --json
      autoreason runs delete amber-fox @2
      autoreason runs prune --older-than 90d --dry-run
    """
    from autoreason.cli.views.console import print_table, stdout_console
    from autoreason.cli.views.outcome import print_json
    from autoreason.journal.listing import select_runs

    if ctx.invoked_subcommand:
        if any(wanted.values()):
            raise InvalidInput("options that choose runs go with the list; `delete` takes names")
        ctx.default_map = {ctx.invoked_subcommand: {"journal": journal, "as_json": as_json}}
        return
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
    return f"{number}: {spending.spending(spent)}{rest}"


@runs.command(cls=HelpfulCommand, short_help="Take runs out of the journal.")
@click.argument("named", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_run)
@_deleting
@options.journal_option
@options.json_option
def delete(named: tuple[str, ...], journal: str | None, as_json: bool, **how: bool) -> None:
    """Take runs out of the journal, with everything recorded of them. There is no way back.

    RUN is a run's name or a part of it, last, or @2. A live run is never deleted, nor a suite
    without the one that `lab add` made of it. `autoreason journal compact` gives the space back.
    """
    with open_journal(journal) as book:
        rows = {row.id: row for row in map(book.find, named)}
        _delete(book, list(rows.values()), as_json=as_json, **how)


@runs.command(cls=HelpfulCommand, short_help="Delete runs that are older than a while.")
@options.group(
    "Which runs",
    options.option(
        "--older-than WHEN",
        type=Moment(),
        required=True,
        help="Not worked on since, such as 30d, 12w or 2026-01-31.",
    ),
    options.option("--status STATUS", "states", multiple=True, help="Only these. Repeatable."),
)
@_deleting
@options.journal_option
@options.json_option
def prune(
    older_than: datetime,
    states: tuple[str, ...],
    journal: str | None,
    as_json: bool,
    **how: bool,
) -> None:
    """Delete runs that were not worked on for a while. There is no way back.

    A live run is never deleted, nor a suite without the one that `lab add` made of it.
    `autoreason journal compact` gives the space back.

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
    from autoreason.journal.error_messages import continued_error
    from autoreason.journal.run_names import owning_run

    ids = {row.id for row in rows}
    for row in rows:
        if row.live:
            owner = owning_run(row.id)
            raise RunLocked(f"{row.id} is live; end it first with `autoreason stop {owner}`")
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


def _state(row: RunRow, story: Story | None) -> str:
    return row.state if story else "damaged"


def _as_object(row: RunRow, story: Story | None) -> dict[str, Any]:
    return {
        "run": row.id,
        "created": row.created,
        "updated": row.updated,
        "status": _state(row, story),
        "strategy": _strategy(story),
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
    if story is None or _strategy(story) != "research":
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
_UNNAMED = (None, "autoreason", "solve", "research")
"""Strategies that a title need not name."""


def _strategy(story: Story | None) -> str | None:
    return story.settings.strategy if story and story.settings else None


def _cells(row: RunRow, story: Story | None) -> tuple[str, ...]:
    from autoreason.run.kinds import job_label

    strategy = _strategy(story)
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
        row.title if score or strategy in _UNNAMED else f"{job_label(strategy or '')}: {row.title}",
    )
