"""One line per step, for logs, pipes and terminals that cannot redraw."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TextIO

from autoreason.characters import without_controls
from autoreason.cli.views.live import CELL, Live
from autoreason.cli.views.outcome import terminal_width
from autoreason.cli.views.steps import Call
from autoreason.cli.views.view import View
from autoreason.events import (
    LIFECYCLE,
    AnyEvent,
    BallotCast,
    CandidateDropped,
    CandidateReady,
    CritiqueWritten,
    Delivered,
    DraftFailed,
    DraftReady,
    DraftWritten,
    GuidanceGiven,
    JobFinished,
    PanelDecided,
    PassDecided,
    PassStarted,
    PlayoffDecided,
    PromptsShortened,
    RunPaused,
    RunResumed,
    RunStarted,
    Slot,
    Verdict,
)
from autoreason.exchange import BatchWaiting, CallRetried, Signal
from autoreason.keys import Key, judge_of
from autoreason.report import numbers
from autoreason.report.table import wrap
from autoreason.story import Story
from autoreason.tournament import statements

HEARTBEAT = 15.0
"""Seconds without a line after which one is printed."""
_BATCH_HEARTBEAT = 600.0
"""The same while batches are waited for."""
_INDENT = " " * len("  0:00  ")
_MAX_NAMED = 9
"""Calls under way that are named one by one: as many as a panel usually has judges."""


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
        """Print one step."""
        super().on_event(event)
        if self.skip and not isinstance(event, LIFECYCLE):
            self.skip -= 1
            return
        line = (program_step if self.live.solving else step)(event, self.live.story)
        if line:
            name = f"run {self.live.run}: " if isinstance(event, RunStarted) else ""
            self.print_note(name + line)

    def on_signal(self, signal: Signal) -> None:
        """Count along; only trouble, and how far batches are, is worth a line."""
        if isinstance(signal, BatchWaiting):
            before = self.live.batch_progress()
            self.live.on_signal(signal)
            if (progress := self.live.batch_progress()) not in ("", before):
                self.print_note(progress)
            return
        self.live.on_signal(signal)
        if isinstance(signal, CallRetried):
            wait = numbers.duration(signal.wait)
            key = Key.parse(Key.parse(signal.key).for_readers())
            part = [self.live.describe_part(str(key.part))] if key.part else []
            who = " ".join((*part, *key.steps))
            self.print_note(f"{who}: {signal.reason}; asking again in {wait}")

    def on_stop(self) -> None:
        """Print what is still waited for."""
        super().on_stop()
        self.print_note(self.live.waiting())

    def print_note(self, line: str) -> None:
        """Print one line, with the time since the start in front."""
        minutes, seconds = divmod(int(self.live.elapsed), 60)
        text = f"{minutes:3}:{seconds:02}  {without_controls(line)}"
        text = "\n".join(wrap(text, terminal_width(), _INDENT))
        # The reader may have left; the run goes on.
        with suppress(OSError):
            print(text, file=self.out, flush=True)
        self.printed_at = self.live.clock()

    def refresh(self) -> None:
        """Print a line after a long silence."""
        silence = self.live.clock() - self.printed_at
        if progress := self.live.batch_progress():
            if silence >= _BATCH_HEARTBEAT:
                self.print_note(progress)
        elif silence >= HEARTBEAT and self.live.calls:
            calls = list(self.live.calls.values())
            parts = [self._progress(call) for call in calls[:_MAX_NAMED]]
            if len(calls) > _MAX_NAMED:
                parts.append(f"and {len(calls) - _MAX_NAMED} more")
            self.print_note(f"still at work: {', '.join(parts)}")

    def _progress(self, call: Call) -> str:
        who = call.role if call.seat is None else f"judge {judge_of(call.key, call.seat)[0]}"
        if call.role == CELL:
            who = self.live.describe_part(Key.parse(call.key).group)
        arrived = f", about {numbers.count(call.tokens, 'token')} so far" if call.tokens else ""
        return f"{who} for {numbers.duration(self.live.age(call))}{arrived}"


def step(event: AnyEvent, story: Story) -> str:
    """One event as one line; empty where another line says more."""
    if not (story.job and story.job.is_sampling):
        return _step(event, story)
    from autoreason.strategies.rivals import name_drafts

    if isinstance(event, PassStarted | CandidateReady | CandidateDropped | PassDecided):
        return _sample_step(event, story)
    return name_drafts(_step(event, story))


def _step(event: AnyEvent, story: Story) -> str:
    match event:
        case RunStarted():
            settings = event.settings
            models = ", ".join(settings.models.all())
            single = f" · {statements.ONE_VOTE}" if settings.judges == 1 else ""
            return f"{event.task.title} · {models} · seed {settings.seed}{single}"
        case RunResumed():
            return "resumed"
        case PromptsShortened():
            return f"short prompts from pass {event.number} on: {event.reason}"
        case PlayoffDecided():
            return f"playoff: {_code(event.verdict)}{playoff(event)}"
        case RunPaused() | Delivered() | JobFinished():
            origin = "" if isinstance(event, RunPaused) else event.origin
            text = f"; delivered is {origin}" if origin else ""
            return f"{statements.ENDINGS[event.status]}: {event.reason}{text}"
        case BallotCast():
            return f"{event.stage.replace('/', ' ')}: {statements.ballot(event)}"
        case PanelDecided():
            return f"{event.stage.replace('/', ' ')}: {statements.panel(event)}"
        case _:
            return _pass_step(event, story)


def _sample_step(
    event: PassStarted | CandidateReady | CandidateDropped | PassDecided, story: Story
) -> str:
    """One of several independent drafts, each recorded as a pass."""
    from autoreason.strategies.rivals import sampled_draft

    match event:
        case CandidateReady():
            return f"{sampled_draft(story, event.number)}: written, {statements.candidate(event)}"
        case CandidateDropped():
            return f"{sampled_draft(story, event.number)}: {statements.dropped(event)}"
    return ""


def _pass_step(event: AnyEvent, story: Story) -> str:
    match event:
        case PassStarted():
            text = f"begins; A has {numbers.count(event.words, 'word')}"
        case GuidanceGiven():
            text = f"guidance for the critic: {event.text}"
        case CritiqueWritten():
            text = f"{'contract' if event.by_code else 'critique'}: {statements.critique(event)}"
        case CandidateReady():
            text = f"{_kind(event.slot)} {event.slot}: {statements.candidate(event)}"
        case CandidateDropped():
            text = f"{_kind(event.slot)} {event.slot}: {statements.dropped(event)}"
        case PassDecided():
            text = statements.decided(event, story.settings.k if story.settings else None)
            text = f"{_code(event.verdict)}{text}"
        case _:
            return _text_step(event)
    return f"pass {event.number}: {text}"


def _code(verdict: Verdict | None) -> str:
    """The ballots of seats that code fills, before what they helped to decide; they have no events of their own."""
    cast = verdict.code if verdict else {}
    return "".join(f"{name} {statements.code_ballot(each)}; " for name, each in cast.items())


def _text_step(event: AnyEvent) -> str:
    match event:
        case DraftReady():
            origin = "given" if event.given else "written"
            return f"draft: {origin}, {statements.draft(event, event.of)}"
        case DraftWritten():
            return f"draft {event.number}: {statements.draft(event)}"
        case DraftFailed():
            return f"draft: none ({event.reason}: {event.detail})"
    return event.line or type(event).__name__


def program_step(event: AnyEvent, story: Story) -> str:
    """One event on the way to a program as one line; empty where another line says more."""
    match event:
        case DraftReady():
            return f"draft: written, {numbers.lines(event.text)}"
        case PassStarted():
            return f"pass {event.number}: begins"
        case CandidateReady():
            what = "program" if event.slot == "A" else _kind(event.slot)
            return f"pass {event.number}: {what} {event.slot}, {numbers.lines(event.text)}"
        case PassDecided():
            from autoreason.programs.events import describe_pass

            k = story.settings.k if story.settings else None
            return f"pass {event.number}: {describe_pass(event, k)}"
        case Delivered():
            return ""
        case _:
            return step(event, story)


def _kind(slot: Slot) -> str:
    return {"A": "text", "AB": "synthesis"}.get(slot, "revision")


def playoff(event: PlayoffDecided) -> str:
    """What the final panel decided."""
    if event.winner is None or event.verdict is None:
        return "too few valid ballots; the last A is delivered"
    points = statements.scores(event.verdict.scores)
    worth = f"{statements.lead(event.verdict)} ({statements.ballots(event.verdict)})"
    return f"{event.winner} wins, {points}{statements.weights(event)}: {worth}"
