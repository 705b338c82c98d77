"""A run followed from another terminal: its record, read again and again until it ends."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from autoreason.cli.output import OutputOptions
from autoreason.cli.runner import INTERRUPTED, choose_view, recorded_live
from autoreason.cli.views import outcome
from autoreason.cli.views.console import stderr_console
from autoreason.cli.views.live import CELL
from autoreason.cli.views.steps import Call
from autoreason.journal.run_names import cell_name
from autoreason.keys import sub_key
from autoreason.run.lab_status import running_cells
from autoreason.run.record import WorkingTime, recorded_result, working_time
from autoreason.run.reports import reported_result

if TYPE_CHECKING:
    from autoreason.cli.views.live import Live
    from autoreason.cli.views.view import View
    from autoreason.journal import Journal, PendingRequest

_READ_EVERY = 0.5


def follow(book: Journal, run: str, progress: str | None) -> int:
    """Show a run until it ends, then how it ended; Ctrl-C ends the watching, not the run."""
    console = stderr_console()
    view = choose_view(recorded_live(run, book), OutputOptions(progress=progress), console)
    try:
        view.open()
        _follow(book, run, view)
    except KeyboardInterrupt:
        view.close()
        print(f"no longer watching; {run} goes on", file=sys.stderr)
        return INTERRUPTED
    finally:
        view.close()
    story = view.live.story
    result = recorded_result(book.find(run), story, book)
    if view.live.study and (story.end or view.live.researching):
        outcome.show_report(reported_result(result, book))
    else:
        outcome.print_report(result, console)
    return 0


def _follow(book: Journal, run: str, view: View) -> None:
    times = working_time(run, journal=book)
    seen, last_read = 0, float("-inf")
    while True:
        if time.monotonic() - last_read >= _READ_EVERY:
            last_read = time.monotonic()
            # Asked first: what was written until then is seen by the reading that follows.
            locked = book.lock_owner(run) is not None
            seen = read_new(book, run, view, times, seen)
            if not locked or view.live.story.status != "running":
                return
        view.refresh()
        time.sleep(min(view.period, _READ_EVERY))


def read_new(book: Journal, run: str, view: View, times: WorkingTime, seen: int) -> int:
    """Show what was recorded since `seen`, and what is under way; return the last that was seen."""
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
    age = (_now() - asked.at).total_seconds()
    return Call(asked.key, asked.role, asked.model, live.clock() - age)


def _now() -> datetime:
    return datetime.now(UTC)
