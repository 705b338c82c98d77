"""A run at this moment: its story, what is under way and what it took; and what happens in it, line by line."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from autoreason import events
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
from autoreason.keys import Key, judge_of
from autoreason.report import numbers
from autoreason.report.numbers import count, lines
from autoreason.story import ALTERNATIVES, CONFIRMATION, DRAFTS, RecordedPass, Story
from autoreason.tournament.rounds import Chapter, describe_faults, is_new_draft, tell, tell_last
from autoreason.tournament.statements import dropped, left_out, violations
from autoreason.wording import KINDS, kind_of, numeral

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
        how = f"waiting {left:.0f} s" if left >= 1 else "asked again"
        return f"{how}: {self.trouble}"


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


# ---- a line for each step ------------------------------------------------------------------

_ROLES = {"author": "writer", "reviser": "rewrite", "synthesizer": "merge"}
_STAGES = {DRAFTS: "choice of a draft", "panel": "all rankings"}
_STAGES |= dict.fromkeys((CONFIRMATION, ALTERNATIVES), "fresh judges")
Written = events.CandidateReady | events.DraftWritten | events.DraftReady
_IN_RECORD = re.compile(r"\bpass (\d+)(?: (A|AB|B\d?)\b)?")


def describe_step(event: AnyEvent, story: Story) -> str:
    """The line that says an event which its story has; empty where another line says more, or the end does."""
    match event:
        case events.RunStarted():
            return story.task.title if story.task else ""
        case events.RunResumed():
            return "goes on"
        case events.DraftWritten():
            return f"draft {event.number}: {_written(event, story)}"
        case events.DraftReady():
            chosen = f"; number {event.number} of {event.of} drafts" if event.of > 1 else ""
            return f"{'your' if event.given else 'first'} draft: {_written(event, story)}{chosen}"
        case events.DraftFailed():
            return f"first draft: none ({event.reason}: {event.detail})"
        case events.BallotCast():
            return _vote(event, story)
        case events.ReviewDecided():
            last = tell_last(story)
            return f"{'review' if story.is_sampling else last.name}: {last.sentence}"
        case events.PanelDecided():
            return _panel(event)
        case events.PassStarted() | events.RunPaused() | events.Delivered() | events.JobFinished():
            return ""
    return _round_step(event, story)


def _round_step(event: AnyEvent, story: Story) -> str:
    number, place = getattr(event, "number", None), ""
    if story.is_sampling:
        from autoreason.strategies import sampled_draft

        place = sampled_draft(story, number or 0)
    place = place or f"round {number}"
    match event:
        case events.PromptsShortened():
            return f"{place}: models are asked in fewer words from here on: {event.reason}"
        case events.GuidanceGiven():
            return f"{place}: from you: {event.text}"
        case events.CritiqueWritten():
            return f"{place}: {'limits' if event.by_code else 'critic'}: {describe_critique(event)}"
        case events.CandidateReady():
            said = f"{_written(event, story)}{_unguided(event, story.passes[-1])}"
            return f"{place}{_name_text(event, story)}: {said}"
        case events.CandidateDropped():
            return f"{place}{_name_text(event, story)}: {dropped(event)}"
        case events.PassDecided():
            # That a rewrite is there, without a vote, is said already.
            is_said = story.is_sampling or event.outcome == "unjudged"
            return "" if is_said else f"{place}: {tell_last(story).sentence}"
    return in_words(event.line)


def _name_text(event: events.CandidateReady | events.CandidateDropped, story: Story) -> str:
    """`: rewrite`, `: merge`; `: new draft` where one takes the place of a rewrite that came to no vote."""
    if story.is_sampling:
        return ""
    new = is_new_draft(event, story.passes[-1])
    return f": {KINDS['new'].name if new else name_slot(event.slot)}"


def name_slot(slot: str) -> str:
    number = slot.lstrip("AB")
    return f"{KINDS[kind_of(slot, first=False)].name}{f' {number}' if number else ''}"


def name_role(role: str) -> str:
    return _ROLES.get(role, role)


def in_words(record: str) -> str:
    """A line of the record in the words people know: `the merge of round 3` for `pass 3 AB`."""
    return _IN_RECORD.sub(
        lambda found: f"{f'the {name_slot(found[2])} of ' if found[2] else ''}round {found[1]}",
        record,
    )


def describe_written(event: Written) -> str:
    """`138 words`, and what is to be known of them."""
    notes = [count(event.words, "word")]
    if event.violations:
        notes.append(f"breaks a limit: {violations(event.violations)}")
    elif getattr(event, "repaired", False):
        notes.append("put right once, to keep the limits")
    return "; ".join(notes)


def _written(event: Written, story: Story) -> str:
    return lines(event.text) if story.writes == "programs" else describe_written(event)


def describe_critique(event: events.CritiqueWritten) -> str:
    if event.by_code:
        return f"{len(event.problems)} broken, found by a program"
    if not event.readable:
        return "the answer could not be read"
    return f"{describe_faults([event])}{left_out(event)}"


def describe_tries(drafts: Sequence[events.DraftWritten], most: int) -> str:
    """`try 4 of at most 10; three broke a limit (over 230 words)`."""
    broken = [each.violations for each in drafts if each.violations]
    why = f"; {numeral(len(broken))} broke a limit ({violations(broken[-1])})" if broken else ""
    return f"try {min(len(drafts) + 1, most)} of at most {most}{why}"


def _vote(event: events.BallotCast, story: Story) -> str:
    """A ranking of texts that were given; how those of a round were ranked is said once, at its end."""
    if story.writes or event.stage.startswith(("pass", "review")):
        return ""
    judge, swapped = judge_of(event.stage, event.seat)
    place = "" if event.stage == "panel" else f"{_name_panel(event.stage)}: "
    who = f"{place}judge {judge}{', order reversed' if swapped else ''}"
    if event.ranking is None:
        return f"{who}: no ranking that can be counted"
    return f"{who}: {', then '.join(map(in_words, event.ranking))}"


def _name_panel(stage: str) -> str:
    return _STAGES.get(stage) or in_words(stage.replace("/", " "))


def _panel(event: events.PanelDecided) -> str:
    stage = _name_panel(event.stage)
    if event.verdict is None:
        return f"{stage}: too few rankings could be read"
    if event.stage in (CONFIRMATION, ALTERNATIVES):
        return f"{stage}: {count(event.verdict.ballots, 'ranking')}"
    return f"{stage}: {'a tie' if event.verdict.tied else f'{event.verdict.winner} leads'}"


def _unguided(event: events.CandidateReady, one: RecordedPass) -> str:
    """That a new draft, in place of a rewrite that came to nothing, is not from what a person told the critic."""
    return "; written from the brief, without your message" if event.fresh and one.guidance else ""


def describe_challengers(one: RecordedPass, slot: str) -> str:
    """What became of the rewrites or the merge of a round, in few words; empty where nothing did yet."""
    ready = [each for each in one.candidates.values() if each.slot.rstrip("123") == slot]
    gone = [each for each in one.dropped if each.slot.rstrip("123") == slot]
    gone = [each for each in gone if each.slot not in one.candidates]
    parts = [f"{describe_written(each)}{_unguided(each, one)}" for each in ready]
    if gone:
        several = f"{numeral(len(gone))} " if len(gone) > 1 else ""
        parts.append(f"{several}{dropped(gone[-1])}")
    return "; ".join(parts)
