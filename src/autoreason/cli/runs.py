"""`autoreason runs`: the runs in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from autoreason.cli import options, words
from autoreason.cli.journals import opened, state, story_of
from autoreason.errors import JournalUnusable

if TYPE_CHECKING:
    from datetime import datetime

    from autoreason.journal import Journal, RunRow
    from autoreason.story import Story


@click.command(cls=options.Taught)
@click.option(
    "-n", "most", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many."
)
@options.journal_option
@options.json_option
def runs(most: int, journal: str | None, as_json: bool) -> None:
    """List the runs in the journal, newest first.

    Winners are those of the last passes: A is the text that stood, B a revision, AB a synthesis, ?
    a pass that decided nothing. Runs that write programs say what they solved of what there is to
    solve, problems times strategies times repeats. A live run is under way now; a killed one can be
    resumed.
    """
    from autoreason.cli.ending import print_json

    with opened(journal) as book:
        found = [(row, _legible(book, row.id)) for row in book.runs(most)]
    if as_json:
        print_json([_as_object(row, story) for row, story in found])
    elif found:
        _print_table(found)
    else:
        click.echo("no runs yet; begin with `autoreason run`", err=True)


def _legible(book: Journal, run: str) -> Story | None:
    """What is recorded of a run; None where the record is damaged, which must not hide the others."""
    try:
        return story_of(book, run)
    except JournalUnusable:
        return None


def _state(row: RunRow, story: Story | None) -> str:
    return state(row) if story else "damaged"


def _as_object(row: RunRow, story: Story | None) -> dict[str, Any]:
    return {
        "run": row.id,
        "created": row.created,
        "updated": row.updated,
        "status": _state(row, story),
        "strategy": _strategy(story),
        **_progress(story),
        "calls": row.spent.calls,
        "tokens": row.spent.tokens,
        "cost": row.spent.cost,
        "title": row.title,
        "forked_from": row.forked_from,
    }


def _progress(story: Story | None) -> dict[str, Any]:
    """How far a run has come: passes of a text, or programs that hold of those there are to be."""
    score = _score(story)
    told = story if score is None else None
    return {
        "passes": len(told.trajectory) if told else None,
        "trajectory": told.trajectory if told else None,
        "solved": score.solved if score else None,
        "to_solve": score.total if score else None,
    }


class _Score(NamedTuple):
    solved: int
    total: int


def _score(story: Story | None) -> _Score | None:
    """What was solved of a set of problems; None of any other run."""
    if story is None or story.task is None or _strategy(story) != "solve":
        return None
    from autoreason.cli.tally import Tally
    from autoreason.code.outcomes import units_of

    units = units_of(story.solved, {each.id: each for each in story.task.assignments})
    return _Score(sum(bool(unit.solved) for unit in units), Tally(story).total)


def _print_table(found: list[tuple[RunRow, Story | None]]) -> None:
    from rich.text import Text

    from autoreason.cli.consoles import stdout_console

    console = stdout_console()
    # A pipe has no columns to save.
    room = console.width if console.is_terminal else _WIDE
    lines = [_HEADINGS, *(_cells(row, story) for row, story in found)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = _fitting(widths, room)
    for place, cells in enumerate(lines):
        line = Text(style="dim" if place == 0 else "")
        for column in shown:
            cell = cells[column]
            aligned = cell.rjust(widths[column]) if column in _RIGHT else cell.ljust(widths[column])
            style = STYLES.get(cell, "yellow") if place and column == _STATUS else ""
            line.append(f"{aligned}  ", style=style)
        line.rstrip()
        line.truncate(room, overflow="ellipsis")
        console.print(line, soft_wrap=True)


_HEADINGS = ("run", "when", "status", "passes", "winners", "calls", "cost", "title")
_STATUS, _TITLE = 2, 7
_RIGHT = (3, 5, 6)
_GIVEN_UP = (1, 5, 6, 3)
"""Columns that a narrow terminal does without, in this order."""
_LEAST_TITLE = 20
_PLAIN = (None, "autoreason", "solve")
"""Strategies that a title need not name."""
_WIDE = 200


def _strategy(story: Story | None) -> str | None:
    return story.settings.strategy if story and story.settings else None


def _cells(row: RunRow, story: Story | None) -> tuple[str, ...]:
    from autoreason.strategies.finding import called

    strategy = _strategy(story)
    won = story.trajectory if story else ()
    score = _score(story)
    return (
        row.id,
        when(row.created),
        _state(row, story),
        "-" if score else f"{len(won):,}",
        f"solved {score.solved} of {score.total}" if score else words.winners(won, _SHOWN) or "-",
        f"{row.spent.calls:,}",
        words.money(row.spent.cost),
        row.title if strategy in _PLAIN else f"{called(strategy or '')}: {row.title}",
    )


def _fitting(widths: list[int], room: int) -> list[int]:
    """The columns that leave a readable part of the title."""
    shown = list(range(len(widths)))
    for column in _GIVEN_UP:
        taken = sum(widths[each] + 2 for each in shown if each != _TITLE)
        if room - taken >= min(_LEAST_TITLE, widths[_TITLE]):
            break
        shown.remove(column)
    return shown


STYLES = {
    "live": "cyan",
    "converged": "green",
    "capped": "green",
    "done": "green",
    "accepted": "green",
}
_SHOWN = 6


def when(moment: datetime) -> str:
    """A moment as a person on this machine would say it."""
    from datetime import datetime as clock

    here, now = moment.astimezone(), clock.now().astimezone()
    if here.date() == now.date():
        return f"today {here:%H:%M}"
    return f"{here:%d %b %H:%M}" if here.year == now.year else f"{here:%d %b %Y}"
