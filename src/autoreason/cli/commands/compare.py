"""`autoreason compare`: strategies from one shared draft, on equal terms."""

from __future__ import annotations

from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.models.examples import with_examples
from autoreason.settings import PANEL_JUDGES
from autoreason.studies.lab.lab_suite import SuiteMatch

_EPILOG = """\
The first strategy named sets the budget; the others may spend as much, and begin another pass
only if one as expensive as their most expensive still fits. In each repeat all begin from the same draft.
"""


@click.command(cls=HelpfulCommand, shares=options.RECORDED, epilog=_EPILOG)
@click.argument("brief")
@options.group(
    "The comparison",
    options.option(
        "--strategies NAMES",
        help="Strategies, with commas between. [default: autoreason,single,critique_revise]",
    ),
    options.option(
        "--repeats N",
        type=int,
        help="How often. [default: enough to show a strategy that wins every time; 7 for three]",
    ),
    options.field_option(SuiteMatch, "by", "--match", "match"),
    options.field_option(SuiteMatch, "amount", "--allowance N", "allowance"),
    options.option(
        "--panel N",
        "panel_judges",
        type=int,
        help="Judges of the panel over what is delivered.",
        usual=str(PANEL_JUDGES),
    ),
)
@options.studying_options
@with_examples
def compare(brief: str, **values: Any) -> int:
    """Compare strategies from one draft: does refining help?

    Every strategy begins from the same draft, keeps the same contract and spends as much as the
    others; a blind panel ranks what they deliver. The table shows points with intervals, paired
    tests, what each took, and one sentence: which wins, or that none does beyond chance.

    \b
      autoreason compare brief.md -m {local} --dry-run
      autoreason compare brief.md --strategies improve,best_of_n --repeats 10
      autoreason compare brief.md --match cost -m {cheap} --cost-limit 5
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.run.studies import compare

    chosen = arguments.run_options("compare", values)
    task = arguments.task_of(brief, values | arguments.take_contract(chosen))
    if values["strategies"]:
        chosen["strategies"] = [*map(str.strip, values["strategies"].split(","))]
    chosen |= arguments.given(values, "repeats", "match", "allowance", "panel_judges")
    prepared = compare.prepare(task, **chosen)
    if not (values["dry_run"] or values["progress"] == "none"):
        for note in prepared.notes:
            click.echo(f"note: {note}", err=True)
    return run_prepared(prepared, values)
