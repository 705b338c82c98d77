"""`advise`, `judge`, `compare`, `certify` and `rate`: what judges, and people, say of texts, methods and judges."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.command import RECORDED, REPORT, Command, Group, open_journal, print_message
from autoreason.cli.lookup import complete_run
from autoreason.cli.options import FILE, field_option, group, option
from autoreason.errors import InvalidInput
from autoreason.models.examples import with_examples
from autoreason.report import numbers
from autoreason.settings import PANEL_JUDGES, SuiteMatch

if TYPE_CHECKING:
    from autoreason.journal import Journal
    from autoreason.report.report import Report
    from autoreason.run.prepared import PreparedRun


@click.command(cls=Command, shares=f"{RECORDED} evidence")
@click.argument("briefs", nargs=-1, metavar="BRIEF")
@group(
    "The advice",
    option(
        "--from RUN...", "Advise from finished runs of this kind, for nothing.", name="recorded"
    ),
)
@options.studying_options
@with_examples
def advise(briefs: tuple[str, ...], **values: Any) -> PreparedRun[Any] | Report:
    """Should a brief be run at all, and how?

    Measures it on the brief itself, for at most a third of the calls that the run takes: does the judge
    see planted defects, and do fresh judges prefer rewrites of 3 to 6 drafts? It ends in `run it`,
    `one draft`, `another judge`, `research` or `undecided`, with how often such advice is wrong, the
    price, and the command that goes on from the best text so far.

    \b
      autoreason advise brief.md -m {model}
      autoreason advise brief.md -m {local} --dry-run
      autoreason advise --from amber-fox quiet-owl
    """
    from autoreason.cli import arguments
    from autoreason.run import studies
    from autoreason.task import Task

    if values["recorded"]:
        with open_journal(values["journal"]) as journal:
            return studies.advise_from([*values["recorded"], *briefs], journal=journal)
    if len(briefs) != 1:
        raise InvalidInput("give one brief, or runs with --from")
    (brief,) = briefs
    instead = studies.command_for(brief)
    chosen = arguments.run_options("advise", values)
    task = Task(brief=brief) if instead else arguments.task_of(brief, values)
    return studies.advise.prepare(task, **chosen, instead=instead, source=brief)


@click.command(cls=Command, shares=RECORDED)
@click.argument("brief", metavar="BRIEF|RUN", shell_complete=complete_run)
@click.argument("texts", nargs=-1, type=FILE)
@group(
    "The judges",
    options.panel_judges_option,
    option("--pairwise", "All pairs in both orders; a judge who flips with the order abstains."),
    option("--equal-length", "Cut all texts to one length, after a sentence; judges do not know."),
)
@options.model_options(
    "Who judges.", "Several of these make a mixed jury; repeatable.", options.batch_option
)
@options.limit_options
@group("How models are asked", options.facts_option, options.criterion_option, options.brief_option)
@options.asking_judges_options
@options.dry_run_option
@with_examples
def judge(brief: str, texts: tuple[Path, ...], **values: Any) -> PreparedRun[Any]:
    """Which text is best? Fresh judges rank them blind.

    BRIEF is a Markdown file, the text itself, or - for standard input; TEXTS are 2 to 10 files.
    Every judge sees all texts under names and in an order of its own. The first line says which text
    judges prefer, or that none is shown to be; `autoreason show --evidence` has who beats whom, how
    far judges agree, and what position and length did.

    With a RUN in place of them no text is written: its rounds are judged again, and the evidence says
    which decisions would have come out otherwise.

    \b
      autoreason judge brief.md a.md b.md c.md -m {model}
      autoreason judge brief.md a.md b.md --judges 15 --equal-length
      autoreason judge amber-fox --judges 15 --set style=holistic
    """
    from autoreason.cli import arguments
    from autoreason.run import studies
    from autoreason.task import read_task, read_texts

    chosen = arguments.run_options("judge", values)
    if texts or Path(brief).is_file():
        parts = {name: values[name] for name in ("facts", "criteria", "limits_from_brief")}
        return studies.judge.prepare(read_task(brief, **parts), read_texts(texts), **chosen)
    for name in ("pairwise", "equal_length", "facts", "criteria"):
        if values[name]:
            raise InvalidInput(f"`{name}` is for texts, and {brief} is not a file; leave it out")
        chosen.pop(name, None)
    with open_journal(values["journal"]) as journal:
        found = journal.find(brief).id
    return studies.rejudge.prepare(found, **chosen)


@click.command(cls=Command, shares=RECORDED)
@click.argument("brief")
@group(
    "The comparison",
    option("--strategies A,B", "Which ways. [default: autoreason,single,critique_revise]"),
    option("--repeats N", "How often. [default: enough to show what wins every time; 7 for three]"),
    field_option(SuiteMatch, "by", "--match"),
    field_option(SuiteMatch, "amount", "--allowance N"),
    option(
        "--panel N", "Judges who rank the results.", name="panel_judges", usual=str(PANEL_JUDGES)
    ),
)
@options.studying_options
@with_examples
def compare(brief: str, **values: Any) -> PreparedRun[Any]:
    """Does refining help? Compare ways to write a text.

    Every strategy begins from the same draft, keeps the same limits and may spend as much as the
    first one named; judges who do not know which is which rank what they deliver. The first sentence
    says which is preferred, or that none is shown to be.

    \b
      autoreason compare brief.md -m {local} --dry-run
      autoreason compare brief.md --strategies improve,best_of_n --repeats 10
      autoreason compare brief.md --match cost -m {cheap} --cost-limit 5
    """
    from autoreason.cli import arguments
    from autoreason.run import studies

    chosen = arguments.run_options("compare", values)
    task = arguments.task_of(brief, values)
    if values["strategies"]:
        chosen["strategies"] = [*map(str.strip, values["strategies"].split(","))]
    return studies.compare.prepare(task, **chosen)


@click.command(cls=Command, shares=RECORDED)
@click.argument("model")
@group("The certificate", option("--repeats N", "How often all is asked.", default=1))
@group("Models", options.server_option, options.batch_option)
@options.limit_options
@group("How models are asked", options.effort_option, options.seed_option, options.set_option)
@options.dry_run_option
@with_examples
def certify(model: str, **values: Any) -> PreparedRun[Any]:
    """Measure a judge before it is trusted.

    MODEL is asked 180 questions whose answers are known: texts with a planted defect, identical
    texts, padded ones, nine at once, and texts and records that tell it how to rank. It fails where the
    interval of a share rules out what a sound judge does; what is left open is said, with the questions
    that would decide it. The result is kept, and listed by `autoreason models --certificates`. A run warns of a
    judge that failed, and asks one that failed on defects or readable rankings in fewer words. Exit
    status 0 whether it passed or failed.

    \b
      autoreason certify {local}
      autoreason certify {cheap} --cost-limit 1
    """
    from autoreason.cli import arguments
    from autoreason.run import studies

    return studies.certify.prepare(model, **arguments.run_options("certify", values))


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
    tasks += map(packets.from_pairing, pairings)
    tasks += [packets.from_run(row.id, book.story(row.id)) for row in map(book.find, runs)]
    seed = secrets.randbits(32) if seed is None else seed
    packet = packets.build_packet(folder, tasks, seed=seed)
    number = numbers.count(sum(len(task.codes) for task in packet.tasks), "text")
    leaks = [
        f"note: {entry.name} may tell raters how it was written: “{leak}”"
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
            sealed = f"the key of {folder} is sealed"
            raise InvalidInput(f"{sealed}; opening it ends the rating: give --yes")
        question = f"Open the key of {folder}? No one can rate these texts blind afterwards."
        click.confirm(question, abort=True, err=True)
    return ratings.conclude(folder, panel=rankings)
