"""`autoreason run`: write a text and refine it until no revision beats it."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput
from autoreason.models.examples import fill_examples

EPILOG = fill_examples("""\
\b
Examples:
  autoreason run "Explain tides to a ten-year-old" --max-words 200
  autoreason run brief.md -m {model} -o text.md
  autoreason run brief.md -m {local} --draft mine.md
  autoreason run brief.md -m {other} --judge-model {other} \\
      --judge-model {model} --cost-limit 2
  autoreason run brief.md --dry-run

\b
A brief may begin with its contract:
  ---
  max_words: 500
  sections: [Risks, Cost]
  ---
  Write a one-page proposal for …

\b
Exit status:
  0    delivered: converged, accepted, or at the last pass that is allowed or
       fits the budget
  2    something given cannot be used; nothing was written
  3    the budget is reached before the end; the best text so far is on
       standard output
  4    the provider or the metric failed
  5    the panel failed: too few valid ballots, pass after pass
  6    delivered, but the text breaks its contract (only with
       --fail-on-contract)
  7    the journal could not be written, such as on a full disk
  130  stopped
After 3, 4, 5, 7 and 130 `autoreason resume` goes on, and nothing is paid for
twice. From a delivered text `autoreason fork` goes on.
""")


@click.command(cls=HelpfulCommand, epilog=EPILOG)
@click.argument("brief")
@options.text_options
@options.run_options
@options.group(
    "Metric",
    options.option(
        "--metric COMMAND", help="A command or file.py:function that gives a text a number."
    ),
    options.option(
        "--metric-better",
        type=click.Choice(("higher", "lower")),
        help="Which numbers are better.  [default: higher]",
    ),
    options.option(
        "--metric-role",
        type=click.Choice(("guard", "judge")),
        help="As a guard, what it calls worse than A, beyond its noise, does not become a candidate; as a judge, "
        "it has one ballot on every panel but the confirmation.  [default: guard]",
    ),
)
@options.group(
    "Knowledge",
    options.option(
        "--knowledge FOLDER",
        help="Records of your own: texts with what became of them, facts and style. Critics cite them, "
        "authors keep to facts and style.",
    ),
    options.option(
        "--knowledge-group NAME",
        help="The campaign, test or list this text is for; nothing of it is shown.",
    ),
    options.option(
        "--judge-outcomes",
        type=click.Choice(("tested", "yes", "no")),
        help="Whether judges are shown outcomes; tested: where `autoreason knowledge test` says "
        "that it helps them.  [default: tested]",
    ),
    options.option(
        "--predictor-seat",
        type=click.Choice(("tested", "yes", "no")),
        help="Whether a predictor fitted on your outcomes has one ballot on every panel but the confirmation; "
        "tested: where `autoreason knowledge test --predictor` says that it helps.  [default: tested]",
    ),
)
@options.group(
    "Output",
    options.flag("--dry-run", help="Show estimate, settings and first prompt; call nothing."),
    options.flag("--verbose", help="With --dry-run: every setting."),
)
def run(brief: str, **values: Any) -> int:
    """Write a text and refine it until no revision beats it.

    BRIEF says what to write: a Markdown file, the text itself, or - for standard input.

    The text alone goes to standard output; progress goes to standard error.
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.files import check_output
    from autoreason.run.refine import refine

    if values["verbose"] and not values["dry_run"]:
        raise InvalidInput("--verbose says more of a dry run; add --dry-run, or leave it out")
    task = arguments.task_of(brief, values)
    own = arguments.given(
        values,
        *("metric", "metric_better", "metric_role"),
        *("knowledge", "knowledge_group", "judge_outcomes", "predictor_seat"),
    )
    prepared = refine.prepare(task, **arguments.write_options(values), **own)
    check_output(values["output"])
    return run_prepared(prepared, values, verbose=values["verbose"])
