"""`autoreason watch`: follow a live run from another terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import find_run, open_journal, run_argument

if TYPE_CHECKING:
    from datetime import datetime

    from autoreason.cli.views.live import Live
    from autoreason.cli.views.steps import Call
    from autoreason.cli.views.view import View
    from autoreason.journal import Journal, PendingRequest
    from autoreason.run.record import WorkingTime

_LOOK_EVERY = 0.5


@click.command(cls=HelpfulCommand)
@run_argument(required=False)
@options.journal_option
@options.group(
    "Output",
    options.flag("--no-live", help="A line per step instead of the live view."),
)
def watch(run: str | None, journal: str | None, no_live: bool) -> int:
    """Follow a live run from another terminal, until it ends.

    RUN defaults to the live one. Ctrl-C ends the watching, not the run.
    """
    from autoreason.cli.output import OutputOptions
    from autoreason.cli.runner import INTERRUPTED, choose_view, recorded_live
    from autoreason.cli.views import outcome
    from autoreason.cli.views.console import stderr_console
    from autoreason.run.record import recorded_result

    console = stderr_console()
    with open_journal(journal) as book:
        row = find_run(book, run, lambda row: row.live, "live run")
        view = choose_view(recorded_live(row.id, book), OutputOptions(live=not no_live), console)
        try:
            view.open()
            _follow(book, row.id, view)
        except KeyboardInterrupt:
            view.close()
            print(f"no longer watching; {row.id} goes on", file=sys.stderr)
            return INTERRUPTED
        finally:
            view.close()
        row = book.find(row.id)
        story = view.live.story
        result = recorded_result(row, story, book)
        if view.live.study and (story.end or view.live.researching):
            from autoreason.run.reports import reported_result

            outcome.show_report(reported_result(result, book))
            return 0
    outcome.print_report(result, console)
    return 0


def _follow(book: Journal, run: str, view: View) -> None:
    import time

    from autoreason.run.record import working_time

    times = working_time(run, journal=book)
    seen, looked = 0, float("-inf")
    while True:
        if time.monotonic() - looked >= _LOOK_EVERY:
            looked = time.monotonic()
            # Asked first: what was written until then is seen by the look that follows.
            locked = book.lock_owner(run) is not None
            seen = _look(book, run, view, times, seen)
            if not locked or view.live.story.status != "running":
                return
        view.refresh()
        time.sleep(min(view.period, _LOOK_EVERY))


def _look(book: Journal, run: str, view: View, times: WorkingTime, seen: int) -> int:
    live = view.live
    for seq, at, event in book.events(run, seen):
        live.event_time = times.until(at)
        view.on_event(event)
        seen = seq
    live.event_time = None
    live.started = live.clock() - times.until(_now())
    calls = {asked.key: _call(asked, live) for asked in book.in_flight(run)}
    if live.lab:
        calls |= _cells(book, run, live)
    live.under_way(calls)
    live.spent = book.spent(run)
    return seen


def _cells(book: Journal, run: str, live: Live) -> dict[str, Call]:
    """The cells of a suite that are under way, and what they have spent so far."""
    from autoreason.cli.views.live import CELL
    from autoreason.cli.views.steps import Call
    from autoreason.journal.run_names import cell_name
    from autoreason.keys import sub_key
    from autoreason.run.lab_status import running_cells
    from autoreason.run.record import working_time

    runs = set(running_cells(run, book))
    live.spent_by_cell |= {each: book.spent(each) for each in runs}
    calls = {}
    for part, cell in live.cells.items():
        if (name := cell_name(run, cell.number)) in runs:
            key = sub_key(part, CELL)
            worked = 0.0 if key in live.calls else working_time(name, journal=book).until(_now())
            calls[key] = Call(key, CELL, "", live.clock() - worked)
    return calls


def _call(asked: PendingRequest, live: Live) -> Call:
    from autoreason.cli.views.steps import Call

    age = (_now() - asked.at).total_seconds()
    return Call(asked.key, asked.role, asked.model, live.clock() - age)


def _now() -> datetime:
    from datetime import UTC, datetime

    return datetime.now(UTC)
