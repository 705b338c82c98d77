"""Drives a run and shows it meanwhile; heeds Ctrl-C, and ends with its text and exit status."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource

from autoreason.cli.embedded import model_notes, require_weights
from autoreason.cli.help import with_own_flags
from autoreason.cli.output import OutputOptions
from autoreason.cli.views import outcome
from autoreason.cli.views.certificates import warn_of_failed_judges
from autoreason.cli.views.live import LAST_WAIT, Live
from autoreason.cli.views.message import print_message
from autoreason.cli.views.view import View
from autoreason.job_types import Lab
from autoreason.run.result import Result, StopSwitch, how_to_go_on

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.journal import Journal
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.products import ResearchResult, Solution
    from autoreason.settings import Settings
    from autoreason.task import Task

INTERRUPTED = 130
_TREATED_AS_TERMINALS = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Variables by which a user says so of what is none."""
_STARTED = 0.3
"""Seconds after which everything is loaded."""
_COLLECT_EVERY = 5000
"""Objects, from then on."""


def choose_view(live: Live, output: OutputOptions, console: Console | None, known: int = 0) -> View:
    """The live view on a terminal that can redraw and shows no log, else a line per step."""
    if output.quiet:
        return View(live)
    redrawn = output.progress != "lines" and not os.environ.get("AUTOREASON_LOG")
    if redrawn and console and console.is_terminal and not console.is_dumb_terminal:
        from autoreason.cli.views.screen import Screen

        return Screen(live, console)
    from autoreason.cli.views.plain import Plain

    return Plain(live, skip=known)


def recorded_live(run: str, journal: Journal) -> Live:
    """A run that goes on, with the time and, of a suite, the spending that earlier processes recorded."""
    from autoreason.run.cell_budget import time_worked
    from autoreason.run.record import working_time

    worked = working_time(run, journal=journal).seconds
    live, settings = Live(run, worked=worked), journal.settings(run)
    if settings and isinstance(settings.job, Lab):
        live.worked_on_bases = time_worked(journal.row(run), journal) - worked
        cells = journal.cells(run)
        live.spent_by_cell = {each.id: each.spent for each in cells}
        live.worked_by_cell = {
            each.id: working_time(each.id, journal=journal).seconds
            for each in cells
            if not each.finished
        }
    return live


Drive = Callable[..., Coroutine[Any, Any, Result]]
"""Drives a run to its end; takes the hooks of a run."""


def run_prepared(prepared: PreparedRun[Any], values: dict[str, Any]) -> int:
    """Drive a run to its end, or with --dry-run show what it would do."""
    if values.get("dry_run"):
        from autoreason.cli.views.preview import dry_run

        for line in _unused(prepared.settings):
            print_message(f"autoreason: {line}")
        return dry_run(prepared, as_json=values["as_json"], html=values["html"])
    return start_run(prepared.run_async, prepared, values)


def start_run(
    drive: Drive,
    prepared: PreparedRun[Any],
    values: dict[str, Any],
    notes: list[str] | None = None,
    live: Live | None = None,
) -> int:
    """Drive a new run to its end, once there is what its models need, and return the exit status.

    `notes` are shown before the first request; `drive` may add to them until then.
    """
    require_weights(prepared.settings)
    warn_of_failed_judges(prepared.settings, prepared.prompts)
    notes = [] if notes is None else notes
    notes += [*model_notes(prepared.settings), *_unused(prepared.settings)]
    output = OutputOptions.of(values)
    sent = disclosure(prepared.task, prepared.settings, quiet=output.quiet)
    return drive_run(drive, output, notes=notes, sent=sent, live=live)


def _unused(settings: Settings) -> list[str]:
    """That a switch which was given on the command line does nothing."""
    from autoreason.strategies.registry import job_class, unused_setting

    context = click.get_current_context()
    given = [
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    given += [each.partition("=")[0].strip() for each in context.params.get("changes") or ()]
    sentence = unused_setting(settings, given, [job_class(settings.job).used_settings])
    return [with_own_flags(sentence)] if sentence else []


def drive_run(
    drive: Drive,
    output: OutputOptions,
    *,
    notes: Sequence[str] = (),
    sent: Sequence[str] = (),
    live: Live | None = None,
    known: int = 0,
) -> int:
    """Drive a run from here to its end, show it meanwhile, and return the exit status.

    `notes` are shown before the first request; so is `sent`, what leaves this machine, also where all else is
    quiet. `live` has what was done before, of a run that goes on.
    """
    console = None if output.quiet else _console()
    view = choose_view(live or Live(), output, console, known)
    warnings: list[str] = []

    def announce() -> None:
        for line in notes:
            view.print_note(line)
        for line in sent:
            (print_message if output.quiet else view.print_note)(line)

    result = asyncio.run(_drive(drive, view, announce, warnings))
    for line in warnings:
        print_message(f"autoreason: {line}")
    if view.live.solving or view.live.solving_set:
        from autoreason.cli.views import solution_set
        from autoreason.cli.views.console import stderr_console

        return solution_set.end(cast("Solution", result), output, console or stderr_console())
    if view.live.researching:
        from autoreason.cli.views import research_outcome

        return research_outcome.end(cast("ResearchResult", result), output, console)
    if view.live.study and result.finished:
        outcome.show_report(result, as_json=output.as_json, html=output.html)
        return 0
    return outcome.end_run(result, output, console)


def disclosure(task: Task, settings: Settings, *, quiet: bool) -> list[str]:
    """What is sent where of the user's own records; where all else is quiet, only what leaves this machine."""
    if task.knowledge is None and task.work is None:
        return []
    from autoreason.run.knowledge_choice import destinations, disclose_task
    from autoreason.tournament.statements import predictor_seat

    sent, known = disclose_task(task, settings), task.knowledge
    if quiet:
        leaves = destinations(settings.models, settings.base_url)
        return [sent] if sent and leaves and (not known or known.shown or known.withheld) else []
    return [each for each in (sent, predictor_seat(task, settings)) if each]


def _console() -> Console | None:
    """Where a terminal shows what we print; None where it goes to a file, and needs none of that."""
    if not sys.stderr.isatty() and _TREATED_AS_TERMINALS.isdisjoint(os.environ):
        return None
    from autoreason.cli.views.console import stderr_console

    return stderr_console()


async def _drive(
    drive: Drive, view: View, announce: Callable[[], None], warnings: list[str]
) -> Result:
    switch = StopSwitch()
    interrupts = Interrupts(view, switch)

    def ready() -> None:
        interrupts.begin()
        announce()

    ticking = asyncio.create_task(_tick(view))
    collecting = asyncio.get_running_loop().call_later(_STARTED, _collect_garbage)
    try:
        with interrupts:
            view.open()
            return await drive(
                on_ready=ready,
                on_started=lambda run: setattr(view.live, "run", run),
                on_event=view.on_event,
                on_signal=view.on_signal,
                on_warning=warnings.append,
                stop_switch=switch,
            )
    finally:
        collecting.cancel()
        ticking.cancel()
        view.close()


def _collect_garbage() -> None:
    """What the start left, once: it is not looked for while modules are loaded, and now a model writes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_EVERY)


async def _tick(view: View) -> None:
    while True:
        await asyncio.sleep(view.period)
        view.refresh()


class Interrupts:
    """Ctrl-C once stops the run cleanly, and at once while nothing is asked yet; twice ends it at once."""

    def __init__(self, view: View, switch: StopSwitch) -> None:
        self._view = view
        self._switch = switch
        self._loop = asyncio.get_running_loop()
        self._asked = False
        self._preparing = asyncio.current_task()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        # Not the loop's own way: the second time must not wait for a loop that is busy.
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._interrupt)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._asked and kind is asyncio.CancelledError:
            raise KeyboardInterrupt from None

    def begin(self) -> None:
        """From now on there is something to wait for."""
        if self._asked:
            raise KeyboardInterrupt
        self._preparing = None

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._asked:
            self._end_at_once()
        self._asked = True
        self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._switch.stop(LAST_WAIT)
        self._view.on_stop()
        if self._preparing:
            self._preparing.cancel()

    def _end_at_once(self) -> None:
        """Leave without tidying up: everything paid for and answered is in the journal already."""
        with contextlib.suppress(Exception):
            self._view.close()
            live = self._view.live
            steps = how_to_go_on(live.run, live.story, has_text=live.story.text is not None)
            again = f"; {steps}" if live.run else ""
            print_message(f"autoreason: ended at once{again}")
        os._exit(INTERRUPTED)
