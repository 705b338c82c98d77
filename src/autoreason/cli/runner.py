"""Drives a run, or follows one that another process drives; shows it meanwhile and heeds Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from msgspec.structs import replace

from autoreason.cli import outcome
from autoreason.cli.announcement import require_weights
from autoreason.cli.command import print_message, with_flags
from autoreason.cli.live import CELL, LAST_WAIT, Call, Live, View
from autoreason.cli.outcome import OutputOptions
from autoreason.events import LIFECYCLE, AnyEvent, DraftReady
from autoreason.facts import find_unstated
from autoreason.job_types import Certify, Lab, Research
from autoreason.jobs.context import run_while_waiting
from autoreason.journal.run_names import cell_name
from autoreason.keys import sub_key
from autoreason.run.result import Result, StopSwitch, how_to_go_on

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.journal import Journal
    from autoreason.prompts import PromptSet
    from autoreason.run.prepared import PreparedRun
    from autoreason.run.record import WorkingTime
    from autoreason.settings import Settings
    from autoreason.task import Task

INTERRUPTED = 130
_TREATED_AS_TERMINALS = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Variables by which a user says so of what is none."""
_READ_EVERY = 0.5
_PAGE = 5_000

LabelledRows = list[tuple[str, str]]
"""Labels and what they say."""
Drive = Callable[..., Coroutine[Any, Any, Result]]
"""Drives a run to its end; takes the hooks of a run."""
Finish = Callable[[Result, OutputOptions, "Console | None"], int]
"""Hands over what a run came to; returns the exit status."""


# ---- before the first request ------------------------------------------------------------------


def run_prepared(prepared: PreparedRun[Any], values: dict[str, Any]) -> int:
    """Drive a run to its end, or with --dry-run show what it would do."""
    notes = list(getattr(prepared, "notes", ()))
    if values.get("dry_run"):
        print_message(*notes, *(f"autoreason: {line}" for line in _unused(prepared.settings)))
        return outcome.preview(prepared)
    return start_run(prepared.run_async, prepared, values, notes)


def start_run(
    drive: Drive,
    prepared: PreparedRun[Any],
    values: dict[str, Any],
    notes: list[str] | None = None,
    live: Live | None = None,
    rows: LabelledRows | None = None,
) -> int:
    """Drive a new run to its end, with `notes` and `rows` first, to which `drive` may add; the exit status."""
    require_weights(prepared)
    warn_of_failed_judges(prepared.settings, prepared.prompts)
    notes = [] if notes is None else notes
    notes += _unused(prepared.settings)
    output = OutputOptions.of(values)
    sent = disclosure(prepared.task, prepared.settings, quiet=output.quiet)
    rows = announce_run(prepared, values) if rows is None else rows
    return drive_run(drive, output, rows=rows, notes=notes, sent=sent, live=live)


def announce_run(prepared: PreparedRun[Any], values: dict[str, Any]) -> LabelledRows:
    """Its model, its limits and what to expect; nothing where nothing is shown."""
    if OutputOptions.of(values).quiet:
        return []
    from autoreason.cli.announcement import announce

    given = ("model", "given_models", "author_model", "judge_models")
    named, declined = any(map(values.get, given)), values.get("limits_from_brief") is False
    return announce(prepared, named=named, declined=declined)


def _unused(settings: Settings) -> list[str]:
    """That a switch which was given on the command line does nothing, or leaves texts out of reviews."""
    from autoreason.strategies import job_class, unused_setting
    from autoreason.tournament.loop import warn_of_unranked

    context = click.get_current_context()
    given = [
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    given += [each.partition("=")[0].strip() for each in context.params.get("changes") or ()]
    sentence = unused_setting(settings, given, [job_class(settings.job).used_settings])
    return [*map(with_flags, filter(None, (sentence, warn_of_unranked(settings))))]


def warn_of_failed_judges(settings: Settings, prompts: PromptSet) -> None:
    """Print in one line which judges of a panel failed their certificate, and in what."""
    from autoreason.prompts import built_in
    from autoreason.run.prepared import certificates_of
    from autoreason.strategies import job_class

    roles = job_class(settings.job).prompts
    is_judged = not isinstance(settings.job, Certify) and (roles is None or "judge" in roles)
    if failed := [each for each in certificates_of(settings) if is_judged and each.failed]:
        named = "; ".join(f"{one.model} failed {', '.join(one.failed)}" for one in failed)
        see = f"`autoreason models --certificates {failed[0].model}`"
        short = built_in().with_short_judge().sources["judge"]
        fewer = "; judges are asked in fewer words" if prompts.sources.get("judge") == short else ""
        print_message(f"autoreason: warning: as a judge, {named}; see {see}{fewer}")


def disclosure(task: Task, settings: Settings, *, quiet: bool) -> list[str]:
    """What is sent where of the user's own records; where all else is quiet, only what leaves this machine."""
    if task.knowledge is None and task.work is None:
        return []
    from autoreason.run.knowledge_choice import destinations, disclose_task
    from autoreason.tournament.statements import predictor_seat, unlike_records

    sent, known = disclose_task(task, settings), task.knowledge
    if quiet:
        leaves = destinations(settings)
        return [sent] if sent and leaves and (not known or known.shown or known.withheld) else []
    unlike = unlike_records(known) if known else ""
    return [each for each in (sent, unlike, predictor_seat(task, settings)) if each]


def check_artifact_folder(task: Task, folder: Path | None) -> None:
    """Refuse a folder to which research could not write its files."""
    from autoreason.artifacts.research_task import research_of
    from autoreason.files import check_folder

    if folder and (research := research_of(task)):
        check_folder(folder, research.files)


def record_folder(prepared: PreparedRun[Any], folder: Path | None) -> PreparedRun[Any]:
    """Research with the folder for its files on record, so that `resume` writes there, too."""
    check_artifact_folder(prepared.task, folder)
    output = str(folder.resolve()) if folder else ""
    job = replace(prepared.settings.job_as(Research), output=output)
    return replace(prepared, settings=replace(prepared.settings, job=job))


# ---- a run of ours -----------------------------------------------------------------------------


def choose_view(live: Live, output: OutputOptions, console: Console | None, known: int = 0) -> View:
    """The live view on a terminal that can redraw and shows no log, else a line per step."""
    if output.quiet:
        return View(live)
    redrawn = output.progress != "lines" and not os.environ.get("AUTOREASON_LOG")
    if redrawn and console and console.is_terminal and not console.is_dumb_terminal:
        from autoreason.cli.screen import Screen

        return Screen(live, console)
    from autoreason.cli.progress import Plain

    return Plain(live, skip=known)


def drive_run(
    drive: Drive,
    output: OutputOptions,
    *,
    rows: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    sent: Sequence[str] = (),
    live: Live | None = None,
    known: int = 0,
    end: Finish = outcome.end_run,
) -> int:
    """Drive a run to its end and show it; `sent` is shown even where all else is quiet. The exit status."""
    console = None
    # What goes to a file needs no console.
    if not output.quiet and (
        sys.stderr.isatty() or not _TREATED_AS_TERMINALS.isdisjoint(os.environ)
    ):
        from autoreason.cli.console import stderr_console

        console = stderr_console()
    view = choose_view(live or Live(), output, console, known)
    warnings: list[str] = []

    def start(run: str) -> None:
        # Not before it is in the journal: what is refused ends in one sentence.
        view.live.run = run
        view.print_rows(rows)
        for line in notes:
            view.print_note(line)
        for line in sent:
            (print_message if output.quiet else view.print_note)(line)

    result = asyncio.run(_drive(drive, view, start, warnings))
    print_message(*(f"autoreason: {line}" for line in warnings))
    return end(result, output, console)


async def _drive(
    drive: Drive, view: View, start: Callable[[str], None], warnings: list[str]
) -> Result:
    switch = StopSwitch()
    interrupts = Interrupts(view, switch)
    ticking = asyncio.create_task(_tick(view))

    def take_in(event: AnyEvent) -> None:
        view.on_event(event)
        story = view.live.story
        if isinstance(event, DraftReady) and story.task and story.writes == "text":
            # The ending says which facts are new: what finds them is compiled by then, from no more than a page.
            given = [story.task.brief[:_PAGE]]
            run_while_waiting(partial(find_unstated, event.text[:_PAGE], given))

    try:
        with interrupts:
            view.open()
            return await drive(
                on_ready=interrupts.begin,
                on_started=start,
                on_event=take_in,
                on_signal=view.on_signal,
                on_warning=warnings.append,
                stop_switch=switch,
            )
    finally:
        ticking.cancel()
        view.close()


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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._asked and kind is asyncio.CancelledError:
            raise KeyboardInterrupt from None

    def begin(self) -> None:
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
            steps = how_to_go_on(live.run, live.story)
            again = f"; {steps}" if live.run else ""
            print_message(f"autoreason: ended at once{again}")
        os._exit(INTERRUPTED)


# ---- a run of before, or of another process ----------------------------------------------------


def recorded_live(run: str, journal: Journal) -> Live:
    """A run that goes on, with the time and, of a suite, the spending that earlier processes recorded."""
    from autoreason.run.cells import time_worked
    from autoreason.run.record import working_time

    worked = working_time(run, journal=journal).seconds
    live = Live(run, worked=worked)
    if (row := journal.row(run)).has_cells:
        live.worked_on_bases = time_worked(row, journal) - worked
        live.spent_by_cell = {each.id: each.spent for each in journal.cells(run)}
    return live


def resume_run(book: Journal, run: str, chosen: dict[str, Any], values: dict[str, Any]) -> int:
    """Go on with a recorded run under the settings it had but for those `chosen`, and return the exit status."""
    from autoreason.files import check_output
    from autoreason.prompts import PromptSet
    from autoreason.run.record import task_and_settings
    from autoreason.run.recorded import resume, resumed_settings

    story = book.story(run)
    task, before = task_and_settings(run, story)
    output, notes = values["output"], []
    if story.writes != "files":
        check_output(output)
    elif folder := output or before.job_as(Research).output:
        # The output of research is a folder.
        output = Path(folder)
        check_artifact_folder(task, output)
        notes = [f"the changed files will be written to {output}"]
    settings = resumed_settings(before, chosen | {"journal": book})
    prompts = PromptSet(story.prompts)
    warn_of_failed_judges(settings, prompts)
    shown, live, rows = OutputOptions.of({**values, "output": output}), recorded_live(run, book), []
    if not shown.quiet:
        from autoreason.cli.announcement import announce_rest
        from autoreason.run.prepared import PreparedRun

        prepared: PreparedRun[Any] = PreparedRun(
            task=task, settings=settings, prompts=prompts, hooks={"journal": book}
        )
        rows = announce_rest(prepared, book.row(run).spent, live.elapsed)
    return drive_run(
        partial(resume.aio, run, **chosen | {"journal": book}),
        shown,
        rows=rows,
        notes=notes,
        sent=disclosure(task, settings, quiet=shown.quiet),
        live=live,
        known=sum(not isinstance(each.event, LIFECYCLE) for each in book.events(run)),
    )


def follow(book: Journal, run: str, progress: str | None) -> int:
    """Show a run until it ends, then how it ended; Ctrl-C ends the watching, not the run."""
    from autoreason.cli.console import stderr_console
    from autoreason.run.prepared import reported_result
    from autoreason.run.record import recorded_result, working_time

    console = stderr_console()
    live = recorded_live(run, book)
    live.watched = True
    view = choose_view(live, OutputOptions(progress=progress), console)
    times = working_time(run, journal=book)
    seen, last_read = 0, float("-inf")
    try:
        view.open()
        while True:
            if time.monotonic() - last_read >= _READ_EVERY:
                last_read = time.monotonic()
                # Asked first: what was written until then is seen by the reading that follows.
                locked = book.lock_owner(run) is not None
                seen = read_new(book, run, view, times, seen)
                if not locked or view.live.story.status != "running":
                    break
            view.refresh()
            time.sleep(min(view.period, _READ_EVERY))
    except KeyboardInterrupt:
        view.close()
        print_message(f"no longer watching; {run} goes on")
        return INTERRUPTED
    finally:
        view.close()
    story = view.live.story
    result = recorded_result(book.find(run), story, book)
    if story.writes != "text" and (story.end or story.writes == "files"):
        outcome.show_report(reported_result(result, book))
    else:
        outcome.print_summary(result.summary(), console)
    return 0


def read_new(book: Journal, run: str, view: View, times: WorkingTime, seen: int) -> int:
    """Show what was recorded since `seen`, and what is under way; return the last that was seen."""
    live = view.live
    for seq, at, event in book.events(run, seen):
        live.event_time = times.until(at)
        view.on_event(event)
        seen = seq
    live.event_time = None
    now = datetime.now(UTC)
    live.started = live.clock() - times.until(now)
    calls = {}
    for asked in book.in_flight(run):
        age = (now - asked.at).total_seconds()
        calls[asked.key] = Call(asked.key, asked.role, asked.model, live.clock() - age)
    if isinstance(live.story.job, Lab):
        from autoreason.run.cells import running_cells

        runs = set(running_cells(run, book))
        live.spent_by_cell |= {each: book.spent(each) for each in runs}
        for part, cell in live.cells.items():
            if cell_name(run, cell.number) in runs:
                key = sub_key(part, CELL)
                calls[key] = Call(key, CELL, "", live.clock())
    live.calls = {key: live.calls.get(key, call) for key, call in calls.items()}
    live.spent = book.spent(run)
    return seen
