"""`runs` and `view`: the runs in the journal, on a terminal or in a browser, and taking care of it."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli.command import (
    REPORT,
    Command,
    Group,
    Output,
    open_journal,
    print_message,
    shared,
)
from autoreason.cli.lookup import complete_run, is_contest, run_argument, when, writes_programs
from autoreason.cli.options import FILE, group, option
from autoreason.errors import InvalidInput, JournalError, RunLocked
from autoreason.report import numbers
from autoreason.wording import KINDS, in_words

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from autoreason.files import Place
    from autoreason.journal import Journal, RunRow
    from autoreason.report.report import Report
    from autoreason.report.table import Table
    from autoreason.story import Story


_LEAST_TITLE = 20
_SHOWN = 8


@click.group(cls=Group, default="list")
def runs() -> None:
    """List runs and take care of the journal they are in.

    Without a command, runs are listed, with the options of `runs list`. The journal is one SQLite
    file with every run in it: AUTOREASON_JOURNAL or journal.db in your data folder, unless --journal
    names another. For several machines it is a PostgreSQL database: postgresql://user@host/database.

    \b
      autoreason runs --since 7d --search wedding
      autoreason runs delete --older-than 90d --dry-run
      autoreason runs backup ~/backups/journal.db
      autoreason runs copy ~/journal.db postgresql://ada@db.lab/runs
    """


@runs.command("list", paged=True, shares="as_json book")
@group(
    "Which runs",
    option("-n N", "How many.", name="limit", type=click.IntRange(1, 1_000_000), default=20),
    option(
        "--status STATUS...",
        "live, killed, damaged, converged, capped, done, accepted, budget, stopped, "
        "waiting, panel_failed, provider_failed or metric_failed.",
        name="states",
    ),
    option("--strategy NAME", "Of this strategy, or of this kind: solve, compare …"),
    option("--model TEXT", "A model's address contains this."),
    option("--since WHEN", "Started at 2026-11-15 or 7d ago, or later."),
    option("--until WHEN", "Started before."),
    option("--search TEXT", "The title or the name contains this."),
    option("--suite NAME", "Those of this suite: its run, or its name for the newest."),
    option("--all", "Those of all suites, too.", name="cells"),
)
def list_runs(limit: int, book: Journal, **wanted: Any) -> Output:
    """List the runs in the journal, newest first, and what they cost.

    Preferred means that fresh judges prefer the text to the first draft. Rounds are marked by what
    won them: ▲ a rewrite, ◆ a merge, ■ the text so far, which was kept, ? nothing. Runs that write
    programs say what they solved of what there is to solve, problems times strategies times repeats.
    An interrupted run can be resumed. `autoreason view` shows the same in a browser.
    """
    from autoreason.journal.listing import select_runs

    rows = list(islice(select_runs(book, **wanted), limit + 1))
    found = [(row, _story(book, row)) for row in rows[:limit]]
    value = [_as_object(row, story) for row, story in found]
    if found:
        total = _total([row for row, _ in found], more=len(rows) > limit)
        return Output(value, lines=[_table(found), total])
    if book.count():
        return Output(value, notes=["no run matches; `autoreason runs` lists them all"])
    return Output(value, notes=["no runs yet; start with `autoreason run`"])


def _story(book: Journal, row: RunRow) -> Story | None:
    """What a list shows of a run; of a set of problems with what came of each."""
    from autoreason.journal.listing import readable_story

    story = readable_story(book, row.id)
    return book.story(row.id) if story and row.has_cells and writes_programs(story) else story


def _total(rows: list[RunRow], *, more: bool) -> str:
    """What those that are shown have cost; adding up all others would read the whole journal."""
    from autoreason.exchange import Spent
    from autoreason.journal.run_names import suite_name
    from autoreason.report.numbers import spending

    # What a suite has spent contains its cells.
    shown = {row.id for row in rows}
    counted = (row.spent for row in rows if suite_name(row.id) not in shown)
    spent = reduce(Spent.joined, counted, Spent())
    number = numbers.count(len(rows), "run")
    rest = f"; -n {10 * len(rows):,} shows more" if more else ""
    return f"{number}: {spending(spent)}{rest}"


@runs.command(shares="as_json book")
@click.argument("named", nargs=-1, metavar="[RUN]...", shell_complete=complete_run)
@group(
    "Which runs",
    option("--older-than WHEN", "Not worked on since, such as 30d or 2026-01-31."),
    option("--status STATUS...", "Of those, only these.", name="states"),
)
@group("How", option("--yes", "Do not ask."), option("--dry-run", "Only say what would go."))
def delete(
    named: tuple[str, ...],
    older_than: datetime | None,
    states: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    book: Journal,
) -> Output:
    """Take runs out of the journal for good: those named, or old ones.

    A live run is never deleted, nor a suite without the one that `lab run --more` made of it.
    `autoreason runs compact` gives the space back.
    """
    from autoreason.journal.journal import continued_error
    from autoreason.journal.listing import select_runs
    from autoreason.journal.run_names import owning_run

    if bool(named) == bool(older_than):
        raise InvalidInput("name runs, or say which with --older-than")
    rows = {row.id: row for row in map(book.find, named)}
    for row in rows.values():
        if row.live:
            owner = owning_run(row.id)
            raise RunLocked(f"{row.id} is live; end it first with `autoreason tell {owner} stop`")
        if later := _needed_by(book, row, rows):
            raise continued_error(row.id, later)
    if older_than:
        # The newest first, so that a suite comes after the one that was made of it.
        for row in select_runs(book, states=states):
            if row.updated < older_than and not (row.live or _needed_by(book, row, rows)):
                rows[row.id] = row
    as_json, number = shared("as_json"), numbers.count(len(rows), "run")
    if not as_json:
        for row in rows.values():
            click.echo(f"{row.id}  {when(row.created)}  {row.state}  {row.title}", err=True)
    if rows and not (dry_run or yes):
        if as_json or not sys.stdin.isatty():
            raise InvalidInput(f"{number} would be gone for good; add --yes, or --dry-run to look")
        click.confirm(f"Delete {number} for good?", abort=True, err=True)
    if not dry_run:
        for row in sorted(rows.values(), key=lambda row: row.created, reverse=True):
            book.delete_run(row.id)
            _forget_page(row.id)
    done = f"{number} {'would be deleted' if dry_run else 'deleted'}"
    return Output({"deleted": not dry_run, "runs": [*rows]}, notes=[done])


def _needed_by(book: Journal, row: RunRow, beside: Collection[str]) -> str | None:
    """A suite that adds to this one and is not deleted with it; None where there is none."""
    later = book.continuation(row.id) if row.has_cells else None
    return None if later in beside else later


@runs.command(shares=f"{REPORT} journal")
@run_argument(required=False)
def check(run: str | None, journal: str | None) -> Output | tuple[Report, int]:
    """Read every record and name damaged runs; or replay one run.

    With RUN its record is run again, offline, and the events are compared.

    Nothing is written. Exit status 0 where everything is sound or the same, 1 otherwise.
    """
    from autoreason.cli.console import ProgressLine
    from autoreason.journal import maintenance

    if run is not None:
        from autoreason.run.recorded import replay

        with open_journal(journal) as book:
            result = replay(book.find(run).id, journal=book)
        return result, 0 if result.same else 1
    place, number = _existing(journal), 0
    with open_journal(journal) as book, ProgressLine() as progress:
        damages = maintenance.check(book, progress.show)
        with suppress(JournalError):
            number = book.count()
    value = {"journal": str(place), "runs": number, "damages": [each._asdict() for each in damages]}
    state = numbers.count(len(damages), "damage") if damages else "sound"
    summary = f"{place}, {numbers.count(number, 'run')}: {state}"
    if not damages:
        return Output(value, lines=[summary])
    named = [f"{damage.run or 'the file'}: {damage.what}" for damage in damages]
    return Output(value, named, [summary], status=1)


def _existing(url: str | None) -> Place:
    """Where a journal is; one that is not there may be a typing error."""
    from autoreason.journal.journal import locate, open_store

    place = locate(url)
    if not open_store(place).exists():
        raise InvalidInput(
            f"no journal at {place}; correct its name, or start with `autoreason run`"
        )
    return place


@runs.command(shares="as_json journal")
@click.argument("file", type=FILE)
def backup(file: Path, journal: str | None) -> Output:
    """Copy the journal to FILE, also while runs go on.

    FILE must not exist. The copy is a journal: use it with --journal FILE.
    """
    from autoreason.cli.console import ProgressLine
    from autoreason.journal import maintenance
    from autoreason.journal.journal import locate

    path = locate(journal)
    with ProgressLine("copying"):
        maintenance.back_up(path, file.absolute())
    size = file.stat().st_size
    copied = f"{path} is copied to {file}, {numbers.megabytes(size)}"
    return Output({"journal": str(path), "copy": str(file), "bytes": size}, notes=[copied])


@runs.command(shares="as_json journal")
def compact(journal: str | None) -> Output:
    """Make the journal as small as it can be.

    The space of deleted runs is given back; other runs stay as they are. Long texts are stored once
    for each run and compressed, with or without this. No run may be live; as much free space as the
    journal takes is needed meanwhile.
    """
    from autoreason.cli.console import ProgressLine
    from autoreason.journal import maintenance
    from autoreason.journal.journal import locate

    path = locate(journal)
    with ProgressLine() as progress:
        before, after = maintenance.compact(path, progress.show)
    sizes = f"{numbers.megabytes(before)} before, {numbers.megabytes(after)} after"
    value = {"journal": str(path), "bytes_before": before, "bytes_after": after}
    return Output(value, notes=[f"{path}: {sizes}"])


@runs.command(shares="as_json")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@group("How", option("--no-check", "Do not replay what was copied."))
def copy(source: str, target: str, no_check: bool) -> Output:
    """Copy every run of the journal FROM to the journal TO.

    Both are files or PostgreSQL databases. A run that TO has already is left as it is, and named
    where the two differ; one that is damaged or live is named and left out. What has arrived is
    compared record by record, and each finished run is replayed from TO, offline. Interrupted, it
    goes on when it is repeated. Exit status 0 where all is there and the same, 1 otherwise.
    """
    from autoreason.cli.console import ProgressLine
    from autoreason.journal.run_names import suite_name
    from autoreason.run.record import use_journal
    from autoreason.run.recorded import copy_journal

    place = _existing(source)
    with (
        open_journal(source) as book,
        use_journal(target, create=True) as other,
        ProgressLine() as progress,
    ):
        result = copy_journal(book, other, progress.show, check=not no_check)
        destination = other.place
    wrong = {**result.damaged, **result.conflicts, **result.differences, **result.failed}
    wrong |= {
        run: f"{run} is live and is not copied; copy again when it has ended"
        for run in result.live
        if suite_name(run) not in result.live
    }
    value = {"from": str(place), "to": str(destination), **result._asdict()}
    parts = {"replayed": result.replayed, "already there": result.there, "with a problem": wrong}
    copied = f"{numbers.count(len(result.copied), 'run')} copied and compared"
    rest = "".join(f", {len(runs):,} {what}" for what, runs in parts.items() if runs)
    summary = f"{place} to {destination}: {copied}{rest}"
    return Output(value, list(wrong.values()), [summary], status=1 if wrong else 0)


def _as_object(row: RunRow, story: Story | None) -> dict[str, Any]:
    from autoreason.pages.listed import describe_run

    score, listed = _score(story), describe_run(row, story, "")
    text = None if score else story
    described = ("cost_limit", "title", "outcome", "words_before", "words", "limits")
    return {
        "run": row.id,
        **{name: getattr(row, name) for name in ("created", "updated", "forked_from")},
        "status": row.state if story else "damaged",
        "strategy": story.job.name if story and story.job else None,
        "passes": len(text.trajectory) if text else None,
        "trajectory": text.trajectory if text else None,
        **dict.fromkeys(("solved", "to_solve", "kept", "trials")) | score,
        **{name: getattr(row.spent, name) for name in ("calls", "tokens", "cost")},
        **{name: getattr(listed, name) for name in described},
        "fresh_judges": story.delivered.evidence.preference if story and story.delivered else None,
    }


def _score(story: Story | None) -> dict[str, int]:
    """What was solved of all problems, or kept of all proposals; empty of any other run."""
    from autoreason.programs.events import solved_in

    if story is None or not (writes_programs(story) or story.writes == "files"):
        return {}
    from autoreason.artifacts.research_history import TrialDecided
    from autoreason.studies.lab_suite import CellFinished, count_cells, suite_of

    if story.writes == "files":
        trials = story.of(TrialDecided)
        return {"kept": sum(each.status == "kept" for each in trials), "trials": len(trials)}
    suite = suite_of(story.task)
    ended = [each.result.solved for each in story.of(CellFinished)] if suite else solved_in(story)
    solved = sum(bool(each and each.passed) for each in ended)
    return {"solved": solved, "to_solve": count_cells(suite) if suite else 1}


def _table(found: list[tuple[RunRow, Story | None]]) -> Table:
    from autoreason.pages.listed import OUTCOMES
    from autoreason.report.table import Column, Table

    columns = [
        Column("run", figures=False),
        Column("when", figures=False, spare=2, least=11),
        Column("outcome", figures=False),
        Column("rounds", figures=False),
        Column("words", figures=False, spare=1),
        Column("cost", spare=3),
        Column("title", figures=False, least=_LEAST_TITLE),
    ]
    rows = [_cells(row, story) for row, story in found]
    return Table(columns, rows, tones=dict(OUTCOMES.values()))


def _cells(row: RunRow, story: Story | None) -> tuple[str, ...]:
    from autoreason.pages.listed import OUTCOMES, describe_length, describe_run

    listed, score = describe_run(row, story, ""), _score(story)
    marks = [KINDS[kind].mark if kind else "?" for kind in listed.rounds]
    progress = f"{'…' if marks[_SHOWN:] else ''}{''.join(marks[-_SHOWN:])}"
    title = listed.title
    if score:
        done, of = score.values()
        progress = f"{next(iter(score))} {done} of {of}"
    elif story and story.job and not is_contest(story):
        label = listed.kind if listed.kind == "comparison" else in_words(story.job.label)
        title = f"{label}: {title}"
    figures = progress or "-", describe_length(listed) or "-", numbers.money(row.spent.cost)
    return row.id, when(row.created), OUTCOMES[listed.outcome][0], *figures, title


@click.command(cls=Command, shares="book")
@run_argument(required=False)
@group(
    "How",
    option(
        "-n", "Without RUN: how many runs.", name="limit", type=click.IntRange(1, 1000), default=20
    ),
    option("--no-browser", "Only write the page and print where it is."),
)
def view(run: str | None, limit: int, no_browser: bool, book: Journal) -> None:
    """Open the page of a run, or a list of runs, in a browser.

    RUN is a run's name or a part of it, last, or @2 for the one before; without one, the newest runs
    are listed. Pages are files in your cache folder; where they are is printed. `autoreason export
    --site DIR` writes pages to keep or to publish.

    \b
      autoreason view last
      autoreason view
    """
    from autoreason.run.site import write_page, write_site

    folder = _folder()
    if run is not None:
        page = write_page(folder, book.find(run), book, private=True)
    else:
        from autoreason.cli.console import ProgressLine

        rows = list(islice(book.iter_runs(page=limit), limit))
        if not rows:
            print_message("no runs yet; start with `autoreason run`")
            return
        with ProgressLine("pages") as progress:
            site = write_site(folder, rows, book, progress, temporary=True)
        page = site.listing
    click.echo(page)
    if not (no_browser or _open(page)):
        print_message("no browser could be opened; open that file in one")


def _forget_page(run: str) -> None:
    """Remove what was made to view a run that is deleted, the list that names it too."""
    from autoreason.run.site import page_address

    for page in (page_address(run), "index.html"):
        (_folder() / page).unlink(missing_ok=True)


def _folder() -> Path:
    from autoreason.files import cache_folder

    return cache_folder() / "pages"


def _open(page: Path) -> bool:
    import os
    import webbrowser

    # Without a screen, a browser for terminals would be started and take this one over.
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform == "linux" and not any(map(os.environ.get, screens)):
        return False
    return webbrowser.open(page.as_uri())
