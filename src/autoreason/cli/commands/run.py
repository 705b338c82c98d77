"""`autoreason run`: write a text and refine it until no revision beats it."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.models.examples import fill_examples

_EXAMPLES = fill_examples("""\
autoreason run "Explain tides to a ten-year-old" --max-words 200
autoreason run brief.md -m {model} --cost-limit 3
autoreason run brief.md -m {local} --draft mine.md -o text.md
""")
DETAILS = fill_examples("""\
More examples:
  autoreason run brief.md -m {other} --judge-model {other} \\
      --judge-model {model} --cost-limit 2
  autoreason run brief.md --set style=holistic --set tie_order='A>B>AB'
  autoreason run brief.md --strategy best_of_n --set strategy_options.n=4

A brief may begin with its contract:
  ---
  max_words: 500
  sections: [Risks, Cost]
  ---
  Write a one-page proposal for …

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


@click.command(cls=HelpfulCommand, shares=options.RECORDED, examples=_EXAMPLES, details=DETAILS)
@click.argument("brief")
@options.text_options
@options.group(
    "Start from",
    options.option(
        "--knowledge FOLDER",
        help="Records of your own: texts with what became of them, facts and style. Critics cite them, "
        "authors keep to facts and style.",
        brief="Earlier texts of yours and how they did.",
    ),
    options.option(
        "--knowledge-group NAME",
        rare=True,
        help="The campaign, test or list this text is for; nothing of it is shown.",
    ),
    options.option(
        "--judge-outcomes",
        type=click.Choice(("tested", "yes", "no")),
        usual="tested",
        rare=True,
        help="Whether judges are shown outcomes; tested: where `autoreason knowledge test` says "
        "that it helps them.",
    ),
    options.option(
        "--predictor-seat",
        type=click.Choice(("tested", "yes", "no")),
        usual="tested",
        rare=True,
        help="Whether a predictor fitted on your outcomes has one ballot on every panel but the confirmation; "
        "tested: where `autoreason knowledge test --predictor` says that it helps.",
    ),
)
@options.models_options
@options.role_models_options
@options.contract_options
@options.limit_options
@options.passes_option
@options.run_options
@options.asking_options
@options.group(
    "Metric",
    options.option(
        "--metric COMMAND",
        rare=True,
        help="A command or file.py:function that gives a text a number.",
    ),
    options.option(
        "--metric-better",
        type=click.Choice(("higher", "lower")),
        usual="higher",
        rare=True,
        help="Which numbers are better.",
    ),
    options.option(
        "--metric-role",
        type=click.Choice(("guard", "judge")),
        usual="guard",
        rare=True,
        help="As a guard, what it calls worse than A, beyond its noise, does not become a candidate; as a judge, "
        "it has one ballot on every panel but the confirmation.",
    ),
)
@options.output_options
@options.dry_run_option
def run(brief: str, **values: Any) -> int:
    """Write a text and refine it until no revision beats it.

    BRIEF is a Markdown file, the text itself, or - for standard input. The text alone goes to
    standard output, everything else to standard error.
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.files import check_output
    from autoreason.run.refine import refine

    task = arguments.task_of(brief, values)
    own = arguments.given(
        values,
        *("metric", "metric_better", "metric_role"),
        *("knowledge", "knowledge_group", "judge_outcomes", "predictor_seat"),
    )
    prepared = refine.prepare(task, **arguments.run_options("run", values), **own)
    check_output(values["output"])
    return run_prepared(prepared, values)
