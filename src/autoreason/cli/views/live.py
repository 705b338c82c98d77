"""What a run looks like at this moment: counters and steps, folded from events and signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from autoreason.cli.views.steps import Call, State, Step
from autoreason.events import AnyEvent, PassDecided, PassStarted, Slot
from autoreason.exchange import (
    BatchWaiting,
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
from autoreason.job_types import Lab
from autoreason.jobs import allowance
from autoreason.journal.run_names import cell_name
from autoreason.keys import Key, order_by_number
from autoreason.report import numbers
from autoreason.settings import Budget
from autoreason.story import CONFIRMATION, DRAFTS, RecordedPass, Story
from autoreason.tournament import statements
from autoreason.tournament.candidates import written_slots

if TYPE_CHECKING:
    from autoreason.artifacts.research_history import ResearchProgress
    from autoreason.studies.lab.lab_progress import LabProgress, SuiteCells
    from autoreason.studies.lab.lab_suite import Cell

_TAIL = 240
CELL = "cell"
"""The kind of query that a cell of a suite is."""
_NO_REPLY = (Outcome.TIMEOUT, Outcome.PROVIDER_ERROR, Outcome.OVER_BUDGET)
LAST_WAIT = 10.0
"""Seconds that replies under way are waited for after Ctrl-C."""
_MAX_PARTS = 12
_MIN_PARTS = 3


class Live:
    """A run as far as it has come, and what is under way."""

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
        self.calls: dict[str, Call] = {}
        self.answered: set[int] = set()
        """Seats whose reply has come and whose ballot is not counted yet."""
        self.batches: dict[str, BatchWaiting] = {}
        """Batches that were sent, by name."""
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

    def on_event(self, event: AnyEvent) -> None:
        """Take in an event."""
        if isinstance(event, PassStarted | PassDecided):
            self.answered.clear()
        self.story.apply(event)

    def on_signal(self, signal: Signal) -> None:
        """Take in a signal. Called for every chunk of every reply, so it only counts."""
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
                    call.trouble = f"{signal.reason}; again in {numbers.duration(signal.wait)}"
            case BatchWaiting():
                self.batches[signal.batch] = signal
            case CallEnded():
                self._end(signal)
            case QueryStarted():
                worked = self._worked(signal.key) if signal.kind == CELL else 0.0
                self.calls[signal.key] = Call(signal.key, signal.kind, "", self.clock() - worked)
            case QueryEnded():
                self.calls.pop(signal.key, None)

    def _end(self, signal: CallEnded) -> None:
        call = self.calls.pop(signal.key, None)
        # A call that brought no reply is not paid for.
        if signal.outcome not in _NO_REPLY:
            self.spent = self.spent.plus(signal)
            if isinstance(self.story.job, Lab) and not signal.replayed:
                part = Key.parse(signal.key).group
                self.spent_by_cell[part] = self.spent_by_cell.get(part, Spent()).plus(signal)
        if call and call.seat is not None:
            self.answered.add(call.seat)

    def _worked(self, key: str) -> float:
        """Seconds of earlier work on the cell of a key."""
        cell = self.cells.get(Key.parse(key).group) if self.worked_by_cell else None
        return self.worked_by_cell.get(cell_name(self.run, cell.number), 0.0) if cell else 0.0

    def under_way(self, calls: dict[str, Call]) -> None:
        """Take in what is under way as seen from outside, where no signals come."""
        for key, call in self.calls.items():
            if key not in calls and call.seat is not None:
                self.answered.add(call.seat)
        self.calls = {key: self.calls.get(key, call) for key, call in calls.items()}

    @property
    def elapsed(self) -> float:
        """Seconds of work on the run, over all processes that drove it."""
        return self.clock() - self.started if self.event_time is None else self.event_time

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
        if self.researching:
            return self.research.stage({Key.parse(key).head for key in self.calls})
        if self.study:
            return "judging" if story.task.entries else "at work"
        asked = {call.stage for call in self.calls.values()}
        if CONFIRMATION in asked or CONFIRMATION in story.panels:
            return CONFIRMATION
        if "playoff" in asked or (story.playoff_ballots and not story.playoff):
            return "playoff"
        if story.draft is None:
            return DRAFTS if story.drafts else "first draft"
        if self.sampling:
            return DRAFTS if asked else ""
        now = story.passes[-1] if story.passes else None
        return f"pass {now.number}" if now and not now.decided else ""

    @property
    def study(self) -> bool:
        """Whether texts are judged that were there before, or written side by side."""
        return self.story.writes != "text"

    @property
    def solving(self) -> bool:
        """Whether programs are written for problems."""
        return self.story.writes == "programs"

    @property
    def researching(self) -> bool:
        """Whether an artifact is improved against a number."""
        return self.story.writes == "files"

    @property
    def research(self) -> ResearchProgress:
        """How far a research run is."""
        from autoreason.artifacts.research_history import ResearchProgress

        return ResearchProgress(self.story)

    @property
    def solving_set(self) -> bool:
        """Whether the suite is a set of problems."""
        if not isinstance(self.story.job, Lab):
            return False
        from autoreason.studies.lab.lab_suite import suite_of

        suite = suite_of(self.story.task)
        return bool(suite and suite.form == "problems")

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
        """All cells of a suite, by part; none of any other run."""
        return self._suite_cells.cells if isinstance(self.story.job, Lab) else {}

    @cached_property
    def _suite_cells(self) -> SuiteCells:
        from autoreason.studies.lab.lab_progress import SuiteCells

        return SuiteCells(self.story)

    def describe_part(self, part: str) -> str:
        """What people call a part."""
        return cell.name if (cell := self.cells.get(part)) else part.replace("/", " ")

    @property
    def contest(self) -> bool:
        """Whether every pass is put to a vote."""
        return self.story.job is None or self.story.job.is_tournament

    @property
    def sampling(self) -> bool:
        """Whether passes are independent drafts."""
        return bool(self.story.job and self.story.job.is_sampling)

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
        """What a run that is being stopped still waits for."""
        calls = sum(bool(call.model) for call in self.calls.values())
        if not calls:
            tests = self.researching and "; what was kept is tested; Ctrl-C again ends at once"
            return f"Stopping{tests or ''}"
        replies = numbers.count(calls, "reply", "replies")
        wait = f"at most {LAST_WAIT:g} s"
        return (
            f"Stopping: waiting {wait} for {replies} already asked for; Ctrl-C again ends at once"
        )

    def steps(self, room: int = _MAX_PARTS) -> list[Step]:
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
                    statements.draft(each),
                )
                for each in self.story.drafts
            ]
            return [*drafts, self._step("author")]
        if not self.stage.startswith("pass"):
            return []
        now = self.story.passes[-1]
        last = now.critiques[-1] if now.critiques else None
        steps = [
            self._step(
                "critic",
                statements.critique(last) if last else "",
                failed=last is not None and not last.readable,
            ),
            *(self._candidate(now, slot) for slot in self._slots(now)),
        ]
        # Other strategies have passes with fewer roles; those that never speak are not waited for.
        return steps if self.contest else [step for step in steps if step.state != "waiting"]

    def _parts(self, room: int) -> list[Step]:
        """What is under way, by the part or panel it belongs to, and what is counted already."""
        counted = self.research.so_far if self.researching else self._counted()
        if lab := self.lab:
            counted = lab.so_far
        steps = self._solved() if self.solving else [Step("so far", "done", counted)]
        by_part: dict[str, list[Call]] = {}
        for key, call in self.calls.items():
            by_part.setdefault(Key.parse(key).group, []).append(call)
        parts = sorted(by_part.items(), key=lambda each: order_by_number(each[0]))
        shown = min(_MAX_PARTS, max(_MIN_PARTS, room - len(steps) - 1))
        for part, calls in parts[:shown]:
            steps.append(Step(self.describe_part(part), "working", calls=calls))
        if len(parts) > shown:
            steps.append(Step(f"and {len(parts) - shown:,} more", "waiting"))
        return steps

    def _counted(self) -> str:
        """Ballots so far."""
        ballots = sum(len(panel.ballots) for panel in self.story.panels.values())
        return f"{numbers.count(ballots, 'ballot')} counted"

    def _solved(self) -> list[Step]:
        """Every program for the problem that was run."""
        from autoreason.programs import events
        from autoreason.programs.events import examined_in

        return [
            Step(
                event.stage.replace("/", " "),
                "done" if event.examined.verdict == "accepted" else "failed",
                events.describe_examined(event.examined),
            )
            for event in examined_in(self.story)[-_MAX_PARTS:]
        ]

    def _slots(self, now: RecordedPass) -> list[Slot]:
        """The texts of a pass, those that are yet to come included."""
        settings = self.story.settings
        usual: list[Slot] = written_slots(settings, now.number) if settings else ["B", "AB"]
        # A fresh draft is B, also where several models revise.
        return [*usual, *(slot for slot in now.candidates if slot not in usual)]

    def _candidate(self, now: RecordedPass, slot: Slot) -> Step:
        if ready := now.candidates.get(slot):
            return self._step(_role(slot), f"{slot}: {statements.candidate(ready)}", slot=slot)
        if dropped := next((event for event in now.dropped if event.slot == slot), None):
            text = f"{slot}: {statements.dropped(dropped)}"
            failed = dropped.reason != "unlisted"
            return self._step(_role(slot), text, slot=slot, failed=failed)
        return self._step(_role(slot), slot=slot)

    def _step(
        self, role: Role, text: str = "", *, slot: Slot | None = None, failed: bool = False
    ) -> Step:
        calls = [
            call
            for call in self.calls.values()
            if call.role == role and (slot is None or call.slot in (None, slot))
        ]
        finished: State = "failed" if failed else "done"
        return Step(role, "working" if calls else finished if text else "waiting", text, calls)

    def seats(self) -> list[Step]:
        """The judges of the present panel by number."""
        story = self.story
        if self.stage == "playoff":
            ballots = story.playoff_ballots
        elif self.stage in (CONFIRMATION, DRAFTS):
            ballots = story.panels[self.stage].ballots if self.stage in story.panels else []
        elif self.stage.startswith("pass"):
            ballots = story.passes[-1].ballots
        else:
            return []
        seats = {seat: Step(str(seat + 1), "done", "voted") for seat in self.answered}
        for call in self.calls.values():
            if call.seat is not None:
                seats[call.seat] = Step(str(call.seat + 1), "working", calls=[call])
        for event in ballots:
            text = statements.ranking(event.ranking) if event.ranking else "no ballot"
            state: State = "done" if event.ranking else "failed"
            seats[event.seat] = Step(str(event.seat + 1), state, text)
        return [seats[number] for number in sorted(seats)]

    def needs(self) -> str:
        """What would end the run."""
        story = self.story
        if self.solving:
            return ""
        if self.researching:
            return self.research.needs
        if lab := self.lab:
            return lab.remaining
        last = self.stage in ("playoff", CONFIRMATION)
        if story.settings is None or story.end or self.study or last:
            return ""
        if story.job and story.job.name == "single":
            return "one draft"
        if self.sampling:
            from autoreason.strategies.rivals import sample_count

            return f"a panel chooses one of {sample_count(story.settings)} drafts"
        left = story.settings.k - story.streak
        more = "more survival" if story.streak else "survival"
        ends = (
            [f"A needs {numbers.count(left, more)}{' in a row' if left > 1 else ''}"]
            if left > 0 and self.contest
            else []
        )
        if ends and story.incumbent and not story.incumbent.keeps_contract:
            ends = ["A breaks the contract"]
        if story.passes:
            ends.append(f"pass {story.passes[-1].number} of {story.settings.passes}")
        else:
            ends.append(f"at most {numbers.count(story.settings.passes, 'pass', 'passes')}")
        return ", ".join(ends)

    def budget(self) -> str:
        """What was spent, each against its limit where there is one."""
        limits = self.story.settings.budget if self.story.settings else Budget()
        spent = lab.spent if (lab := self.lab) else self.spent
        return " · ".join(
            (
                allowance.count_within(spent.calls, limits.calls, "call"),
                allowance.tokens(spent, limits.tokens),
                allowance.cost(spent, limits.cost),
            )
        )


def _role(slot: Slot) -> Role:
    """Who writes the text of a slot."""
    return "synthesizer" if slot == "AB" else "reviser"
