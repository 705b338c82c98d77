"""`autoreason export`: a run as a folder that can be read without autoreason, its result as a patch or a branch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.lookup import open_journal, run_argument
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.story import Story


@click.command(cls=HelpfulCommand)
@run_argument(required=True)
@click.argument("folder", type=options.FILE, required=False)
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@click.option("--patch", is_flag=True, help="Print what a research run changed, for `git apply`.")
@click.option(
    "--branch",
    metavar="NAME",
    help="Make a branch with what a research run changed, in one commit on HEAD.",
)
@options.journal_option
def export(
    run: str,
    folder: Path | None,
    force: bool,
    patch: bool,
    branch: str | None,
    journal: str | None,
) -> None:
    """Write a run into a folder, or its result for git.

    Brief, settings and prompts, every text, critique and ballot by pass, every call as it was
    made, the final text and run.json: files that can be read without autoreason.

    With --patch and --branch, FOLDER is the task's folder, by default the current one. Neither
    touches the files there; a branch needs the artifact at HEAD as it was at the start.

    \b
      autoreason export amber-fox ./amber-fox
      autoreason export amber-fox --patch | git apply
      autoreason export amber-fox --branch packing
    """
    from autoreason.run.export import commit_result, export, make_result_patch

    if patch + bool(branch) + force > 1:
        raise InvalidInput("--patch, --branch and --force exclude each other; choose one")
    with open_journal(journal) as book:
        row = book.find(run)
        if patch:
            text = make_result_patch(row.id, folder or Path(), journal=book)
            sys.stdout.buffer.write(text.encode())
            _warn_of_worse(book.story(row.id))
            return
        if branch:
            commit = commit_result(row.id, branch, folder or Path(), journal=book)
            print(f"{row.id} is commit {commit[:10]} on branch {branch}", file=sys.stderr)
            _warn_of_worse(book.story(row.id))
            return
        if folder is None:
            raise InvalidInput("name a folder to export to, or add --patch or --branch NAME")
        files = export(row.id, folder, journal=book, force=force)
    print(f"{numbers.count(len(files), 'file')} of {row.id} written to {folder}", file=sys.stderr)


def _warn_of_worse(story: Story) -> None:
    from autoreason.artifacts.research_history import ResearchHistory

    found = ResearchHistory(story).end_result
    if found is not None and found.worse:
        print("the end test found this result worse than the start; keep that", file=sys.stderr)
