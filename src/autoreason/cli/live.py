"""A run at this moment: its story, what is under way and what it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from autoreason.cli.steps import describe_step
from autoreason.events import AnyEvent
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
from autoreason.keys import Key
from autoreason.report import numbers
from autoreason.story import Story
from autoreason.tournament.rounds import Chapter, tell

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
        self._chapters: list[Chapter] = []
        self.calls: dict[str, Call] = {}
        self.batches: dict[str, BatchWaiting] = {}
        self.spent = Spent()
        self.worked_on_bases = 0.0
        """Seconds of work on the suites that this one adds repeats to."""
        self.spent_by_cell: dict[str, Spent] = {}
        """What cells have spent before they ended: by run what is recorded, by part what came here since then."""
        self.stopping = False
        """Whether nothing new starts, because a person asked for that."""
        self.watched = False

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
                self.calls.pop(signal.key, None)
                # A call that brought no reply is not paid for.
                if signal.outcome not in _NO_REPLY:
                    self.spent = self.spent.plus(signal)
                    if isinstance(self.story.job, Lab) and not signal.replayed:
                        part = Key.parse(signal.key).group
                        before = self.spent_by_cell.get(part, Spent())
                        self.spent_by_cell[part] = before.plus(signal)
            case QueryStarted():
                self.calls[signal.key] = Call(signal.key, signal.kind, "", self.clock())
            case QueryEnded():
                self.calls.pop(signal.key, None)

    @property
    def elapsed(self) -> float:
        """Seconds of work on the run, over all processes that drove it."""
        return self.clock() - self.started if self.event_time is None else self.event_time

    def age(self, call: Call) -> float:
        return self.clock() - call.since

    @property
    def chapters(self) -> list[Chapter]:
        """Every round and review that is over; worked out anew only when there is one more."""
        if len(self._chapters) != len(self.story.left):
            self._chapters = [each for each in tell(self.story) if each.left]
        return self._chapters

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
