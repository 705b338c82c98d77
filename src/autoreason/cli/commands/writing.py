"""`run`, `resume`, `fork` and `tell`: texts, from the first draft to the last word of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.command import EXIT_STATUSES, RECORDED, Command, Output
from autoreason.cli.lookup import complete_run, find_run, run_argument
from autoreason.cli.options import group, option
from autoreason.errors import InvalidInput
from autoreason.models.examples import fill_examples, with_examples

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.prepared import PreparedRun

_EXAMPLES = fill_examples("""\
autoreason run "Explain tides to a child" -m {cheap} --max-words 200
autoreason run brief.md -m {model} --cost-limit 3
autoreason run brief.md -m {local} --draft mine.md
Goes on after a kill or a pause: autoreason resume; from its end: fork.
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
""")


@click.command(cls=Command, shares=RECORDED, examples=_EXAMPLES, details=_DETAILS + EXIT_STATUSES)
@click.argument("brief")
@options.text_options
@group(
    "Start from",
    options.setting("edit", "--edit HOW", help="Only edit the --draft: light or proof."),
    option("--knowledge FOLDER", "Earlier texts of yours and how they did."),
    option("--knowledge-group NAME", "What this text is for; nothing of it is shown.", rare=True),
    option(
        "--judge-outcomes tested|yes|no",
        "Whether judges see how they did; tested: where `knowledge test` says that it helps.",
        usual="tested",
        rare=True,
    ),
    option(
        "--predictor-seat tested|yes|no",
        "Whether a predictor fitted on them votes; tested: where `knowledge test --predictor` "
        "says that it helps.",
        usual="tested",
        rare=True,
    ),
)
@options.writing_options
@group(
    "Metric",
    option("--metric COMMAND", "Gives a text a number; or file.py:function.", rare=True),
    option("--metric-better higher|lower", "Which numbers are better.", usual="higher", rare=True),
    option(
        "--metric-role guard|judge",
        "A guard keeps out what is worse than the text so far, beyond its noise; a judge votes.",
        usual="guard",
        rare=True,
    ),
)
@group("Result", option("--alternatives N", "N different texts, ranked.", type=int))
@options.dry_run_option
def run(brief: str, **values: Any) -> PreparedRun[Any]:
    """Write a text and improve it while judges see a gain.

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
        "The text after round N; 0 is the first draft. [default: the text delivered]",
        name="at_pass",
    ),
)
@options.writing_options
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
    from autoreason.files import check_output
    from autoreason.run.recorded import fork

    chosen = arguments.run_options("fork", values) | {"contract": arguments.contract_of(values)}
    prepared = fork.prepare(run, at_pass, **chosen)
    if prepared.settings.job.writes == "files":
        return record_folder(prepared, values["output"])
    check_output(values["output"])
    return prepared


@click.command(cls=Command, shares="book")
@click.argument(
    "given", metavar="[RUN] MESSAGE", nargs=-1, required=True, shell_complete=complete_run
)
def tell(given: tuple[str, ...], book: Journal) -> Output:
    """Guide, accept or stop a run from another terminal.

    RUN defaults to the live one. MESSAGE is stop, accept, or guidance: a text, or - for standard
    input, that reaches the critic of the next round, or the next proposal, once.

    accept ends the run with the text or the files it has; research that is accepted makes no
    end test, so nothing is claimed of it. stop ends it cleanly; it can be resumed. After both,
    replies on their way are still taken in, because they are paid for; judges may so choose
    another text. A message to a paused run is kept until it is resumed.

    \b
      autoreason tell "the second paragraph is too long"
      autoreason tell amber-fox stop
      autoreason tell amber-fox accept
    """
    from autoreason.run.recorded import tell
    from autoreason.task import read_input

    if len(given) > 2:
        raise InvalidInput("the message is more than one argument; put quotes around it")
    message, run = given[-1], given[0] if len(given) == 2 else None
    row = find_run(book, run, lambda row: row.live, "live run")
    return Output(None, notes=[tell(book, row, read_input() if message == "-" else message)])
