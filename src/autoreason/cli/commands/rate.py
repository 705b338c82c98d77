"""`autoreason rate`: texts for people to rate blind, the page they do it on, and what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.studies.raters.packet import Opening, OpenTask
    from autoreason.studies.raters.ratings import Rankings

folder_argument = click.argument("folder", type=options.FILE, metavar="DIR")


@click.group(cls=HelpfulGroup)
def rate() -> None:
    """Let people rate texts blind, and count what they say.

    \b
      autoreason rate new study --brief brief.md one.md two.md three.md
      autoreason rate serve study
      autoreason rate report study
    """


@rate.command(
    cls=HelpfulCommand,
    shares="journal",
    short_help="Put texts under codes, and seal which is which.",
)
@folder_argument
@click.argument("texts", nargs=-1, type=options.FILE)
@options.group(
    "What to rate",
    options.option("--brief BRIEF", help="The task of TEXTS: a file, or the words themselves."),
    options.option(
        "--task BRIEF=A,B",
        "pairings",
        multiple=True,
        help="Another task with its texts, by file names.",
    ),
    options.option(
        "--run RUN",
        "runs",
        multiple=True,
        help="The first draft and the delivered text of a run.",
    ),
    options.option("--seed N", type=int, help="Codes and orders come from it. [default: drawn]"),
)
def new(
    folder: Path,
    texts: tuple[Path, ...],
    brief: str | None,
    pairings: tuple[str, ...],
    runs: tuple[str, ...],
    seed: int | None,
    journal: str | None,
) -> None:
    """Make a blinded packet in a new folder: 2 to 10 texts for each task.

    Texts get codes that mean nothing; which is which is sealed in a key that is opened once, by
    `rate report`.

    \b
      autoreason rate new study --brief brief.md one.md two.md three.md
      autoreason rate new study --task toast.md=a.md,b.md --task note.md=c.md,d.md
      autoreason rate new study --run amber-fox --run last
    """
    import secrets

    from autoreason.parsing.documents import find_leaks
    from autoreason.studies.raters.packet import build_packet, from_files, from_pairing

    if bool(texts) != bool(brief):
        missing = "the texts to rate" if brief else "the task of these texts with --brief"
        raise InvalidInput(f"name {missing}, as in --brief brief.md one.md two.md")
    tasks = [from_files(brief, texts)] if brief else []
    tasks += [from_pairing(pairing) for pairing in pairings]
    tasks += _from_runs(runs, journal)
    packet = build_packet(folder, tasks, seed=secrets.randbits(32) if seed is None else seed)
    number = numbers.count(sum(len(task.codes) for task in packet.tasks), "text")
    _print_note(f"{number} for {numbers.count(len(packet.tasks), 'task')} in {folder}, under codes")
    for task in tasks:
        for entry in task.entries:
            for leak in find_leaks(entry.text, task.task.brief)[:1]:
                _print_note(f"note: {entry.name} may give itself away to raters: “{leak}”")
    _print_note(f"next: autoreason rate serve {folder}")


def _from_runs(runs: tuple[str, ...], journal: str | None) -> list[OpenTask]:
    if not runs:
        return []
    from autoreason.cli.lookup import open_journal
    from autoreason.studies.raters.packet import from_run

    with open_journal(journal) as book:
        rows = [book.find(run) for run in runs]
        return [from_run(row.id, book.story(row.id)) for row in rows]


@rate.command(cls=HelpfulCommand, short_help="Let people rate them in a browser.")
@folder_argument
@click.option("--port", type=Number(1, 65535), help="[default: 7447, or a free one]")
@click.option("--rater", metavar="NAME", help="Who rates; without it the page asks.")
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
def serve(folder: Path, port: int | None, rater: str | None, no_open: bool) -> None:
    """Let people rate a packet in a browser on this machine, one at a time.

    Only this machine can reach the page. Every click is saved at once; those who come back go on
    where they were. Ctrl-C ends it.
    """
    import asyncio

    from autoreason.studies.raters.packet import lock_packet, read_packet
    from autoreason.studies.raters.server import serve_packet
    from autoreason.studies.raters.sheets import read_sheets

    packet = read_packet(folder)
    with lock_packet(folder) as announce:

        def ready(url: str) -> None:
            announce(url)
            _print_note(f"rate at {url} (this machine only); Ctrl-C ends it, nothing is lost")
            if not no_open:
                import webbrowser

                webbrowser.open(url)

        asyncio.run(
            serve_packet(folder, port=port, rater=rater, ready=ready, on_message=_print_note)
        )
        sheets = read_sheets(folder, packet)
    done = sum(sheet.finished for sheet in sheets)
    people = numbers.count(len(sheets), "person has", "people have")
    _print_note(f"{people} rated, {done} finished; next: autoreason rate report {folder}")


@rate.command(
    cls=Paged, shares="as_json html journal", short_help="Open the key and report how people rated."
)
@folder_argument
@click.option("--yes", is_flag=True, help="Open the key without asking.")
@click.option(
    "--panel",
    "panels",
    multiple=True,
    metavar="RUN|FILE",
    help="A panel of models to compare with; once for each task, in their order.",
)
def report(
    folder: Path,
    yes: bool,
    panels: tuple[str, ...],
    journal: str | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Open the key of a packet and report how people rated.

    Scores and places with 95 % intervals, and how far people agree with each other and with a
    panel. The first report ends the blind part for good, and its time is recorded; later ones do
    not ask.

    A panel is a run of `autoreason judge` over the same files, the run whose texts are rated, or a
    file that ends in .json: {"rankings": [["one.md", "two.md"], …]}, best first.

    \b
      autoreason rate report study --html report.html
      autoreason rate report study --panel last --json
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.studies.raters.packet import opening, read_packet

    read_packet(folder)
    rankings = _panel(panels, journal)
    _confirm(folder, opening(folder), yes)
    from autoreason.studies.raters.ratings import conclude

    show_report(conclude(folder, panel=rankings), as_json=as_json, html=html)


def _panel(panels: tuple[str, ...], journal: str | None) -> list[Rankings]:
    from autoreason.cli.lookup import open_journal
    from autoreason.studies.raters.ratings import panel_of, read_panel

    found: list[Rankings] = []
    for name in panels:
        if name.endswith(".json") or Path(name).is_file():
            found.append(read_panel(Path(name)))
        else:
            with open_journal(journal) as book:
                row = book.find(name)
                found.append(panel_of(row.id, book.story(row.id)))
    return found


def _confirm(folder: Path, opened: Opening | None, yes: bool) -> None:
    """Ask before the key is opened for the first time."""
    if opened or yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"the key of {folder} is still sealed, and opening it ends the rating; give --yes to open it"
        )
    question = f"Open the key of {folder}? No one can rate these texts blind afterwards."
    if not click.confirm(question, err=True):
        raise InvalidInput("the key stays sealed; report again when everybody has rated")


def _print_note(line: str) -> None:
    from autoreason.characters import without_controls

    print(without_controls(line), file=sys.stderr, flush=True)
