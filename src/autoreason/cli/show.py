"""`autoreason show`: what happened in a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.journals import opened, pick, recorded, run_argument, state, story_of
from autoreason.errors import InvalidInput

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.story import Story


@click.command(cls=options.Taught)
@run_argument(required=False)
@options.group(
    "What to show",
    options.option(
        "--pass",
        "number",
        type=int,
        metavar="N",
        help="One pass, with its texts and the judges' reasons.",
    ),
    options.option(
        "--text", "text_only", is_flag=True, help="Only the text: delivered, or standing now."
    ),
    options.option(
        "--diff", is_flag=True, help="What changed from the first draft to that text, word by word."
    ),
    options.option("--json", "as_json", is_flag=True, help="Everything, as one JSON object."),
    options.option(
        "--report",
        type=options.FILE,
        metavar="DIR",
        help="Write the report on a set of programs there, as solve --report does.",
    ),
)
@options.journal_option
def show(
    run: str | None,
    number: int | None,
    text_only: bool,
    diff: bool,
    as_json: bool,
    report: Path | None,
    journal: str | None,
) -> None:
    """Tell what happened in a run, pass by pass.

    RUN is a run's name or a part of it, last, or @2 for the one before; without one, the newest.

    \b
      autoreason show --text > text.md
      autoreason show amber-fox --pass 2
      autoreason show amber-fox --diff
    """
    if sum((number is not None, text_only, diff, as_json, report is not None)) > 1:
        raise InvalidInput(
            "--pass, --text, --diff, --json and --report show different things; give one of them"
        )
    with opened(journal) as book:
        row = pick(book, run, lambda _: True, "run in the journal")
        story = story_of(book, row.id)
        recorded(row, story)
        if report is not None:
            _write_report(row, story, report)
            return
        shows_story = not (text_only or diff or as_json)
        took = _seconds(book, row) if shows_story else 0.0
        table = _is_table(story) and not (number or text_only or diff)
        if table:
            _show_table(book, row, story, took, as_json)
    if table:
        return
    if shows_story:
        from autoreason.cli.telling import tell

        tell(row, story, took, number)
    elif as_json:
        from autoreason.cli.ending import print_json

        print_json(as_object(row, story))
    elif text_only:
        from autoreason.cli.ending import show_text

        show_text(_text(row, story), bare=True)
    else:
        from autoreason.cli.changes import print_changes

        text = _text(row, story)
        print_changes(story.draft.text if story.draft else "", text)


def _seconds(book: Journal, row: RunRow) -> float:
    from autoreason.run import worked

    return worked(row.id, journal=book).seconds


def _is_table(story: Story) -> bool:
    from autoreason.run.kinds import is_study

    # Of a set of problems the table is of use before its end.
    return is_study(story.settings) and (story.delivered is not None or bool(story.solved))


def _write_report(row: RunRow, story: Story, folder: Path) -> None:
    from autoreason.cli import solved
    from autoreason.cli.ending import result_of

    if not story.solved:
        raise InvalidInput(
            f"run {row.id} has solved no problems yet; --report is for `autoreason solve`"
        )
    solved.write_report(result_of(row, story), solved.report_of(story), folder)
    click.echo(f"written to {folder}", err=True)


def _show_table(book: Journal, row: RunRow, story: Story, took: float, as_json: bool) -> None:
    """A finished study: every ballot, then what they come to."""
    from autoreason.cli.ending import result_of
    from autoreason.cli.studies import keep
    from autoreason.cli.studies import show as show_study

    if not as_json:
        from autoreason.cli.telling import tell

        tell(row, story, took)
        click.echo()
    result = result_of(row, story)
    # A certificate whose process died before it was kept is kept now.
    keep(result, if_lost=True)
    show_study(result, book, as_json=as_json)


def _text(row: RunRow, story: Story) -> str:
    if len(story.solved) == 1 and not story.text:
        raise InvalidInput(f"run {row.id} came to no program; `autoreason show {row.id}` says why")
    if story.solved and not story.text:
        raise InvalidInput(
            f"run {row.id} has many programs; `autoreason show {row.id} --report DIR` writes them"
        )
    if story.text is None:
        raise InvalidInput(
            f"run {row.id} has no text yet; `autoreason resume {row.id}` goes on with it"
        )
    return story.text


def as_object(row: RunRow, story: Story) -> dict[str, Any]:
    """A run for programs: what its list entry says, and its whole story."""
    return {
        "run": row.id,
        "title": row.title,
        "status": state(row),
        "reason": story.reason,
        "created": row.created,
        "updated": row.updated,
        "version": row.version,
        "forked_from": row.forked_from,
        "spent": row.spent,
        "cost": row.spent.cost,
        "trajectory": story.trajectory,
        "text": story.text,
        "task": story.task,
        "settings": story.settings,
        "draft": story.draft,
        "passes": story.passes,
        "playoff_ballots": story.playoff_ballots,
        "playoff": story.playoff,
        "delivered": story.delivered,
    }
