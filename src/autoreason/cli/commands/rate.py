"""`autoreason rate`: texts for people to rate blind, the page they do it on, and what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli.command import REPORT, Group, print_message
from autoreason.cli.options import FILE, group, option
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.report.report import Report

folder_argument = click.argument("folder", type=FILE, metavar="DIR")


@click.group(cls=Group)
def rate() -> None:
    """Let people rate texts blind, and count what they say."""


@rate.command(shares="book")
@folder_argument
@click.argument("texts", nargs=-1, type=FILE)
@group(
    "What to rate",
    option("--brief BRIEF", "The task of TEXTS: a file, or the words themselves."),
    option("--task BRIEF=A,B...", "Another task with its texts, by file names.", name="pairings"),
    option("--run RUN...", "The first draft and the delivered text of a run.", name="runs"),
    option("--seed N", "Codes and orders come from it. [default: drawn]", type=click.IntRange(0)),
)
def new(
    folder: Path,
    texts: tuple[Path, ...],
    brief: str | None,
    pairings: tuple[str, ...],
    runs: tuple[str, ...],
    seed: int | None,
    book: Journal,
) -> None:
    """Put 2 to 10 texts for each task under codes, in a new folder.

    Texts get codes that mean nothing; which is which is sealed in a key that is opened once, by
    `rate report`.

    \b
      autoreason rate new study --brief brief.md one.md two.md three.md
      autoreason rate new study --task toast.md=a.md,b.md --task note.md=c.md,d.md
      autoreason rate new study --run amber-fox --run last
    """
    import secrets

    from autoreason.parsing.documents import find_leaks
    from autoreason.studies import rating_packet as packets

    if bool(texts) != bool(brief):
        missing = "the texts to rate" if brief else "the task of these texts with --brief"
        raise InvalidInput(f"name {missing}, as in --brief brief.md one.md two.md")
    tasks = [packets.from_files(brief, texts)] if brief else []
    tasks += [packets.from_pairing(pairing) for pairing in pairings]
    for row in map(book.find, runs):
        tasks.append(packets.from_run(row.id, book.story(row.id)))
    packet = packets.build_packet(
        folder, tasks, seed=secrets.randbits(32) if seed is None else seed
    )
    number = numbers.count(sum(len(task.codes) for task in packet.tasks), "text")
    leaks = [
        f"note: {entry.name} may give itself away to raters: “{leak}”"
        for task in tasks
        for entry in task.entries
        for leak in find_leaks(entry.text, task.task.brief)[:1]
    ]
    made = f"{number} for {numbers.count(len(packet.tasks), 'task')} in {folder}, under codes"
    print_message(made, *leaks, f"next: autoreason rate serve {folder}")


@rate.command()
@folder_argument
@group(
    "Options",
    option("--port N", "[default: 7447, or a free one]", type=click.IntRange(1, 65535)),
    option("--rater NAME", "Who rates; without it the page asks."),
    option("--no-open", "Do not open a browser."),
)
def serve(folder: Path, port: int | None, rater: str | None, no_open: bool) -> None:
    """Let people rate in a browser on this machine, one at a time.

    Only this machine can reach the page. Every click is saved at once; those who come back go on
    where they were. Ctrl-C ends it.
    """
    import asyncio

    from autoreason.studies import rating_packet as packets
    from autoreason.studies.rating_server import serve_packet

    packet = packets.read_packet(folder)
    with packets.lock_packet(folder) as announce:

        def ready(url: str) -> None:
            announce(url)
            print_message(f"rate at {url} (this machine only); Ctrl-C ends it, nothing is lost")
            if not no_open:
                import webbrowser

                webbrowser.open(url)

        asyncio.run(
            serve_packet(folder, port=port, rater=rater, ready=ready, on_message=print_message)
        )
        sheets = packets.read_sheets(folder, packet)
    done = sum(sheet.finished for sheet in sheets)
    people = numbers.count(len(sheets), "person has", "people have")
    print_message(f"{people} rated, {done} finished; next: autoreason rate report {folder}")


@rate.command(paged=True, shares=f"{REPORT} book")
@folder_argument
@group(
    "Options",
    option("--yes", "Open the key without asking."),
    option("--panel RUN|FILE...", "Judges to compare with, once for each task.", name="panels"),
)
def report(folder: Path, yes: bool, panels: tuple[str, ...], book: Journal) -> Report:
    """Open the key and report how people rated.

    Scores and places with 95 % intervals, and how far people agree with each other and with judges.
    The first report ends the blind part for good, and its time is recorded; later ones do not ask.

    Judges are a run of `autoreason judge` over the same files, the run whose texts are rated, or a
    file that ends in .json: {"rankings": [["one.md", "two.md"], …]}, best first.

    In place of a folder, a file of votes saved on the page of a run is compared with its judges.
    """

    from autoreason.studies import rating_packet as packets
    from autoreason.studies import ratings

    if folder.is_file():
        votes = ratings.read_votes(folder)
        return ratings.votes_report(votes, book.story(book.find(votes.run).id))
    packets.read_packet(folder)
    rankings = []
    for name in panels:
        if name.endswith(".json") or Path(name).is_file():
            rankings.append(ratings.read_panel(Path(name)))
        else:
            run = book.find(name).id
            rankings.append(ratings.panel_of(run, book.story(run)))
    if not (packets.opening(folder) or yes):
        if not sys.stdin.isatty():
            raise InvalidInput(
                f"the key of {folder} is sealed; opening it ends the rating: give --yes"
            )
        question = f"Open the key of {folder}? No one can rate these texts blind afterwards."
        click.confirm(question, abort=True, err=True)
    return ratings.conclude(folder, panel=rankings)
