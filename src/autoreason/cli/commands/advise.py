"""`autoreason advise`: should this be run at all, and how?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput
from autoreason.models.examples import with_examples

_EPILOG = """\
\b
What is measured, and what it may end in:
  rules   a number or tests exist: research; a fact is asked for: one draft
  judge   4 to 18 questions: planted defects, both orders; one that fails by
          the rules of `certify`: another judge
  pilots  3 to 6 drafts, each revised once; 2 fresh judges compare the two:
          run it, one draft or undecided
It takes at most a third of the calls that the run takes. Where pilots do not
fit in that, it says so at once and calls nothing.

\b
Exit status: as for `autoreason run`; 0 whatever is advised.
"""


@click.command(cls=HelpfulCommand, shares=options.RECORDED, epilog=_EPILOG)
@click.argument("briefs", nargs=-1, metavar="BRIEF")
@options.group(
    "The advice",
    options.option(
        "--from RUN...",
        "recorded",
        multiple=True,
        help="Advise from finished runs instead, for nothing; name all there are of this kind.",
    ),
)
@options.studying_options
@with_examples
def advise(briefs: tuple[str, ...], **values: Any) -> int:
    """Should a brief be run at all, and how?

    Measures it on the brief itself, for at most a third of what the run takes, and ends in `run it`,
    `one draft`, `another judge`, `research` or `undecided`, with how often such advice is wrong, the
    price, and the command that goes on from the best text so far.

    \b
      autoreason advise brief.md -m {model}
      autoreason advise brief.md -m {local} --dry-run
      autoreason advise --from amber-fox quiet-owl
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.cli.views.message import print_message
    from autoreason.run.studies import advise, command_for
    from autoreason.studies.advise.advice_job import ends_by_rule
    from autoreason.studies.advise.advice_report import describe_limit
    from autoreason.task import Task

    if values["recorded"]:
        if files := [each for each in briefs if Path(each).is_file()]:
            raise InvalidInput(
                f"--from takes runs, and {files[0]} is a file; leave one of them out"
            )
        return _advise_from([*values["recorded"], *briefs], values)
    if len(briefs) != 1:
        raise InvalidInput("give one brief, or runs with --from")
    (brief,) = briefs
    instead = command_for(brief)
    chosen = arguments.run_options("advise", values)
    contract = arguments.take_contract(chosen)
    task = Task(brief=brief) if instead else arguments.task_of(brief, values | contract)
    prepared = advise.prepare(task, **chosen, instead=instead, source=brief)
    if not (
        values["progress"] == "none"
        or values["dry_run"]
        or ends_by_rule(prepared.task, prepared.settings)
    ):
        print_message(f"autoreason: {describe_limit(prepared.settings)}")
    return run_prepared(prepared, values)


def _advise_from(runs: list[str], values: dict[str, Any]) -> int:
    from autoreason.cli.lookup import open_journal
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.studies import advise_from

    with open_journal(values["journal"]) as journal:
        report = advise_from(runs, journal=journal)
    show_report(report, as_json=values["as_json"], html=values["html"])
    return 0
