"""`autoreason ab`: a run's texts tried on real readers."""

from __future__ import annotations

from pathlib import Path

import click

from autoreason.cli import options
from autoreason.cli.fields import Number
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.lookup import complete_run, find_text_runs, open_journal, run_argument
from autoreason.cli.views.pager import Paged


@click.group(cls=HelpfulGroup)
def ab() -> None:
    """Plan an A/B test of a run's texts, and read its counts.

    \b
      autoreason ab plan amber-fox --arms 3 --base 0.2 --to test/
      autoreason ab report test/results.csv --knowledge kb/
    """


@ab.command(cls=HelpfulCommand, short_help="Texts under codes, and how many readers it takes.")
@run_argument(required=True)
@options.group(
    "Test",
    options.option("--arms", type=Number(2), default=3, help="How many texts."),
    options.option(
        "--base SHARE", type=float, default=0.2, help="What the first draft is expected to reach."
    ),
    options.option(
        "--lift SHARE",
        type=float,
        default=0.1,
        help="The smallest rise worth finding, as a share of that.",
    ),
)
@options.group(
    "Output",
    options.file(
        "--to FOLDER",
        "target",
        help="Write the plan there: each text under its code, and a table to fill in.",
    ),
)
@options.journal_option
@options.report_options
def plan(
    run: str,
    arms: int,
    base: float,
    lift: float,
    target: Path | None,
    journal: Path | None,
    as_json: bool,
    html: Path | None,
) -> None:
    """Plan a test of the delivered text against the first draft and others of a run.

    Every text gets a code that says nothing, and is to be sent to equally many readers drawn at random. From
    three texts on one is drawn at random among the run's others, from six on two, so that not only winners are
    ever tried.
    """
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.knowledge import plan_ab

    found = plan_ab(run, arms, base=base, lift=lift, journal=journal)
    if target:
        files = found.write(target)
        print_message(f"{len(files)} files written to {target}; fill in results.csv")
    show_report(found, as_json=as_json, html=html)


@ab.command(cls=Paged, short_help="Which text does better, and whether the split was equal.")
@click.argument("results", type=options.FILE)
@options.group(
    "Test",
    options.file(
        "--plan FOLDER", "planned", help="The plan's folder. [default: that of the results]"
    ),
    options.option("--metric", default="rate", help="What was counted."),
)
@options.group(
    "Where it goes",
    options.file(
        "--knowledge FOLDER",
        help="Append the outcomes to outcomes.jsonl of this folder of records.",
    ),
    options.option("--group", default="", help="The name of the test there. [default: the run's]"),
)
@options.group(
    "Over runs",
    options.option(
        "--judged RUN",
        multiple=True,
        shell_complete=complete_run,
        help="What results gain over drafts, from runs that were tested and those that were only judged; "
        "name all there are of this kind, or `all`.",
    ),
)
@options.journal_option
@options.report_options
def report(
    results: Path,
    planned: Path | None,
    metric: str,
    knowledge: Path | None,
    group: str,
    judged: tuple[str, ...],
    journal: str | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Read the counts of a test: a table with the columns code, n and count, or per cent of n for a count.

    Intervals hold however often you look. Exit status 1 where readers were not split equally, for then
    something chose among them and no rate can be compared; nothing is handed on.
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.knowledge import report_ab

    if judged == ("all",):
        with open_journal(journal) as opened:
            judged = tuple(find_text_runs(opened, (), every=True))
    found = report_ab(
        results,
        planned,
        group=group,
        metric=metric,
        knowledge=knowledge,
        judged=judged,
        journal=journal,
    )
    show_report(found, as_json=as_json, html=html)
    return 1 if found.is_unequal else 0
