"""How a problem was worked on, attempt by attempt and pass by pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.cli.views.console import stdout_console
from autoreason.cli.views.transcript import Transcript
from autoreason.errors import InvalidInput
from autoreason.events import CandidateReady
from autoreason.journal.run_names import cell_name
from autoreason.keys import is_in_pass, pass_key
from autoreason.programs import events
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import examined_in, solved_in
from autoreason.report import numbers
from autoreason.report.numbers import lines
from autoreason.story import Story
from autoreason.studies.lab.lab_suite import all_cells, suite_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreason.journal import Journal, RunRow
    from autoreason.programs.assignment import Examined
    from autoreason.programs.events import ProgramExamined, Solved

_MAX_NAMED = 8


def attempts_at(
    book: Journal, row: RunRow, story: Story, problem: str | None, strategy: str | None
) -> dict[str, Story]:
    """The stories of the attempts asked for, by title; of a run on one problem it is its own."""
    assert story.task is not None
    suite = suite_of(story.task)
    if suite is None:
        (only,) = assignments_of(story.task)
        _check(row, "problem", problem, [only.id])
        _check(row, "strategy", strategy, [each.strategy for each in solved_in(story)])
        return {"": story}
    if problem is None and len(suite.tasks) > 1:
        raise InvalidInput(
            f"run {row.id} is on {len(suite.tasks)} problems; name one of them with --problem ID"
        )
    for each in suite.unfair:
        if each.id == problem:
            raise InvalidInput(f"problem {each.id} was left out: {each.remark}")
    _check(row, "problem", problem, list(suite.tasks))
    _check(row, "strategy", strategy, list(suite.arms))
    cells = [
        cell
        for cell in all_cells(suite)
        if problem in (None, cell.task) and strategy in (None, cell.arms[0])
    ]
    runs = {f"{c.arms[0]}, repeat {c.repeat}": cell_name(row.id, c.number) for c in cells}
    return {title: book.story(run) for title, run in runs.items() if book.has(run)}


def _check(row: RunRow, noun: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        more = f" and {len(known) - _MAX_NAMED} more" if len(known) > _MAX_NAMED else ""
        raise InvalidInput(
            f"run {row.id} has no {noun} {name!r}; there are {', '.join(known[:_MAX_NAMED])}{more}"
        )


def print_attempts(row: RunRow, attempts: dict[str, Story], number: int | None) -> None:
    """Everything that was written and tried; with a number, that pass in full."""
    transcript = _Attempts(stdout_console())
    if number is not None:
        _print_pass(row, attempts, number, transcript)
        return
    for title, story in attempts.items():
        if len(attempts) > 1:
            transcript.title(title)
        transcript.attempts(story)
        for each in story.passes:
            transcript.one_pass(each, story)
        transcript.panels(story)
        if title:
            transcript.outcome(next(iter(solved_in(story)), None))


def _print_pass(
    row: RunRow, attempts: dict[str, Story], number: int, transcript: _Attempts
) -> None:
    found = [
        (title, story, each)
        for title, story in attempts.items()
        for each in story.passes
        if each.number == number
    ]
    if not found:
        longest = max((len(story.passes) for story in attempts.values()), default=0)
        passes = numbers.count(longest, "pass", "passes")
        raise InvalidInput(f"run {row.id} has no pass {number} on this problem; it has {passes}")
    for title, story, each in found:
        if len(attempts) > 1:
            transcript.title(title)
        transcript.one_pass(each, story, in_full=True)


class _Attempts(Transcript):
    """Prints what was written and what came of it under the public tests."""

    def title(self, title: str) -> None:
        """The strategy, and the number of the repeat."""
        self._heading(title)

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
