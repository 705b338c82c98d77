"""`autoreason judge`: a blind panel over finished texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.models.examples import with_examples


@click.command(cls=HelpfulCommand)
@click.argument("brief")
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
    options.style_option,
)
@options.judging_options
@with_examples
def judge(brief: str, texts: tuple[Path, ...], **values: Any) -> int:
    """Run a blind panel over 2 to 10 texts for the same brief.

    BRIEF is a Markdown file, the text itself, or - for standard input; TEXTS are files. Every
    judge sees all texts under names and in an order of its own. The table shows points with
    intervals, who beats whom, how far judges agree, and what position and length did; one
    sentence says which text wins, or that none does beyond chance.

    \b
      autoreason judge brief.md a.md b.md c.md -m {model}
      autoreason judge brief.md a.md b.md --judges 15 --equal-length
      autoreason judge brief.md a.md b.md --pairwise --json
    """
    from autoreason.cli import arguments
    from autoreason.cli.runner import run_prepared
    from autoreason.run.studies import judge
    from autoreason.task import read_task, read_texts

    named = read_texts(texts)
    prepared = judge.prepare(
        read_task(brief, facts=values["facts"]),
        named,
        pairwise=values["pairwise"],
        equal_length=values["equal_length"],
        **arguments.judge_options(values),
    )
    return run_prepared(prepared, values)
