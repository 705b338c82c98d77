"""`autoreason judge`: a blind panel over finished texts, or over the passes of a run once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import complete_run, open_journal
from autoreason.errors import InvalidInput
from autoreason.models.examples import with_examples

if TYPE_CHECKING:
    from autoreason.run.prepared import PreparedRun


@click.command(cls=HelpfulCommand, shares=options.RECORDED)
@click.argument("brief", metavar="BRIEF|RUN", shell_complete=complete_run)
@click.argument("texts", nargs=-1, type=options.FILE)
@options.group(
    "The panel",
    options.panel_judges_option,
    options.flag(
        "--pairwise", help="All pairs in both orders; a judge who flips with the order abstains."
    ),
    options.flag(
        "--equal-length",
        help="Cut all texts to one length, at the end of a sentence; judges do not know.",
    ),
)
@options.judges_options
@options.limit_options
@options.group("How models are asked", options.facts_option)
@options.asking_judges_options
@options.dry_run_option
@with_examples
def judge(brief: str, texts: tuple[Path, ...], **values: Any) -> int:
    """Run a blind panel over texts, or over a run again.

    BRIEF is a Markdown file, the text itself, or - for standard input; TEXTS are 2 to 10 files.
    Every judge sees all texts under names and in an order of its own. The table shows points with
    intervals, who beats whom, how far judges agree, and what position and length did; one
    sentence says which text wins, or that none does beyond chance.

    With a RUN in place of them no text is written: its passes and its playoff are judged again, and
    the table says which decisions would have come out otherwise.

    \b
      autoreason judge brief.md a.md b.md c.md -m {model}
      autoreason judge brief.md a.md b.md --judges 15 --equal-length
      autoreason judge amber-fox --judges 15 --set style=holistic
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.run.studies import judge
    from autoreason.task import read_task, read_texts

    chosen = arguments.run_options("judge", values)
    if not texts and not Path(brief).is_file():
        return run_prepared(_again(brief, values, chosen), values)
    prepared = judge.prepare(
        read_task(brief, facts=values["facts"]),
        read_texts(texts),
        pairwise=values["pairwise"],
        equal_length=values["equal_length"],
        **chosen,
    )
    return run_prepared(prepared, values)


def _again(run: str, values: dict[str, Any], chosen: dict[str, Any]) -> PreparedRun[Any]:
    from autoreason.run.studies import rejudge

    for name in ("pairwise", "equal_length", "facts"):
        if values[name]:
            raise InvalidInput(f"`{name}` is for texts, and {run} is no file; leave it out")
    with open_journal(values["journal"]) as journal:
        found = journal.find(run).id
    return rejudge.prepare(found, **chosen)
