"""A run at this moment: its story, what is under way and what it took; and the views that show it in lines."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from autoreason.characters import without_controls
from autoreason.cli.steps import describe_step, name_role, name_stage
from autoreason.events import LIFECYCLE, AnyEvent, RunStarted
from autoreason.exchange import (
    BatchWaiting,
    CallEnded,
    CallRetried,
    CallStarted,
    OnSignal,
    Outcome,
    QueryEnded,
    QueryStarted,
    Signal,
    Spent,
    TextArrived,
)
from autoreason.job_types import Lab
from autoreason.journal.run_names import cell_name
from autoreason.keys import Key, order_by_number
from autoreason.report import numbers
from autoreason.report.table import lay_out, wrap
from autoreason.story import Story
from autoreason.tournament.rounds import Round, rounds_of

if TYPE_CHECKING:
    from autoreason.studies.lab_job import LabProgress, SuiteCells
    from autoreason.studies.lab_suite import Cell


CELL = "cell"
"""The kind of query that a cell of a suite is."""
LAST_WAIT = 10.0
"""Seconds that replies under way are waited for after Ctrl-C."""
_CHARACTERS_PER_WORD = 6
"""Good enough to show that something moves; what counts is what the provider reports."""
_NO_REPLY = (Outcome.TIMEOUT, Outcome.PROVIDER_ERROR, Outcome.OVER_BUDGET)
_WITHIN = ("try", "evaluation", "judge")
"""Steps of keys that say who is asked, and no longer for what."""


@dataclass
class Call:
    key: str
    role: str
    """What a model is asked to be, or the kind of the query."""
    model: str
    """Empty where no model is asked."""
    since: float
    characters: int = 0
    trouble: str = ""
    """Why it is sent again; empty where it is not."""
    again_at: float = 0.0

    @property
    def stage(self) -> str:
        """`first draft`, `round 3` or `last vote`."""
        steps = Key.parse(self.key).steps[:2]
        end = next((at for at, step in enumerate(steps) if step in _WITHIN), 2)
        return name_stage(steps[:end])

    @property
    def words(self) -> int:
        return self.characters // _CHARACTERS_PER_WORD

    def waiting(self, now: float) -> str:
        """`waiting 12 s, the provider is busy (429)`; empty where nothing keeps it."""
        if not self.trouble:
            return ""
        left = max(0.0, self.again_at - now)
        return (
            f"waiting {left:.0f} s: {self.trouble}" if left >= 1 else f"asked again: {self.trouble}"
        )


class Live:
    def __init__(
        self, run: str = "", clock: Callable[[], float] = time.monotonic, worked: float = 0.0
    ) -> None:
        self.run = run
        self.clock = clock
        self.started = clock() - worked
        """As if earlier work on the run had ended just now."""
        self.event_time: float | None = None
        """When the present event happened, in seconds of work; None is now."""
        self.story = Story()
        self._rounds: list[Round] = []
        self.calls: dict[str, Call] = {}
        self.batches: dict[str, BatchWaiting] = {}
        self.spent = Spent()
        self.worked_on_bases = 0.0
        """Seconds of work on the suites that this one adds repeats to."""
        self.spent_by_cell: dict[str, Spent] = {}
        """What cells have spent before they ended: by run what is recorded, by part what came since then.

        Of cells that run in other processes nothing comes.
        """
        self.worked_by_cell: dict[str, float] = {}
        """Seconds of earlier work on cells that have not ended, by run."""
        self.stopping = False
        """Whether nothing new starts, because a person asked for that."""

    def on_event(self, event: AnyEvent) -> str:
        """Take in an event; the line that says it."""
        self.story.apply(event)
        return describe_step(event, self.story)

    def on_signal(self, signal: Signal) -> None:
        """Take in a signal. Called for every chunk of every reply, so it only counts."""
        match signal:
            case TextArrived():
                if call := self.calls.get(signal.key):
                    call.characters += len(signal.text)
                    call.trouble = ""
            case CallStarted():
                self.calls[signal.key] = Call(signal.key, signal.role, signal.model, self.clock())
            case CallRetried():
                if call := self.calls.get(signal.key):
                    call.trouble, call.again_at = signal.reason, self.clock() + signal.wait
            case BatchWaiting():
                self.batches[signal.batch] = signal
            case CallEnded():
                self._end(signal)
            case QueryStarted():
                cell = self.cells.get(Key.parse(signal.key).group) if self.worked_by_cell else None
                run = cell_name(self.run, cell.number) if cell and signal.kind == CELL else ""
                since = self.clock() - self.worked_by_cell.get(run, 0.0)
                self.calls[signal.key] = Call(signal.key, signal.kind, "", since)
            case QueryEnded():
                self.calls.pop(signal.key, None)

    def _end(self, signal: CallEnded) -> None:
        self.calls.pop(signal.key, None)
        # A call that brought no reply is not paid for.
        if signal.outcome not in _NO_REPLY:
            self.spent = self.spent.plus(signal)
            if isinstance(self.story.job, Lab) and not signal.replayed:
                part = Key.parse(signal.key).group
                self.spent_by_cell[part] = self.spent_by_cell.get(part, Spent()).plus(signal)

    @property
    def elapsed(self) -> float:
        """Seconds of work on the run, over all processes that drove it."""
        return self.clock() - self.started if self.event_time is None else self.event_time

    def age(self, call: Call) -> float:
        return self.clock() - call.since

    @property
    def rounds(self) -> list[Round]:
        """Every round that is over; told anew only when there is one more."""
        over = sum(one.decided is not None for one in self.story.passes)
        if len(self._rounds) != over:
            self._rounds = rounds_of(self.story)
        return self._rounds

    @property
    def lab(self) -> LabProgress | None:
        """How far a suite is; None of any other run."""
        if not isinstance(self.story.job, Lab):
            return None
        running = sum(call.role == CELL for call in self.calls.values())
        seconds = self.worked_on_bases + self.elapsed
        return self._suite_cells.progress(running, self.spent_by_cell, seconds)

    @property
    def cells(self) -> Mapping[str, Cell]:
        return self._suite_cells.cells if isinstance(self.story.job, Lab) else {}

    @cached_property
    def _suite_cells(self) -> SuiteCells:
        from autoreason.studies.lab_job import SuiteCells

        return SuiteCells(self.story)

    def describe_part(self, part: str) -> str:
        return cell.name if (cell := self.cells.get(part)) else part.replace("/", " ")

    def under_way(self) -> dict[str, list[Call]]:
        """Calls by what they are for: `round 3, 2 judges`, `first draft, writer`, or the name of a cell."""
        groups: dict[tuple[str, str], list[Call]] = {}
        for _, call in sorted(self.calls.items(), key=lambda each: order_by_number(each[0])):
            groups.setdefault(self._purpose(call), []).append(call)
        return {_named(*purpose, len(calls)): calls for purpose, calls in groups.items()}

    def name_call(self, call: Call) -> str:
        return _named(*self._purpose(call))

    def _purpose(self, call: Call) -> tuple[str, str]:
        """For what it is asked, and who; a cell is enough."""
        part = Key.parse(call.key).part
        return (self.describe_part(str(part)), "") if part else (call.stage, name_role(call.role))

    def batch_progress(self) -> str:
        """How far the batches are that are waited for; empty where there are none."""
        each_batch = (
            f"batch of {each.size:,}: {each.done:,} done, waiting since "
            f"{datetime.fromtimestamp(each.since):%H:%M}"
            for each in self.batches.values()
            if each.done < each.size
        )
        return " · ".join(each_batch)

    def waiting(self) -> str:
        calls = sum(bool(call.model) for call in self.calls.values())
        if not calls:
            tests = "; what was kept is tested; Ctrl-C again ends at once"
            return f"Stopping{tests if self.story.writes == 'files' else ''}"
        replies = numbers.count(calls, "reply", "replies")
        wait = f"waiting at most {LAST_WAIT:g} s for {replies} already asked for"
        return f"Stopping: {wait}; Ctrl-C again ends at once"


def _named(place: str, role: str, number: int = 1) -> str:
    who = numbers.count(number, role) if role and number > 1 else role
    return ", ".join(filter(None, (place, who)))


class View:
    """Follows a run and shows nothing; subclasses show it."""

    period = 3600.0
    on_signal: OnSignal | None = None
    """Takes signals; None where nothing shows them, so that no reply is streamed for it."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def open(self) -> None:
        """Set up before the run."""

    def close(self) -> None:
        """Take down after the run."""

    def on_event(self, event: AnyEvent) -> None:
        self.live.on_event(event)

    def on_stop(self) -> None:
        self.live.stopping = True

    def print_note(self, line: str) -> None:
        """Print one line that stays."""

    def print_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print labels with what is known before the first call."""

    def refresh(self) -> None:
        """Show the present state."""


HEARTBEAT = 15.0
"""Seconds without a line after which one is printed."""
_BATCH_HEARTBEAT = 600.0
"""The same while batches are waited for."""
_MAX_NAMED = 9


class Plain(View):
    """Prints what happens as it happens."""

    period = 1.0

    def __init__(self, live: Live, out: TextIO | None = None, skip: int = 0) -> None:
        super().__init__(live)
        self.out = out or sys.stderr
        self.skip = skip
        """Events of the tournament known from before, which are not printed again."""
        self.printed_at = live.clock()

    def on_event(self, event: AnyEvent) -> None:
        line = self.live.on_event(event)
        if self.skip and not isinstance(event, LIFECYCLE):
            self.skip -= 1
            return
        if isinstance(event, RunStarted):
            line = f"{line} · {self.live.run}" if self.live.run else line
        if line:
            self.print_note(line)

    def on_signal(self, signal: Signal) -> None:
        """Count along; only trouble, and how far batches are, is worth a line."""
        before = self.live.batch_progress()
        self.live.on_signal(signal)
        if isinstance(signal, BatchWaiting):
            if (progress := self.live.batch_progress()) not in ("", before):
                self.print_note(progress)
        elif isinstance(signal, CallRetried) and signal.key in self.live.calls:
            wait = numbers.duration(signal.wait)
            name = self.live.name_call(self.live.calls[signal.key])
            self.print_note(f"{name}: {signal.reason}; asked again in {wait}")

    def on_stop(self) -> None:
        super().on_stop()
        self.print_note(self.live.waiting())

    def print_note(self, line: str) -> None:
        minutes, seconds = divmod(int(self.live.elapsed), 60)
        time = f"{minutes}:{seconds:02} "
        text = f"{time}{without_controls(line)}"
        self._print("\n".join(wrap(text, shutil.get_terminal_size().columns, " " * len(time))))

    def print_rows(self, rows: Sequence[tuple[str, str]]) -> None:
        width = shutil.get_terminal_size().columns
        for label, text in lay_out(rows, width):
            self._print(f"{label}{without_controls(text)}")

    def _print(self, text: str) -> None:
        # The reader may have left; the run goes on.
        with suppress(OSError):
            print(text, file=self.out, flush=True)
        self.printed_at = self.live.clock()

    def refresh(self) -> None:
        silence = self.live.clock() - self.printed_at
        if progress := self.live.batch_progress():
            if silence >= _BATCH_HEARTBEAT:
                self.print_note(progress)
        elif silence >= HEARTBEAT and self.live.calls:
            groups = list(self.live.under_way().items())
            parts = []
            for name, calls in groups[:_MAX_NAMED]:
                words = sum(call.words for call in calls)
                arrived = f", about {numbers.count(words, 'word')} so far" if words else ""
                eldest = max(map(self.live.age, calls))
                parts.append(f"{name} for {numbers.duration(eldest)}{arrived}")
            if len(groups) > _MAX_NAMED:
                parts.append(f"and {len(groups) - _MAX_NAMED} more")
            self.print_note(f"still at work: {'; '.join(parts)}")
