"""`autoreason guide`, `accept` and `stop`: messages to a run in another terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import (
    complete_run,
    find_run,
    open_journal,
    run_argument,
    writes_files,
    writes_programs,
)
from autoreason.errors import InvalidInput

if TYPE_CHECKING:
    from autoreason.journal import CommandKind, Journal, RunRow
    from autoreason.story import Story


@click.command(cls=HelpfulCommand)
@click.argument("given", metavar="[RUN] TEXT", nargs=-1, required=True, shell_complete=complete_run)
@options.journal_option
def guide(given: tuple[str, ...], journal: str | None) -> None:
    """Tell the next critic or proposal what to look at.

    RUN defaults to the live one. TEXT, or - for standard input, reaches the critic of the next pass,
    or the next proposal, once. Guidance for a paused run is kept until it is resumed.

    \b
      autoreason guide "the second paragraph is too long"
      autoreason guide amber-fox "the second paragraph is too long"
    """
    from autoreason.task import read_input

    if len(given) > 2:
        raise InvalidInput("the guidance is more than one argument; put quotes around it")
    text, run = given[-1], given[0] if len(given) == 2 else None

    guidance = (read_input() if text == "-" else text).strip()
    if not guidance:
        raise InvalidInput("the guidance is empty; say what the next critic should look at")
    with open_journal(journal) as book:
        row = _unfinished(book, run, "guide")
        _of_a_text(book, row, "no critic of a program reads guidance")
        book.command(row.id, "guide", guidance)
        research = writes_files(book.story(row.id))
        if row.live:
            reader = "next proposal" if research else "critic of the next pass"
            may_be_last = not research and _may_be_last(book.story(row.id))
            late = ", unless this pass is the last" if may_be_last else ""
            print(f"{row.id}: the {reader} will read it{late}", file=sys.stderr)
        else:
            first = "proposal" if research else "pass"
            again = f"kept for the first new {first} after `autoreason resume {row.id}`"
            print(f"{row.id} is {row.state}; {again}", file=sys.stderr)


@click.command(cls=HelpfulCommand)
@run_argument(required=False)
@options.journal_option
def accept(run: str | None, journal: str | None) -> None:
    """Accept the current text or files and end the run.

    RUN defaults to the live one. Replies on their way are still taken in; nothing new is asked
    for. A paused run ends as soon as it is resumed. Research that is accepted makes no end test, so
    nothing is claimed of it.
    """
    with open_journal(journal) as book:
        row = _unfinished(book, run, "accept")
        _of_a_text(book, row, "tests take or refuse a program, not a person")
        book.command(row.id, "accept", "")
        if row.live:
            print(f"{row.id} ends with what it has now", file=sys.stderr)
        else:
            print(
                f"{row.id} is {row.state}; `autoreason resume {row.id}` will end it as it stands",
                file=sys.stderr,
            )


@click.command(cls=HelpfulCommand)
@run_argument(required=False)
@options.journal_option
def stop(run: str | None, journal: str | None) -> None:
    """Stop a run cleanly; it can be resumed.

    RUN defaults to the live one. Replies on their way are still taken in, because they are paid
    for; nothing new is asked for.
    """
    with open_journal(journal) as book:
        row = _unfinished(book, run, "stop")
        if book.was_accepted(row.id):
            # A later command would take the place of one that is not yet read.
            unread = any(each.kind == "accept" for each in book.pending_commands(row.id))
            if row.live and not unread:
                book.command(row.id, "stop", "")
            ends = (
                "once its replies on the way are in"
                if row.live
                else f"with `autoreason resume {row.id}`"
            )
            print(f"{row.id} was accepted already and ends with its text {ends}", file=sys.stderr)
            return
        if not row.live:
            raise InvalidInput(
                f"run {row.id} is {row.state} and not under way; "
                f"go on with `autoreason resume {row.id}`"
            )
        book.command(row.id, "stop", "")
        settings = book.settings(row.id)
        tested = settings is not None and settings.strategy == "research"
        end = "a change that it kept is tested, which ends it; else " if tested else ""
        print(
            f"{row.id} stops once its replies on the way are in; "
            f"{end}go on later with `autoreason resume {row.id}`",
            file=sys.stderr,
        )


def _unfinished(book: Journal, run: str | None, command: CommandKind) -> RunRow:
    from autoreason.journal.run_names import refuse_cell

    row = find_run(book, run, lambda row: row.live, "live run")
    refuse_cell(row.id, command)
    if row.finished:
        hint = f"`autoreason show {row.id}` shows its result"
        more = (
            ""
            if writes_programs(book.story(row.id))
            else ", and `autoreason fork` goes on from a text"
        )
        raise InvalidInput(f"run {row.id} is finished ({row.status}); {hint}{more}")
    return row


def _may_be_last(story: Story) -> bool:
    """Whether the pass under way can end the run: by the cap, or by one more survival."""
    if story.settings is None or not story.passes:
        return False
    capped = story.passes[-1].number >= story.settings.passes
    return capped or story.streak + 1 >= story.settings.k


def _of_a_text(book: Journal, row: RunRow, why: str) -> None:
    if writes_programs(book.story(row.id)):
        raise InvalidInput(
            f"run {row.id} writes programs: {why}; `autoreason show {row.id}` shows how far it is"
        )
