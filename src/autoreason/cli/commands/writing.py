"""`run`, `resume`, `fork` and `tell`: texts, from the first draft to the last word of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.command import EXIT_STATUSES, RECORDED, Answer, Command
from autoreason.cli.lookup import complete_run, find_run, run_argument, writes_programs
from autoreason.cli.options import group, option
from autoreason.errors import InvalidInput
from autoreason.models.examples import fill_examples, with_examples

if TYPE_CHECKING:
    from autoreason.journal import CommandKind, Journal, RunRow
    from autoreason.run.prepared import PreparedRun
    from autoreason.story import Story

_EXAMPLES = fill_examples("""\
autoreason run "Explain tides to a ten-year-old" --max-words 200
autoreason run brief.md -m {model} --cost-limit 3
autoreason run brief.md -m {local} --draft mine.md
Goes on after a kill or a limit: autoreason resume. Nothing is paid twice.
""")
_DETAILS = fill_examples("""\
More examples:
  autoreason run brief.md -m {other} --judge-model {other} \\
      --judge-model {model} --cost-limit 2
  autoreason run brief.md --set style=holistic --set tie_order='A>B>AB'
  autoreason run brief.md --strategy best_of_n --set strategy_options.n=4

A brief may begin with the limits on its text:
  ---
  max_words: 500
  sections: [Risks, Cost]
  ---
  Write a one-page proposal for …

From a delivered text `autoreason fork` goes on.
""")


@click.command(cls=Command, shares=RECORDED, examples=_EXAMPLES, details=_DETAILS + EXIT_STATUSES)
@click.argument("brief")
@options.text_options
@group(
    "Start from",
    option(
        "--knowledge FOLDER",
        "Records of your own: texts with what became of them, facts and style. Critics cite them, "
        "authors keep to facts and style.",
        brief="Earlier texts of yours and how they did.",
    ),
    option(
        "--knowledge-group NAME",
        "The campaign, test or list this text is for; nothing of it is shown.",
        rare=True,
    ),
    option(
        "--judge-outcomes tested|yes|no",
        "Whether judges are shown outcomes; tested: where `autoreason knowledge test` says "
        "that it helps them.",
        usual="tested",
        rare=True,
    ),
    option(
        "--predictor-seat tested|yes|no",
        "Whether a predictor fitted on your outcomes has a vote in every round and in the last vote; "
        "tested: where `autoreason knowledge test --predictor` says that it helps.",
        usual="tested",
        rare=True,
    ),
)
@options.models_options
@options.role_models_options
@options.contract_options
@options.limit_options
@options.passes_option
@options.run_options
@options.asking_options
@group(
    "Metric",
    option(
        "--metric COMMAND", "A command or file.py:function that gives a text a number.", rare=True
    ),
    option("--metric-better higher|lower", "Which numbers are better.", usual="higher", rare=True),
    option(
        "--metric-role guard|judge",
        "As a guard, it keeps out what it calls worse than the text so far, beyond its noise; as a judge, "
        "it has a vote in every round and in the last vote.",
        usual="guard",
        rare=True,
    ),
)
@options.output_options
@options.dry_run_option
def run(brief: str, **values: Any) -> PreparedRun[Any]:
    """Write a text and improve it until no rewrite beats it.

    BRIEF is a Markdown file, the text itself, or - for standard input. The text goes to standard
    output or to -o, everything else to the screen.
    """
    from autoreason.cli import arguments
    from autoreason.files import check_output
    from autoreason.run.refine import refine

    task = arguments.task_of(brief, values)
    prepared = refine.prepare(task, **arguments.run_options("run", values))
    check_output(values["output"])
    return prepared


@click.command(cls=Command, inherits=True, shares=f"{RECORDED} book")
@run_argument(required=False)
@options.models_options
@options.limit_options
@options.passes_option
@group("The method", options.set_option)
@options.output_options
def resume(run: str | None, book: Journal, **values: Any) -> int:
    """Go on with a run that paused or was killed.

    RUN is a run's name or a part of it; without one, the newest that is not finished. What is
    recorded is not asked for again, and what was spent on it still counts; calls that were under way
    when a run was killed do not, and are asked again.

    \b
      autoreason resume
      autoreason resume amber-fox --cost-limit 5

    Exit status: as for the command that began the run.
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import resume_run

    def waits(row: RunRow) -> bool:
        return not (row.live or row.finished) and bool(book.events(row.id))

    row = find_run(book, run, waits, "run that waits to be resumed")
    return resume_run(book, row.id, arguments.run_options("resume", values), values)


@click.command(cls=Command, inherits=True, shares=RECORDED)
@run_argument(required=True)
@group(
    "Start from",
    option(
        "--round N",
        "The text that stood after round N; 0 is the first draft. [default: the text delivered]",
        name="at_pass",
        former="--pass",
        type=int,
    ),
)
@options.models_options
@options.role_models_options
@options.contract_options
@options.limit_options
@options.passes_option
@options.run_options
@options.asking_options
@options.output_options
@with_examples
def fork(run: str, at_pass: int | None, **values: Any) -> PreparedRun[Any]:
    """Start a new run from a text of an old one.

    The brief, its limits and the settings are those of RUN, apart from the options given here. A
    fork of a research run starts from its result's files.

    \b
      autoreason fork amber-fox --round 2 -m {model}
      autoreason fork amber-fox --max-words 300
      autoreason fork calm-otter --set evaluations=400
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import record_folder
    from autoreason.contract import Contract
    from autoreason.files import check_output
    from autoreason.run.recorded import fork

    contract = arguments.given(values, *Contract.__struct_fields__)
    chosen = arguments.run_options("fork", values) | {"contract": contract}
    prepared = fork.prepare(run, at_pass, **chosen)
    if prepared.settings.job.writes == "files":
        return record_folder(prepared, values["output"])
    check_output(values["output"])
    return prepared


@click.command(cls=Command, shares="book")
@click.argument(
    "given", metavar="[RUN] MESSAGE", nargs=-1, required=True, shell_complete=complete_run
)
def tell(given: tuple[str, ...], book: Journal) -> Answer:
    """Guide, accept or stop a run from another terminal.

    RUN defaults to the live one. MESSAGE is stop, accept, or guidance: a text, or - for standard
    input, that reaches the critic of the next round, or the next proposal, once.

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
    say = {"stop": _stop, "accept": _accept}.get(message)
    return Answer(None, notes=[say(book, run) if say else _guide(book, run, message)])


def _guide(book: Journal, run: str | None, text: str) -> str:
    from autoreason.task import read_input

    guidance = (read_input() if text == "-" else text).strip()
    if not guidance:
        raise InvalidInput("the guidance is empty; say what the next critic should look at")
    row = _unfinished(book, run, "guide")
    _check_text(book, row, "no critic of a program reads guidance")
    book.command(row.id, "guide", guidance)
    research = book.story(row.id).writes == "files"
    if not row.live:
        first = "proposal" if research else "round"
        again = f"kept for the first new {first} after `autoreason resume {row.id}`"
        return f"{row.id} is {row.state}; {again}"
    reader = "next proposal" if research else "critic of the next round"
    may_be_last = not research and _may_be_last(book.story(row.id))
    return f"{row.id}: the {reader} will read it{', unless this round is the last' * may_be_last}"


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
    tested = book.story(row.id).writes == "files"
    end = "a change that it kept is tested, which ends it; else " if tested else ""
    return f"{row.id} stops once its replies on the way are in; {end}go on later with {again}"


def _unfinished(book: Journal, run: str | None, command: CommandKind) -> RunRow:
    from autoreason.journal.run_names import refuse_cell

    row = find_run(book, run, lambda row: row.live, "live run")
    refuse_cell(row.id, command)
    if row.finished:
        hint = f"`autoreason show {row.id}` shows its result"
        if not writes_programs(book.story(row.id)):
            hint += ", and `autoreason fork` goes on from a text"
        raise InvalidInput(f"run {row.id} is finished ({row.status}); {hint}")
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
