"""A recorded run on a terminal: the lines of its account under headings, with labels in a column of their own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from autoreason.cli import outcome
from autoreason.cli.account import FULL, RECORD, Line, tell_all
from autoreason.cli.console import stdout_console
from autoreason.cli.lookup import is_contest, when
from autoreason.errors import InvalidInput
from autoreason.job_types import Lab
from autoreason.journal.run_names import cell_name
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import solved_in
from autoreason.report import numbers
from autoreason.report.table import WIDEST, wrap
from autoreason.studies.lab_suite import all_cells, suite_of

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.result import Result
    from autoreason.story import Story


_LABEL = 13
_MIN_WIDTH = 20
_SHORT = 12
"""Lines of a text that a short account shows."""
_MAX_NAMED = 8


def print_run(book: Journal, row: RunRow, result: Result) -> None:
    """The whole run; of a suite only what it is, because its cells are runs themselves."""
    transcript = Transcript(stdout_console())
    lines = [] if isinstance(result.story.job, Lab) else _read(book, row.id)
    transcript.opening(row, lines, result.story)
    transcript.lines(
        [line for line in lines if line.place or line.depth != RECORD or not line.about]
    )
    if result.story.writes == "text" or result.story.end is None:
        transcript.end(row, result)


def print_pass(book: Journal, row: RunRow, number: int) -> None:
    Transcript(stdout_console()).lines(_pass(row, _read(book, row.id), number), FULL)


def print_end(book: Journal, row: RunRow, result: Result) -> None:
    """What was to be written, the beginning of the text, and how the run ended; no pass."""
    transcript = Transcript(stdout_console())
    transcript.opening(row, _read(book, row.id), result.story)
    if result.story.text:
        transcript.beginning(row, result.story.text)
    transcript.end(row, result)


def print_attempts(book: Journal, row: RunRow, runs: dict[str, str], number: int | None) -> None:
    """How one problem was worked on, strategy by strategy; with a number, that pass in full."""
    transcript = Transcript(stdout_console())
    told = {title: _read(book, run) for title, run in runs.items() if book.has(run)}
    if number is not None:
        told = {title: _pass(row, lines, number, quiet=True) for title, lines in told.items()}
        if not any(told.values()):
            raise InvalidInput(f"run {row.id} has no pass {number} on this problem")
    for title, lines in told.items():
        if len(told) > 1 and lines:
            transcript.heading(title)
        depth = RECORD if number is None else FULL
        transcript.lines([each for each in lines if each.depth != RECORD or each.place], depth)


def attempts_at(
    row: RunRow, story: Story, problem: str | None, strategy: str | None
) -> dict[str, str]:
    """The runs of the attempts asked for, by title; a run on one problem is its own."""
    assert story.task is not None
    suite = suite_of(story.task)
    if suite is None:
        (only,) = assignments_of(story.task)
        _check(row, "problem", problem, [only.id])
        _check(row, "strategy", strategy, [each.strategy for each in solved_in(story)])
        return {"": row.id}
    if problem is None and len(suite.tasks) > 1:
        raise InvalidInput(
            f"run {row.id} is on {len(suite.tasks)} problems; name one of them with --problem ID"
        )
    for each in suite.unfair:
        if each.id == problem:
            raise InvalidInput(f"problem {each.id} was left out: {each.remark}")
    _check(row, "problem", problem, list(suite.tasks))
    _check(row, "strategy", strategy, list(suite.arms))
    return {
        f"{cell.arms[0]}, repeat {cell.repeat}": cell_name(row.id, cell.number)
        for cell in all_cells(suite)
        if problem in (None, cell.task) and strategy in (None, cell.arms[0])
    }


def _check(row: RunRow, noun: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        more = f" and {len(known) - _MAX_NAMED} more" if len(known) > _MAX_NAMED else ""
        raise InvalidInput(
            f"run {row.id} has no {noun} {name!r}; there are {', '.join(known[:_MAX_NAMED])}{more}"
        )


def _read(book: Journal, run: str) -> list[Line]:
    return tell_all(recorded.event for recorded in book.events(run))


def _pass(row: RunRow, lines: list[Line], number: int, *, quiet: bool = False) -> list[Line]:
    found = [line for line in lines if line.place == f"pass {number}"]
    if not (found or quiet):
        passes = len({line.place for line in lines if line.place.startswith("pass ")})
        there = numbers.count(passes, "pass", "passes")
        raise InvalidInput(f"run {row.id} has no pass {number}; it has {there}")
    return found


class Transcript:
    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, WIDEST)
        self._place = ""

    def opening(self, row: RunRow, lines: list[Line], story: Story) -> None:
        from autoreason.run.estimate import changed_settings

        name = row.id
        for each in wrap(row.title, max(_MIN_WIDTH, self.width - len(row.id) - 2)) or [""]:
            self._print(Text.assemble((name, "cyan"), "  ", (each, "bold")))
            name = " " * len(row.id)
        origin = f"; forked from {row.forked_from}" if row.forked_from else ""
        self._row("status", row.state)
        self._row("started", f"{when(row.created)}, version {row.version}{origin}")
        for line in lines:
            if line.depth == RECORD and line.about and not line.place:
                self._row(line.about, line.text)
        if is_contest(story) and story.settings and (changed := changed_settings(story.settings)):
            self._row("changed", " · ".join(changed))

    def lines(self, lines: Iterable[Line], depth: int = RECORD) -> None:
        """Lines under headings; what has neither place nor label is for those who watch."""
        for line in lines:
            if line.depth > depth or not (line.place or line.about):
                continue
            if line.place != self._place:
                self._place = line.place
                self.heading(line.place.capitalize())
            if line.kind == "quote":
                self._quote(line.about, line.text)
            elif line.kind == "verdict":
                self._row("verdict", line.text, line.style)
            elif line.depth == RECORD and line.about:
                self._row(line.about, line.text, label_style=line.style or "dim")
            else:
                self._row(line.about, line.text, line.style)

    def beginning(self, row: RunRow, text: str) -> None:
        lines = text.rstrip("\n").split("\n")
        head = "\n".join(lines[:_SHORT])[: _SHORT * WIDEST].rstrip()
        self._quote("text", head)
        if len(head) < len(text.rstrip()):
            self._row("", f"… all of it: autoreason show {row.id} --text", "dim")

    def end(self, row: RunRow, result: Result) -> None:
        self._print(Text())
        if row.live:
            steps = [("", "Under way"), ("Watch", f"autoreason show {row.id} --follow")]
            outcome.print_rows(steps, self.console)
        else:
            outcome.print_report(result, self.console)

    def heading(self, title: str) -> None:
        self._print(Text(f"\n{title}" if title else "", style="bold"))

    def _quote(self, name: str, text: str) -> None:
        self._print(Text(f"── {name} ".ljust(self.width, "─"), style="dim"))
        self._print(Text(text.rstrip("\n")))
        self._print(Text("─" * self.width, style="dim"))

    def _row(self, label: str, text: str, style: str = "", label_style: str = "dim") -> None:
        column = max(_LABEL, len(label) + 1)
        lines = wrap(text, max(_MIN_WIDTH, self.width - column - 2)) or [""]
        for place, line in enumerate(lines):
            head = f"{label if place == 0 else '':<{column}}"
            self._print(Text.assemble("  ", (head, label_style), (line, style)))

    def _print(self, line: Text) -> None:
        self.console.print(line, soft_wrap=True)


_WORD = re.compile(r"\S+[^\S\n]*|\s")
_MARKS = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
_STYLES = {"same": "", "gone": "red strike", "new": "green"}


def compare(before: str, after: str) -> list[tuple[str, str]]:
    """The way from one text to the other: stretches of words that are the `same`, `gone` or `new`."""
    old, new = _WORD.findall(before), _WORD.findall(after)
    stretches = []
    for what, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        gone = [] if what == "equal" else [("gone", "".join(old[i:j]))]
        stretches += [*gone, ("same" if what == "equal" else "new", "".join(new[k:m]))]
    return [stretch for stretch in stretches if stretch[1]]


def print_changes(before: str, after: str) -> None:
    """In colour on a terminal that has it, else with marks: [-gone-] and {+new+}."""
    console = stdout_console()
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    if before == after:
        print("nothing changed: the text is the first draft", file=sys.stderr)
    changes = Text()
    for kind, text in compare(before, after):
        shown = text if coloured else _MARKS[kind].format(text.rstrip())
        changes.append(shown, style=_STYLES[kind])
        changes.append("" if coloured else text[len(text.rstrip()) :])
    console.print(changes, soft_wrap=True, end="" if changes.plain.endswith("\n") else "\n")
