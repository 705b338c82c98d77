"""What a run looks like at this moment: counters and steps, folded from events and signals."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from autoreason.cli.views import words
from autoreason.cli.views.progress import Line, Tally
from autoreason.events import AnyEvent, PassDecided, PassStarted, Slot
from autoreason.exchange import (
    CallEnded,
    CallRetried,
    CallStarted,
    Outcome,
    QueryEnded,
    QueryStarted,
    Role,
    Signal,
    Spent,
    TextArrived,
)
from autoreason.keys import Key, order_by_number
from autoreason.programs.events import examined_in
from autoreason.run.kinds import written_by
from autoreason.settings import Budget
from autoreason.story import CONFIRMATION, DRAFTS, RecordedPass, Story

State = Literal["waiting", "working", "done", "failed"]
CHARACTERS_PER_TOKEN = 4
"""Good enough to show that something moves; what counts is what the provider reports."""
_TAIL = 240
_NO_REPLY = (Outcome.TIMEOUT, Outcome.PROVIDER_ERROR, Outcome.OVER_BUDGET)
_MOST_PARTS = 12
_FEWEST_PARTS = 3


@dataclass
class Call:
    """One request under way, or one query that takes a while."""

    key: str
    role: str
    """What a model is asked to be, or the kind of the query."""
    model: str
    """Empty where no model is asked."""
    since: float
    characters: int = 0
    tail: str = ""
    trouble: str = ""

    @property
    def stage(self) -> str:
        """`draft`, `pass/3` or `playoff`."""
        key = Key.parse(self.key)
        return f"pass/{key.number('pass')}" if key.head == "pass" else key.head

    @property
    def within(self) -> str:
        """What is done within a part: `pass 3 critic`, `judge`."""
        number = Key.parse(self.key).number("pass")
        return self.role if number is None else f"pass {number} {self.role}"

    @property
    def seat(self) -> int | None:
        """The judge's seat."""
        return Key.parse(self.key).number("judge")

    @property
    def tokens(self) -> int:
        """About how many tokens have arrived."""
        return self.characters // CHARACTERS_PER_TOKEN


@dataclass
class Step:
    """What one role does in the present stage."""

    name: str
    state: State
    said: str = ""
    calls: list[Call] = field(default_factory=list)


@dataclass
class Seat:
    """One judge of the present panel."""

    number: int
    state: State
    said: str = ""
    call: Call | None = None


class Live:
    """A run as far as it has come, and what is under way."""

    def __init__(
        self, run: str = "", clock: Callable[[], float] = time.monotonic, worked: float = 0.0
    ) -> None:
        self.run = run
        self.clock = clock
        self.started = clock() - worked
        """As if whoever worked on the run before had stopped just now."""
        self.told_at: float | None = None
        """When what is being told happened, in seconds of work; None is now."""
        self.story = Story()
        self.tally = Tally(self.story)
        """How far a set of problems is."""
        self.calls: dict[str, Call] = {}
        self.answered: set[int] = set()
        """Seats whose reply has come and whose ballot is not counted yet."""
        self.spent = Spent()
        self.notice = ""
        self.stopping = False
        """Whether nothing new is begun, because somebody asked for that."""

    def emit(self, event: AnyEvent) -> None:
        """Take in something that happened."""
        if isinstance(event, PassStarted | PassDecided):
            self.answered.clear()
        self.story.apply(event)

    def hear(self, signal: Signal) -> None:
        """Take in a sign of life. Called for every chunk of every reply, so it only counts."""
        match signal:
            case TextArrived():
                call = self.calls.get(signal.key)
                if call:
                    call.characters += len(signal.text)
                    call.tail = (call.tail + signal.text)[-_TAIL:]
                    call.trouble = ""
            case CallStarted():
                self.calls[signal.key] = Call(signal.key, signal.role, signal.model, self.clock())
            case CallRetried():
                call = self.calls.get(signal.key)
                if call:
                    call.trouble = f"{signal.reason}; again in {words.duration(signal.wait)}"
            case CallEnded():
                self._end(signal)
            case QueryStarted():
                self.calls[signal.key] = Call(signal.key, signal.kind, "", self.clock())
            case QueryEnded():
                self.calls.pop(signal.key, None)

    def _end(self, signal: CallEnded) -> None:
        call = self.calls.pop(signal.key, None)
        # A call that brought no reply is not paid for.
        if signal.outcome not in _NO_REPLY:
            self.spent = self.spent.plus(signal)
        if call and call.seat is not None:
            self.answered.add(call.seat)

    def under_way(self, calls: dict[str, Call]) -> None:
        """Take in what is under way as seen from outside, where no signals come."""
        for key, call in self.calls.items():
            if key not in calls and call.seat is not None:
                self.answered.add(call.seat)
        self.calls = {key: self.calls.get(key, call) for key, call in calls.items()}

    @property
    def elapsed(self) -> float:
        """Seconds of work on the run, over all processes that drove it."""
        return self.clock() - self.started if self.told_at is None else self.told_at

    def age(self, call: Call) -> float:
        """Seconds a call has been under way."""
        return self.clock() - call.since

    @property
    def stage(self) -> str:
        """What is going on, as a heading."""
        story = self.story
        if story.task is None or story.end:
            return ""
        if self.solving:
            return "solving"
        if self.study:
            return "judging" if story.task.entries else "at work"
        asked = {call.stage for call in self.calls.values()}
        if CONFIRMATION in asked or CONFIRMATION in story.panels:
            return CONFIRMATION
        if "playoff" in asked or (story.playoff_ballots and not story.playoff):
            return "playoff"
        if story.draft is None:
            return DRAFTS if story.drafts else "first draft"
        now = story.passes[-1] if story.passes else None
        return f"pass {now.number}" if now and not now.decided else ""

    @property
    def study(self) -> bool:
        """Whether texts are judged that were there before, or written side by side."""
        return written_by(self.story.settings) != "text"

    @property
    def solving(self) -> bool:
        """Whether programs are written for problems."""
        return written_by(self.story.settings) == "programs"

    @property
    def contest(self) -> bool:
        """Whether every pass is put to a vote."""
        return self.story.settings is None or self.story.settings.strategy == "autoreason"

    def waiting(self) -> str:
        """What a run that is being stopped still waits for."""
        calls = sum(bool(call.model) for call in self.calls.values())
        if not calls:
            return "Stopping"
        replies = words.count(calls, "reply", "replies")
        return f"Stopping: waiting for {replies} already paid for; Ctrl-C again ends at once"

    def steps(self, room: int = _MOST_PARTS) -> list[Step]:
        """The roles of the present stage, in the order they speak; judges are `seats`.

        Of parts that are under way as many as there is room for.
        """
        if self.study:
            return self._parts(room)
        if self.stage in ("first draft", DRAFTS):
            drafts = [
                Step(
                    f"draft {each.number}",
                    "failed" if each.violations else "done",
                    words.draft(each),
                )
                for each in self.story.drafts
            ]
            return [*drafts, self._step("author", ("author",), None, False)]
        if not self.stage.startswith("pass"):
            return []
        now = self.story.passes[-1]
        last = now.critiques[-1] if now.critiques else None
        steps = [
            self._step(
                "critic",
                ("critic",),
                words.critique(last) if last else None,
                last is not None and not last.readable,
            ),
            self._candidate(now, "reviser", "B"),
            self._candidate(now, "synthesizer", "AB"),
        ]
        # A rival holds passes with fewer roles; those that never speak are not waited for.
        return steps if self.contest else [step for step in steps if step.state != "waiting"]

    def _parts(self, room: int) -> list[Step]:
        """What is under way, by the part or panel it belongs to, and what is counted already."""
        steps = self._solved() if self.solving else [Step("so far", "done", self._counted())]
        by_part: dict[str, list[Call]] = {}
        for key, call in self.calls.items():
            by_part.setdefault(Key.parse(key).group, []).append(call)
        parts = sorted(by_part.items(), key=lambda each: order_by_number(each[0]))
        shown = min(_MOST_PARTS, max(_FEWEST_PARTS, room - len(steps) - 1))
        for part, calls in parts[:shown]:
            name = self.tally.called(part) if self.solving else part.replace("/", " ")
            steps.append(Step(name, "working", calls=calls))
        if len(parts) > shown:
            steps.append(Step(f"and {len(parts) - shown:,} more", "waiting"))
        return steps

    def _counted(self) -> str:
        """Parts and ballots so far."""
        story = self.story
        ended = [name for name, part in story.parts.items() if part.end]
        said = [words.count(len(ended), "part") + " done"] if story.parts else []
        cast = sum(len(panel.ballots) for panel in story.panels.values())
        if cast or not said:
            said.append(words.count(cast, "ballot") + " counted")
        return ", ".join(said)

    def _solved(self) -> list[Step]:
        """How far a set of problems is, strategy by strategy; of one problem every program that was run."""
        if self.tally.one:
            held = [each for part in self.story.parts.values() for each in examined_in(part)]
            return [
                Step(
                    event.stage.replace("/", " "),
                    "done" if event.examined.verdict == "accepted" else "failed",
                    words.examined(event.examined),
                )
                for event in held[-_MOST_PARTS:]
            ]
        return [Step(line.strategy, _state(line), line.said) for line in self.tally.lines()]

    def _candidate(self, now: RecordedPass, role: Role, slot: Slot) -> Step:
        lost = next((event for event in now.dropped if event.slot == slot), None)
        ready = now.candidates.get(slot)
        said = words.candidate(ready) if ready else words.dropped(lost) if lost else None
        return self._step(role, (role,), said and f"{slot}: {said}", lost is not None and not ready)

    def _step(self, name: str, roles: tuple[Role, ...], said: str | None, failed: bool) -> Step:
        calls = [call for call in self.calls.values() if call.role in roles]
        if calls:
            return Step(name, "working", said or "", calls)
        if said:
            return Step(name, "failed" if failed else "done", said)
        return Step(name, "waiting")

    def seats(self) -> list[Seat]:
        """The present panel, seat by seat."""
        story = self.story
        if self.stage == "playoff":
            cast = story.playoff_ballots
        elif self.stage in (CONFIRMATION, DRAFTS):
            cast = story.panels[self.stage].ballots if self.stage in story.panels else []
        elif self.stage.startswith("pass"):
            cast = story.passes[-1].ballots
        else:
            return []
        seats: dict[int, Seat] = {}
        for seat in self.answered:
            seats[seat] = Seat(seat, "done", "voted")
        for call in self.calls.values():
            if call.seat is not None:
                seats[call.seat] = Seat(call.seat, "working", call=call)
        for event in cast:
            said = words.ranking(event.ranking) if event.ranking else "no ballot"
            seats[event.seat] = Seat(event.seat, "done" if event.ranking else "failed", said)
        return [seats[number] for number in sorted(seats)]

    def needs(self) -> str:
        """What would end the run."""
        story = self.story
        if self.solving:
            return self.tally.left(self.elapsed)
        last = self.stage in ("playoff", CONFIRMATION)
        if story.settings is None or story.end or self.study or last:
            return ""
        left = story.settings.k - story.streak
        more = "more survival" if story.streak else "survival"
        ends = (
            [f"A needs {words.count(left, more)}{' in a row' if left > 1 else ''}"]
            if left > 0 and self.contest
            else []
        )
        if story.passes:
            ends.append(f"pass {story.passes[-1].number} of {story.settings.passes}")
        else:
            ends.append(f"at most {words.count(story.settings.passes, 'pass', 'passes')}")
        return ", ".join(ends)

    def budget(self) -> str:
        """What was spent, each against its limit where there is one."""
        limits = self.story.settings.budget if self.story.settings else Budget()
        return " · ".join(
            (
                words.share(self.spent.calls, limits.calls, "call"),
                words.tokens(self.spent, limits.tokens),
                words.bill(self.spent, limits.cost),
            )
        )


def _state(line: Line) -> State:
    """A strategy that has not begun is not ticked off, nor one that is half-way."""
    return "waiting" if not line.done else "done" if line.done == line.of else "working"
