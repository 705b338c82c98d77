"""One line per step, for logs, pipes and terminals that cannot redraw."""

from __future__ import annotations

import sys
import textwrap
from contextlib import suppress
from typing import TextIO

from autoreason.characters import without_controls
from autoreason.cli.views import words
from autoreason.cli.views.live import Call, Live
from autoreason.cli.views.outcome import terminal_width
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
    PartEvent,
    PassDecided,
    PassStarted,
    PlayoffDecided,
    PromptsShortened,
    RunPaused,
    RunResumed,
    RunStarted,
)
from autoreason.exchange import CallRetried, Signal
from autoreason.keys import Key
from autoreason.programs.events import ProgramExamined, Solved
from autoreason.story import Story

HEARTBEAT = 15.0
"""Seconds after which silence is broken."""
_BESIDE_THE_TIME = " " * len("  0:00  ")
_NAMED = 9
"""Calls under way that are named one by one: as many as a panel usually has judges."""


class Plain:
    """Prints what happens as it happens."""

    period = 1.0

    def __init__(self, live: Live, out: TextIO | None = None, skip: int = 0) -> None:
        self.live = live
        self.out = out or sys.stderr
        self.skip = skip
        """Events of the tournament known from before, which are not printed again."""
        self.spoke = live.clock()

    def open(self) -> None:
        """Nothing to set up."""

    def close(self) -> None:
        """Nothing to take down."""

    def emit(self, event: AnyEvent) -> None:
        """Print one step."""
        self.live.emit(event)
        if self.skip and not isinstance(event, LIFECYCLE):
            self.skip -= 1
            return
        if self.live.solving:
            self._tell_of_problems(event)
            return
        name = f"run {self.live.run}: " if isinstance(event, RunStarted) else ""
        self.say(name + step(event, self.live.story))

    def _tell_of_problems(self, event: AnyEvent) -> None:
        """Of one problem everything; of a set a line a problem, for there may be thousands."""
        match event:
            case PartEvent() if self.live.tally.one:
                part = self.live.story.parts.get(event.part, self.live.story)
                if said := program_step(event.event, part):
                    self.say(said)
            case PartEvent() | JobFinished() | Delivered():
                pass
            case Solved() if not self.live.tally.one:
                of = f"{self.live.tally.done:,} of {self.live.tally.total:,}"
                self.say(f"{of}: {step(event, self.live.story)}")
            case RunStarted():
                self.say(f"run {self.live.run}: {step(event, self.live.story)}")
            case _:
                self.say(step(event, self.live.story))

    def hear(self, signal: Signal) -> None:
        """Count along; only trouble is worth a line."""
        self.live.hear(signal)
        if isinstance(signal, CallRetried):
            wait = words.duration(signal.wait)
            who = Key.parse(signal.key).for_readers().replace("/", " ")
            self.say(f"{who}: {signal.reason}; asking again in {wait}")

    def note(self, line: str) -> None:
        """One line."""
        self.say(line)

    def say(self, line: str) -> None:
        """One line, with the time since the start in front."""
        minutes, seconds = divmod(int(self.live.elapsed), 60)
        told = f"{minutes:3}:{seconds:02}  {without_controls(line)}"
        if self.out.isatty():
            told = textwrap.fill(
                told, terminal_width(), subsequent_indent=_BESIDE_THE_TIME, break_on_hyphens=False
            )
        # Whoever read along may have left; the run goes on.
        with suppress(OSError):
            print(told, file=self.out, flush=True)
        self.spoke = self.live.clock()

    def tick(self) -> None:
        """Break a long silence."""
        if self.live.clock() - self.spoke >= HEARTBEAT and self.live.calls:
            calls = list(self.live.calls.values())
            said = [self._progress(call) for call in calls[:_NAMED]]
            if len(calls) > _NAMED:
                said.append(f"and {len(calls) - _NAMED} more")
            self.say(f"still at work: {', '.join(said)}")

    def _progress(self, call: Call) -> str:
        who = call.role if call.seat is None else f"judge {call.seat + 1}"
        arrived = f", about {words.count(call.tokens, 'token')} so far" if call.tokens else ""
        return f"{who} for {words.duration(self.live.age(call))}{arrived}"


def step(event: AnyEvent, story: Story) -> str:
    """One event as one line."""
    match event:
        case RunStarted() | RunResumed() | RunPaused():
            return _of_the_run(event)
        case DraftWritten() | DraftReady() | DraftFailed():
            return _of_the_draft(event)
        case PromptsShortened():
            return f"short prompts from pass {event.number} on: {event.reason}"
        case PlayoffDecided():
            return f"playoff: {playoff(event)}"
        case Delivered() | JobFinished():
            how = words.ENDINGS[event.status].lower()
            text = f"; delivered is {event.origin}" if event.origin else ""
            return f"{how}: {event.reason}{text}"
        case BallotCast() | PanelDecided():
            said = words.ballot(event) if isinstance(event, BallotCast) else words.panel(event)
            return f"{event.stage.replace('/', ' ')}: {said}"
        case PartEvent():
            part = story.parts.get(event.part, story)
            return f"{event.part.replace('/', ' ')}, {step(event.event, part)}"
        case (
            PassStarted()
            | GuidanceGiven()
            | CritiqueWritten()
            | CandidateReady()
            | CandidateDropped()
            | PassDecided()
        ):
            return f"pass {event.number}: {_within_a_pass(event, story)}"
        case _:
            return _of_a_program(event)


def program_step(event: AnyEvent, story: Story) -> str:
    """One event on the way to a program as one line; empty where another line says more."""
    match event:
        case DraftReady():
            return f"draft: written, {words.lines(event.text)}"
        case PassStarted():
            return f"pass {event.number}: begins"
        case CandidateReady():
            what = "program" if event.slot == "A" else _WRITES[event.slot]
            return f"pass {event.number}: {what} {event.slot}, {words.lines(event.text)}"
        case PassDecided():
            k = story.settings.k if story.settings else None
            return f"pass {event.number}: {words.program_decided(event, k)}"
        case Delivered():
            return ""
        case _:
            return step(event, story)


def _of_a_program(event: AnyEvent) -> str:
    match event:
        case ProgramExamined():
            return f"{event.stage.replace('/', ' ')}: {words.examined(event.examined)}"
        case Solved():
            return f"{event.problem}, {event.strategy}: {words.solved(event)}"
    return type(event).__name__


def _of_the_run(event: RunStarted | RunResumed | RunPaused) -> str:
    match event:
        case RunStarted():
            models = ", ".join(event.settings.models.all())
            return f"{event.task.title} · {models} · seed {event.settings.seed}"
        case RunResumed():
            return "taken up again"
        case RunPaused():
            return f"{words.ENDINGS[event.status].lower()}: {event.reason}"


def _of_the_draft(event: DraftWritten | DraftReady | DraftFailed) -> str:
    match event:
        case DraftReady():
            origin = "given" if event.given else "written"
            return f"draft: {origin}, {words.draft(event, event.of)}"
        case DraftWritten():
            return f"draft {event.number}: {words.draft(event)}"
        case DraftFailed():
            return f"draft: none ({event.reason}: {event.detail})"


def _within_a_pass(
    event: PassStarted
    | GuidanceGiven
    | CritiqueWritten
    | CandidateReady
    | CandidateDropped
    | PassDecided,
    story: Story,
) -> str:
    match event:
        case PassStarted():
            return f"begins; A has {words.count(event.words, 'word')}"
        case GuidanceGiven():
            return f"guidance for the critic: {event.text}"
        case CritiqueWritten():
            return f"{'contract' if event.by_code else 'critique'}: {words.critique(event)}"
        case CandidateReady():
            return f"{_WRITES[event.slot]} {event.slot}: {words.candidate(event)}"
        case CandidateDropped():
            return f"{_WRITES[event.slot]} {event.slot}: {words.dropped(event)}"
        case PassDecided():
            return words.decided(event, story.settings.k if story.settings else None)


_WRITES = {"A": "text", "B": "revision", "AB": "synthesis"}


def playoff(event: PlayoffDecided) -> str:
    """What the final panel decided."""
    if event.winner is None or event.verdict is None:
        return "too few valid ballots; the text that stands is delivered"
    points = words.scores(event.verdict.scores)
    worth = f"{words.lead(event.verdict)} ({words.ballots(event.verdict)})"
    return f"{event.winner} wins, {points}: {worth}"
