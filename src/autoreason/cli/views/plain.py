"""One line per step, for logs, pipes and terminals that cannot redraw."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from typing import TextIO

from autoreason.characters import without_controls
from autoreason.cli.views.live import Live, View
from autoreason.events import LIFECYCLE, AnyEvent, RunStarted
from autoreason.exchange import BatchWaiting, CallRetried, Signal
from autoreason.keys import Key
from autoreason.report import numbers
from autoreason.report.table import wrap

HEARTBEAT = 15.0
"""Seconds without a line after which one is printed."""
_BATCH_HEARTBEAT = 600.0
"""The same while batches are waited for."""
_INDENT = " " * len("  0:00  ")
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
        lines = self.live.tell(event)
        if self.skip and not isinstance(event, LIFECYCLE):
            self.skip -= 1
            return
        name = f"run {self.live.run}: " if isinstance(event, RunStarted) else ""
        for line in lines:
            self.print_note(f"{name}{line}")

    def on_signal(self, signal: Signal) -> None:
        """Count along; only trouble, and how far batches are, is worth a line."""
        before = self.live.batch_progress()
        self.live.on_signal(signal)
        if isinstance(signal, BatchWaiting):
            if (progress := self.live.batch_progress()) not in ("", before):
                self.print_note(progress)
        elif isinstance(signal, CallRetried):
            key = Key.parse(Key.parse(signal.key).for_readers())
            part = [self.live.describe_part(str(key.part))] if key.part else []
            who = " ".join((*part, *key.steps))
            wait = numbers.duration(signal.wait)
            self.print_note(f"{who}: {signal.reason}; asking again in {wait}")

    def on_stop(self) -> None:
        super().on_stop()
        self.print_note(self.live.waiting())

    def print_note(self, line: str) -> None:
        minutes, seconds = divmod(int(self.live.elapsed), 60)
        text = f"{minutes:3}:{seconds:02}  {without_controls(line)}"
        text = "\n".join(wrap(text, shutil.get_terminal_size().columns, _INDENT))
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
                tokens = sum(call.tokens for call in calls)
                arrived = f", about {numbers.count(tokens, 'token')} so far" if tokens else ""
                eldest = max(map(self.live.age, calls))
                parts.append(f"{name} for {numbers.duration(eldest)}{arrived}")
            if len(groups) > _MAX_NAMED:
                parts.append(f"and {len(groups) - _MAX_NAMED} more")
            self.print_note(f"still at work: {'; '.join(parts)}")
