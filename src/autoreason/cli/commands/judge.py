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
    options.option(
        "--pairwise",
        is_flag=True,
        help="All pairs in both orders; a judge who flips with the order abstains.",
    ),
    options.option(
        "--equal-length",
        is_flag=True,
        help="Cut all texts to one length, at the end of a sentence; judges are not told.",
    ),
    options.panel_style_option,
)
@options.judging_options
@with_examples
def judge(brief: str, texts: tuple[Path, ...], **values: Any) -> int:
    """Run a blind panel over 2 to 10 texts for the same brief.

    BRIEF is a Markdown file, the text itself, or - for standard input; TEXTS are files. Every
    judge sees all texts under names and in an order of its own. The table shows points with
    intervals, who beats whom, how far judges agree, and what position and length did; one
    sentence says who wins, or that nobody does beyond chance.

    \b
      autoreason judge brief.md a.md b.md c.md -m {model}
      autoreason judge brief.md a.md b.md --judges 15 --equal-length
      autoreason judge brief.md a.md b.md --pairwise --json
    """
    from autoreason.cli import judging
    from autoreason.studies.panels.entries import cut_options, make_entries
    from autoreason.task import read_task, read_text

    names = _names(texts)
    read = {name: read_text(path, "text") for name, path in names.items()}
    task = read_task(brief, facts=values["facts"])
    entries = make_entries(read, equal_length=values["equal_length"])
    strategy = "judge_pairs" if values["pairwise"] else "judge"
    own = cut_options(read, equal_length=values["equal_length"])
    return judging.begin(task, entries, strategy, own, values)


def _names(paths: tuple[Path, ...]) -> dict[str, Path]:
    """Texts by file name; by their whole path where two files have the same."""
    from autoreason.errors import InvalidInput

    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InvalidInput(f"{twice} is named twice; name every text once")
    short = [path.name for path in paths]
    if len(set(short)) < len(short):
        return {str(path): path for path in paths}
    return dict(zip(short, paths, strict=True))
