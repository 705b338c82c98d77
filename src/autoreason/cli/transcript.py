"""A recorded run on a terminal: a line for each round, all of its account under headings, and what changed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from autoreason.cli import outcome
from autoreason.cli.account import Line, describe_record
from autoreason.cli.console import stdout_console
from autoreason.cli.lookup import is_contest, is_sampled, when
from autoreason.cli.screen import RoundLine, draw_rounds, list_rounds
from autoreason.contract import count_words
from autoreason.errors import InvalidInput
from autoreason.job_types import Lab
from autoreason.report import numbers
from autoreason.report.changes import compare_texts
from autoreason.report.table import WIDEST, wrap
from autoreason.task import Metric
from autoreason.tournament.endings import short_run
from autoreason.tournament.rounds import rounds_of
from autoreason.tournament.statements import predictor_seat, written_with

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.result import Result
    from autoreason.story import Story


_LABEL = 13
_MIN_WIDTH = 20


# ---- a run in one line for each round ----------------------------------------------------------


def print_overview(row: RunRow, result: Result) -> None:
    """What it is, what it came to, and what happened in every round."""
    console, story = stdout_console(), result.story
    day = row.created.astimezone()
    title = f"{row.title} · {short_run(row.id)} · {day.day} {day:%b %Y, %H:%M}"
    is_text = story.writes == "text"
    lines = result.summary()
    if is_text and result.finished:
        lines = [lines[0], *written_with(story)]
    if row.live:
        lines = [f"Under way; to watch it: autoreason show {short_run(row.id)} --follow"]
    outcome.print_summary([title, *lines], console)
    rounds = list_rounds(story, rounds_of(story)) if is_text else []
    if is_text and is_sampled(story):
        rounds = _drafts(story)
    if rounds:
        console.print()
        column = max(len(each.name) for each in rounds) + 2
        for line in draw_rounds(rounds, min(console.width, WIDEST), column):
            console.print(line, soft_wrap=True)
    more = ["--text"] if story.text or story.writes == "files" else []
    more += ["--diff"] if story.draft or story.writes == "files" else []
    more += [f"--round {story.passes[-1].number}"] if story.passes else []
    more += ["--evidence", "--html run.html"]
    console.print(f"\n{' · '.join(more)}", soft_wrap=True)


def _drafts(story: Story) -> list[RoundLine]:
    """Of several drafts no one is made from another."""
    found = []
    for number, each in enumerate(story.incumbents, 1):
        chosen = ", chosen" if story.end and each.name == story.origin else ""
        size = numbers.count(count_words(each.text), "word")
        found.append(RoundLine("draft", f"draft {number}", f"{size}{chosen}"))
    return found


# ---- all of it ---------------------------------------------------------------------------------


def print_evidence(book: Journal, row: RunRow, result: Result) -> None:
    """The whole run, in the letters of the paper; of a suite only what it is: its cells are runs themselves."""
    console, story = stdout_console(), result.story
    _print_opening(row, story, console)
    _print_lines([] if isinstance(story.job, Lab) else _read(book, row.id), console)
    console.print()
    watch = f"Under way; to watch it: autoreason show {row.id} --follow"
    console.print(watch if row.live else result, soft_wrap=True)


def print_round(book: Journal, row: RunRow, number: int) -> None:
    lines = _read(book, row.id, full=True)
    found = [line for line in lines if line.place == f"pass {number}"]
    if not found:
        rounds = len({line.place for line in lines if line.place.startswith("pass ")})
        there = numbers.count(rounds, "round")
        raise InvalidInput(f"run {row.id} has no round {number}; it has {there}")
    _print_lines(found, stdout_console())


def _read(book: Journal, run: str, *, full: bool = False) -> list[Line]:
    return describe_record((recorded.event for recorded in book.events(run)), full=full)


def _print_opening(row: RunRow, story: Story, console: Console) -> None:
    from autoreason.run.estimate import changed_settings

    name, width = row.id, min(console.width, WIDEST) - len(row.id) - 2
    for each in wrap(row.title, max(_MIN_WIDTH, width)) or [""]:
        console.print(Text.assemble((name, "cyan"), "  ", (each, "bold")), soft_wrap=True)
        name = " " * len(row.id)
    task, settings = story.task, story.settings
    assert task is not None
    assert settings is not None
    is_judged = is_contest(story)
    how = settings.protocol if is_judged else settings.job.label
    origin = f"; forked from {row.forked_from}" if row.forked_from else ""
    metric = task.work if isinstance(task.work, Metric) else None
    rows = {
        "status": row.state,
        "started": f"{when(row.created)}, version {row.version}{origin}",
        "models": f"{', '.join(settings.models.all())} · {how} · seed {settings.seed}",
        "metric": f"{metric.evaluate}, as a {metric.role}" if metric else "",
        "predictor": predictor_seat(task, settings),
        "contract": " ".join(task.contract.rules()),
        "changed": " · ".join(changed_settings(settings)) if is_judged else "",
    }
    for label, text in rows.items():
        if text:
            _print_row(label, text, console)


def _print_lines(lines: Iterable[Line], console: Console) -> None:
    """Lines under the headings of their places."""
    width, place = min(console.width, WIDEST), ""
    for line in lines:
        if line.place != place:
            place = line.place
            heading = f"\n{place.capitalize()}" if place else ""
            console.print(Text(heading, style="bold"), soft_wrap=True)
        if line.kind != "text":
            _print_row(line.about, line.text, console, line.style)
            continue
        for text, style in (
            (f"── {line.about} ".ljust(width, "─"), "dim"),
            (line.text.rstrip("\n"), ""),
            ("─" * width, "dim"),
        ):
            console.print(Text(text, style), soft_wrap=True)


def _print_row(label: str, text: str, console: Console, style: str = "") -> None:
    column = max(_LABEL, len(label) + 1)
    width = min(console.width, WIDEST) - column - 2
    for line in wrap(text, max(_MIN_WIDTH, width)) or [""]:
        console.print(
            Text.assemble("  ", (f"{label:<{column}}", "dim"), (line, style)), soft_wrap=True
        )
        label = ""


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
