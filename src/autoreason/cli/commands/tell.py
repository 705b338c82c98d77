"""`autoreason tell`: messages to a run in another terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import (
    complete_run,
    find_run,
    open_journal,
    writes_files,
    writes_programs,
)
from autoreason.errors import InvalidInput

if TYPE_CHECKING:
    from autoreason.journal import CommandKind, Journal, RunRow
    from autoreason.story import Story


@click.command(cls=HelpfulCommand, shares="journal")
@click.argument(
    "given", metavar="[RUN] MESSAGE", nargs=-1, required=True, shell_complete=complete_run
)
def tell(given: tuple[str, ...], journal: str | None) -> None:
    """Guide, accept or stop a run from another terminal.

    RUN defaults to the live one. MESSAGE is stop, accept, or guidance: a text, or - for standard
    input, that reaches the critic of the next pass, or the next proposal, once.

    accept ends the run with the text or the files it has now; research that is accepted makes no
    end test, so nothing is claimed of it. stop ends it cleanly; it can be resumed. After both,
    replies on their way are still taken in, because they are paid for. What a paused run is told
    is kept until it is resumed.

    \b
      autoreason tell "the second paragraph is too long"
      autoreason tell amber-fox stop
      autoreason tell amber-fox accept
    """
    if len(given) > 2:
        raise InvalidInput("the message is more than one argument; put quotes around it")
    message, run = given[-1], given[0] if len(given) == 2 else None
    with open_journal(journal) as book:
        said = _stop(book, run) if message == "stop" else None
        if message == "accept":
            said = _accept(book, run)
        print(said or _guide(book, run, message), file=sys.stderr)


def _guide(book: Journal, run: str | None, text: str) -> str:
    from autoreason.task import read_input

    guidance = (read_input() if text == "-" else text).strip()
    if not guidance:
        raise InvalidInput("the guidance is empty; say what the next critic should look at")
    row = _unfinished(book, run, "guide")
    _check_text(book, row, "no critic of a program reads guidance")
    book.command(row.id, "guide", guidance)
    research = writes_files(book.story(row.id))
    if not row.live:
        first = "proposal" if research else "pass"
        again = f"kept for the first new {first} after `autoreason resume {row.id}`"
        return f"{row.id} is {row.state}; {again}"
    reader = "next proposal" if research else "critic of the next pass"
    may_be_last = not research and _may_be_last(book.story(row.id))
    return f"{row.id}: the {reader} will read it{', unless this pass is the last' * may_be_last}"


def _accept(book: Journal, run: str | None) -> str:
    row = _unfinished(book, run, "accept")
    _check_text(book, row, "tests take or refuse a program, not a person")
    book.command(row.id, "accept", "")
    if row.live:
        return f"{row.id} ends with what it has now"
    return f"{row.id} is {row.state}; `autoreason resume {row.id}` will end it as it stands"


def _stop(book: Journal, run: str | None) -> str:
    row = _unfinished(book, run, "stop")
    again = f"`autoreason resume {row.id}`"
    if book.was_accepted(row.id):
        # A later command would take the place of one that is not yet read.
        unread = any(each.kind == "accept" for each in book.pending_commands(row.id))
        if row.live and not unread:
            book.command(row.id, "stop", "")
        ends = "once its replies on the way are in" if row.live else f"with {again}"
        return f"{row.id} was accepted already and ends with its text {ends}"
    if not row.live:
        raise InvalidInput(f"run {row.id} is {row.state} and not under way; go on with {again}")
    book.command(row.id, "stop", "")
    tested = writes_files(book.story(row.id))
    end = "a change that it kept is tested, which ends it; else " if tested else ""
    return f"{row.id} stops once its replies on the way are in; {end}go on later with {again}"


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


def _check_text(book: Journal, row: RunRow, why: str) -> None:
    if writes_programs(book.story(row.id)):
        raise InvalidInput(
            f"run {row.id} writes programs: {why}; `autoreason show {row.id}` shows how far it is"
        )
