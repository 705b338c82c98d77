"""A recorded run on a terminal: a line for each round, all of its account under headings, and what changed."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.text import Text

from autoreason.characters import without_controls
from autoreason.cli import outcome
from autoreason.cli.account import FULL, RECORD, Line, tell_all
from autoreason.cli.console import stdout_console
from autoreason.cli.lookup import is_contest, is_sampled, when, writes_programs
from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.job_types import Lab
from autoreason.journal.run_names import cell_name
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import solved_in
from autoreason.report import numbers
from autoreason.report.changes import compare_texts
from autoreason.report.table import WIDEST, wrap
from autoreason.studies.lab_suite import all_cells, suite_of
from autoreason.tournament.endings import short_run
from autoreason.tournament.rounds import rounds_of
from autoreason.wording import KINDS

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.result import Result
    from autoreason.story import Story


_LABEL = 13
_MIN_WIDTH = 20
_LEAST_WORDS = 16
"""Columns below which a judge's words say nothing."""
_MAX_NAMED = 8


# ---- a run in one line for each round ----------------------------------------------------------


def print_overview(row: RunRow, result: Result) -> None:
    """What it is, what it came to, and what happened in every round."""
    console, story = stdout_console(), result.story
    width = min(console.width, WIDEST)
    day = row.created.astimezone()
    title = f"{row.title} · {short_run(row.id)} · {day.day} {day:%b %Y, %H:%M}"
    is_text = story.writes == "text"
    lines = result.summary()[: 1 if is_text and result.finished else None]
    if row.live:
        lines = [f"Under way; to watch it: autoreason show {short_run(row.id)} --follow"]
    outcome.print_summary([title, *lines], console)
    told = _drafts(story) if is_sampled(story) else _rounds(story) if is_text else []
    if told:
        console.print()
        _print_rounds(told, console, width)
    console.print(f"\n{_more(story)}", soft_wrap=True)


class _Told(NamedTuple):
    """A line of the account."""

    mark: str
    style: str
    name: str
    sentence: str
    words: str = ""
    """A judge's."""


def _rounds(story: Story) -> list[_Told]:
    found = []
    if story.draft:
        first = KINDS["draft"]
        size = numbers.count(story.draft.words, "word")
        found.append(_Told(first.mark, first.style, first.name, size))
    is_named = False
    for each in rounds_of(story):
        kind = KINDS[each.kind] if each.kind else None
        sentence = each.sentence
        if is_named:
            sentence = sentence.removesuffix(" judges").removesuffix(" judge")
        is_named = is_named or bool(each.votes)
        said = each.reason.words if each.reason else ""
        if kind and each.kind != "kept":
            # The line says already which text it is about.
            said = said.removeprefix(f"T{kind.the[1:]} ")
        mark, style = (kind.mark, kind.style) if kind else ("·", "")
        found.append(_Told(mark, style, f"round {each.number}", sentence, said))
    return found


def _drafts(story: Story) -> list[_Told]:
    """Of several drafts no one is made from another."""
    draft = KINDS["draft"]
    return [
        _Told(
            draft.mark,
            draft.style,
            f"draft {number}",
            numbers.count(count_words(each.text), "word")
            + (", chosen" if story.end and each.name == story.origin else ""),
        )
        for number, each in enumerate(story.incumbents, 1)
    ]


def _print_rounds(told: Sequence[_Told], console: Console, width: int) -> None:
    column = max(len(each.name) for each in told) + 2
    room = width - column - 2
    widest = max((len(each.sentence) for each in told if each.words), default=0)
    middle = min(widest, room - _LEAST_WORDS) + 2
    for each in told:
        line = Text.assemble((each.mark, each.style), " ", f"{each.name:<{column}}")
        left = room - max(middle, len(each.sentence) + 2)
        if each.words and left >= _LEAST_WORDS:
            words = textwrap.shorten(without_controls(each.words), left - 2, placeholder=" …")
            line.append(f"{each.sentence:<{middle}}“{words}”")
        else:
            line.append(numbers.shorten(without_controls(each.sentence), room))
        console.print(line, soft_wrap=True)


def _more(story: Story) -> str:
    options = ["--text"] if story.text or story.writes == "files" else []
    options += ["--diff"] if story.draft or story.writes == "files" else []
    if story.passes:
        options.append(f"--round {story.passes[-1].number}")
    options += ["--problem ID"] if writes_programs(story) and suite_of(story.task) else []
    return " · ".join([*options, "--evidence", "--html run.html"])


# ---- all of it ---------------------------------------------------------------------------------


def print_evidence(book: Journal, row: RunRow, result: Result) -> None:
    """The whole run, in the letters of the paper; of a suite only what it is: its cells are runs themselves."""
    transcript = Transcript(stdout_console())
    lines = [] if isinstance(result.story.job, Lab) else _read(book, row.id)
    transcript.opening(row, lines, result.story)
    transcript.lines(
        [line for line in lines if line.place or line.depth != RECORD or not line.about]
    )
    if result.story.writes == "text" or result.story.end is None:
        transcript.end(row, result)


def print_round(book: Journal, row: RunRow, number: int) -> None:
    Transcript(stdout_console()).lines(_round(row, _read(book, row.id), number), FULL)


def print_attempts(book: Journal, row: RunRow, runs: dict[str, str], number: int | None) -> None:
    """How one problem was worked on, strategy by strategy; with a number, that round in full."""
    transcript = Transcript(stdout_console())
    told = {title: _read(book, run) for title, run in runs.items() if book.has(run)}
    if number is not None:
        told = {title: _round(row, lines, number, quiet=True) for title, lines in told.items()}
        if not any(told.values()):
            raise InvalidInput(f"run {row.id} has no round {number} on this problem")
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


def _round(row: RunRow, lines: list[Line], number: int, *, quiet: bool = False) -> list[Line]:
    found = [line for line in lines if line.place == f"pass {number}"]
    if not (found or quiet):
        rounds = len({line.place for line in lines if line.place.startswith("pass ")})
        there = numbers.count(rounds, "round")
        raise InvalidInput(f"run {row.id} has no round {number}; it has {there}")
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


# ---- what changed ------------------------------------------------------------------------------

_MARKS = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
_STYLES = {"same": "", "gone": "red strike", "new": "green"}


def print_changes(before: str, after: str) -> None:
    """In colour on a terminal that has it, else with marks: [-gone-] and {+new+}; wrapped on any terminal."""
    console = stdout_console()
    coloured = console.is_terminal and not console.no_color and console.color_system is not None
    if before == after:
        print("nothing changed: the text is the first draft", file=sys.stderr)
    last = ""
    for block in compare_texts(before, after):
        if last and not last == block.kind == "item":
            console.print()
        last = block.kind
        lead = "#" * int(last[1]) + " " if last[0] == "h" else "- " if last == "item" else ""
        line = Text(lead)
        for at, change in enumerate(block.changes):
            line.append(block.between if at else "")
            shown = change.text if coloured else _MARKS[change.kind].format(change.text)
            line.append(shown, style=_STYLES[change.kind] if coloured else "")
        console.print(line, soft_wrap=not console.is_terminal)
