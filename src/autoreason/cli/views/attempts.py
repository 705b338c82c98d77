"""How a problem was worked on, attempt by attempt and pass by pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from autoreason.cli.views.console import stdout_console
from autoreason.cli.views.transcript import Transcript
from autoreason.errors import InvalidInput
from autoreason.events import CandidateReady, PartEvent
from autoreason.keys import PartName, is_in_pass, pass_key
from autoreason.plugins import short
from autoreason.programs import events
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import examined_in, solved_in
from autoreason.programs.progress import SolveProgress
from autoreason.programs.solve_job import part_name
from autoreason.report import numbers
from autoreason.report.numbers import lines
from autoreason.story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreason.journal import Journal, RunRow
    from autoreason.programs.assignment import Examined
    from autoreason.programs.events import ProgramExamined, Solved

_MAX_NAMED = 8


def parts_of(
    book: Journal, row: RunRow, story: Story, problem: str | None, strategy: str | None
) -> dict[str, Story]:
    """The stories of the parts asked for, by name; of a run on one problem, of all parts."""
    assert story.task is not None
    assert story.settings is not None
    terms = SolveProgress(story).terms
    problems = [each.id for each in assignments_of(story.task)]
    strategies = [short(each) for each in terms.strategies]
    if problem is None and len(problems) > 1:
        raise InvalidInput(
            f"run {row.id} is on {len(problems)} problems; name one of them with --problem ID"
        )
    _check(row, "problem", problem, problems)
    _check(row, "strategy", strategy, strategies)
    number = problems.index(problem) + 1 if problem else 1
    assignment = assignments_of(story.task)[number - 1]
    if problem and assignment.remark:
        raise InvalidInput(f"problem {assignment.id} was left out: {assignment.remark}")
    settings = replace(story.settings, k=terms.k)
    parts = {
        part_name(number, name, repeat): Story(settings=settings)
        for name in ([strategy] if strategy else strategies)
        for repeat in range(1, terms.repeats + 1)
    }
    for recorded in book.events(row.id):
        event = recorded.event
        if isinstance(event, PartEvent) and event.part in parts:
            parts[event.part].apply(event.event)
    return parts


def _check(row: RunRow, noun: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        more = f" and {len(known) - _MAX_NAMED} more" if len(known) > _MAX_NAMED else ""
        raise InvalidInput(
            f"run {row.id} has no {noun} {name!r}; there are {', '.join(known[:_MAX_NAMED])}{more}"
        )


def print_parts(row: RunRow, story: Story, parts: dict[str, Story], number: int | None) -> None:
    """Every attempt of every part; with a number, that pass in full."""
    transcript = _Attempts(stdout_console())
    if number is not None:
        _print_pass(row, parts, number, transcript)
        return
    last = {event.part: event for event in solved_in(story)}
    for name, part in parts.items():
        if len(parts) > 1:
            transcript.title(name)
        transcript.attempts(part)
        for each in part.passes:
            transcript.one_pass(each, part)
        transcript.panels(part)
        if len(parts) > 1 or not SolveProgress(story).one:
            transcript.outcome(last.get(name))


def _print_pass(row: RunRow, parts: dict[str, Story], number: int, transcript: _Attempts) -> None:
    found = [
        (name, part, each)
        for name, part in parts.items()
        for each in part.passes
        if each.number == number
    ]
    if not found:
        longest = max((len(part.passes) for part in parts.values()), default=0)
        passes = numbers.count(longest, "pass", "passes")
        raise InvalidInput(f"run {row.id} has no pass {number} on this problem; it has {passes}")
    for name, part, each in found:
        if len(parts) > 1:
            transcript.title(name)
        transcript.one_pass(each, part, in_full=True)


class _Attempts(Transcript):
    """Prints what was written and what came of it under the public tests."""

    def title(self, part: str) -> None:
        """The strategy, and the number of the repeat."""
        name = PartName.parse(part)
        self._heading(f"{name.name}, repeat {name.repeat}")

    def attempts(self, part: Story) -> None:
        """The draft, and the programs written outside of passes."""
        for each in examined_in(part):
            if not is_in_pass(each.stage):
                self._row(each.stage.replace("/", " "), _program(each))
        if part.draft and not examined_in(part):
            self._row("draft", f"{lines(part.draft.text)}, no public tests")
        if part.failed_drafts:
            self._row("", f"no whole answer came {numbers.count(part.failed_drafts, 'time')}")

    def candidate(self, ready: CandidateReady, story: Story) -> None:
        """A challenger and its tests."""
        stage = pass_key(ready.number, ready.slot)
        examined = next((each for each in examined_in(story) if each.stage == stage), None)
        self._row(ready.slot, _program(examined) if examined else lines(ready.text))

    def outcome(self, event: Solved | None) -> None:
        """What was handed in, and its verdicts."""
        if event is None:
            self._row("verdict", "none yet", "dim")
            return
        self._row("end", event.reason)
        self._row("verdict", events.describe_solved(event), "bold")


def _program(event: ProgramExamined) -> str:
    """A program and its tests."""
    if not event.program:
        return "no program in the answer"
    return f"{lines(event.program)}; {events.describe_examined(event.examined)}{_reason(event.examined)}"


def _reason(examined: Examined) -> str:
    """The first test it failed, in a few words."""
    failed = examined.failed
    if failed is None:
        return ""
    reason = failed.detail or failed.difference or (failed.trace.strip().splitlines() or [""])[-1]
    return f"; test {failed.number}: {reason}" if reason else f"; test {failed.number} is the first"
