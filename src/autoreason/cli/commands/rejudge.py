"""`autoreason rejudge`: recorded passes put to another panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import find_run, open_journal, run_argument
from autoreason.models.examples import with_examples

if TYPE_CHECKING:
    from autoreason.journal import Journal


@click.command(cls=HelpfulCommand)
@run_argument(required=False)
@options.group(
    "The panel",
    options.panel_judges_option,
    options.style_option,
)
@options.judging_options
@with_examples
def rejudge(run: str | None, **values: Any) -> int:
    """Judge the passes of a run again with another panel.

    No text is written: those of RUN are judged again, pass by pass and in the
    playoff, and the table says which decisions would have come out otherwise.

    \b
      autoreason rejudge amber-fox --judge-model {other}
      autoreason rejudge --judges 15 --style holistic
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.run.studies import rejudge

    with open_journal(values["journal"]) as journal:
        row = find_run(
            journal,
            run,
            lambda row: not row.live and _has_panels(journal, row.id),
            "run with a panel",
        )
    prepared = rejudge.prepare(row.id, **arguments.judge_options(values))
    return run_prepared(prepared, values)


def _has_panels(journal: Journal, run: str) -> bool:
    """Whether a run has panels over texts of its own."""
    story = journal.story(run)
    return story.playoff is not None or any(one.ballots for one in story.passes)
