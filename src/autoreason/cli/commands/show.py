"""`autoreason show`: what happened in a run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.lookup import (
    find_run,
    open_journal,
    run_argument,
    writes_files,
    writes_programs,
)
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.job_types import Lab
from autoreason.programs.assignment import assignments_of
from autoreason.programs.events import solved_in

if TYPE_CHECKING:
    from autoreason.journal import Journal, RunRow
    from autoreason.run.result import Result
    from autoreason.story import Story


@click.command(cls=Paged, shares=options.RECORDED)
@run_argument(required=False)
@options.group(
    "What to show",
    options.option(
        "--pass N", "number", type=int, help="One pass, with its texts and the judges' reasons."
    ),
    options.option(
        "--problem ID", help="Of a set of programs, one problem: every attempt, pass by pass."
    ),
    options.option("--strategy NAME", help="With --problem: what one strategy made of it."),
    options.flag(
        "--short",
        help="Only how it ended: the text or its beginning, the evidence, the cost. Also with --json.",
    ),
    options.flag(
        "--text",
        "text_only",
        help="Only the text, or the files of research: delivered, or standing now.",
    ),
    options.flag(
        "--diff",
        help="What changed from the first draft to that text, word by word; of research, as a patch.",
    ),
    options.file(
        "--report DIR", help="Write the report on a set of programs there, as solve --report does."
    ),
    options.flag(
        "--follow", help="Watch a run that is under way until it ends; Ctrl-C only leaves it."
    ),
)
def show(
    run: str | None,
    number: int | None,
    problem: str | None,
    strategy: str | None,
    short: bool,
    text_only: bool,
    diff: bool,
    as_json: bool,
    report: Path | None,
    html: Path | None,
    follow: bool,
    journal: str | None,
    progress: str | None,
) -> int:
    """Show what happened in a run, or follow it live.

    RUN is a run's name or a part of it, last, or @2 for the one before; without one, the newest, or
    with --follow the one that is live. Of a suite that is under way: how far it is. On a terminal,
    what is longer than a screen goes through $PAGER (less, unless set; NO_PAGER=1 for none).

    \b
      autoreason show --text > text.md
      autoreason show amber-fox --short
      autoreason show amber-fox --pass 2
      autoreason show amber-fox --diff
      autoreason show --follow
      autoreason show amber-fox --problem high-water --strategy tournament
    """
    from autoreason.run.record import task_and_settings

    if follow:
        return _follow(run, journal, progress)
    wants_part = problem is not None or strategy is not None
    others = (text_only, diff, as_json, report is not None)
    whole = not (number is not None or wants_part or text_only or diff or report is not None)
    _check_choice(number, others, wants_part=wants_part, short=short, whole=whole)
    from autoreason.cli.views.outcome import print_json, write_page
    from autoreason.run.record import recorded_result

    with open_journal(journal) as book:
        row = find_run(book, run)
        story = book.story(row.id)
        task_and_settings(row.id, story)
        _check_page(html, whole)
        result = recorded_result(row, story, book)
        if report is not None:
            _write_report(result, report)
        elif wants_part or (number is not None and writes_programs(story)):
            _print_attempts(book, row, story, problem, strategy, number)
        elif text_only or diff:
            _show_text(row, story, diff=diff)
        elif whole and _is_unfinished_suite(story) and not writes_programs(story):
            from autoreason.cli.views.outcome import show_report
            from autoreason.run.lab_status import lab_status

            show_report(lab_status(row.id, journal=book), as_json=as_json, html=html)
        elif whole and _is_table(story):
            _show_table(book, row, result, as_json=as_json, short=short, html=html)
        else:
            if as_json:
                print_json(result.to_dict() if short else as_object(row, story))
            else:
                _print(book, row, result, number, short=short)
            write_page(result, html)
    return 0


def _follow(run: str | None, journal: str | None, progress: str | None) -> int:
    from autoreason.cli.views.follow import follow

    context = click.get_current_context()
    for each in context.command.params:
        if each.name not in ("run", "follow") and context.params.get(each.name or ""):
            raise InvalidInput("--follow goes alone or with --progress; leave the others out")
    with open_journal(journal) as book:
        return follow(book, find_run(book, run, lambda row: row.live, "live run").id, progress)


def _check_choice(
    number: int | None, others: tuple[bool, ...], *, wants_part: bool, short: bool, whole: bool
) -> None:
    """Refuse options that ask for different things."""
    if sum((number is not None, *others)) > 1:
        raise InvalidInput(
            "--pass, --text, --diff, --json and --report show different things; give one of them"
        )
    if short and not whole:
        raise InvalidInput("--short goes alone or with --json")
    if wants_part and any(others):
        raise InvalidInput("--problem and --strategy go with --pass N or alone")


def _check_page(html: Path | None, whole: bool) -> None:
    if html is not None and not whole:
        raise InvalidInput("--html shows the whole run; give it alone, with --short or --json")


def _print(
    book: Journal, row: RunRow, result: Result, number: int | None = None, *, short: bool = False
) -> None:
    from autoreason.cli.views.transcript import print_end, print_run

    story = result.story
    one_problem = writes_programs(story) and _on_one_problem(story)
    parts = partial(_print_attempts, book, row, story) if one_problem else None
    if short:
        print_end(row, result)
    else:
        print_run(row, result, number, parts)


def _show_text(row: RunRow, story: Story, *, diff: bool) -> None:
    if writes_files(story):
        _show_files(story, diff=diff)
        return
    if diff:
        from autoreason.cli.views.diff import print_changes

        text = _text(row, story)
        if story.draft is None:
            raise InvalidInput(
                f"run {row.id} has no first draft to compare with; "
                f"`autoreason show {row.id} --text` shows its text"
            )
        print_changes(story.draft.text, text)
    else:
        from autoreason.cli.views.outcome import show_text

        show_text(_text(row, story), bare=True)


def _show_files(story: Story, *, diff: bool) -> None:
    """The artifact of a research run, or what changed in it."""
    from autoreason.artifacts.artifact import as_text, make_patch
    from autoreason.artifacts.research_history import deliverable
    from autoreason.cli.views.outcome import show_text

    delivered = deliverable(story)
    assert delivered is not None
    text = make_patch(delivered.start, delivered.files) if diff else as_text(delivered.files)
    if text:
        show_text(text, bare=True)


def _is_unfinished_suite(story: Story) -> bool:
    return story.end is None and isinstance(story.job, Lab)


def _is_table(story: Story) -> bool:
    # Of a set of problems the table is of use before its end.
    return story.writes != "text" and (
        story.end is not None or _has_solved(story) or writes_files(story)
    )


def _has_solved(story: Story) -> bool:
    from autoreason.studies.lab.lab_suite import CellFinished

    return bool(solved_in(story)) or any(each.result.solved for each in story.of(CellFinished))


def _on_one_problem(story: Story) -> bool:
    return story.task is not None and len(assignments_of(story.task)) == 1


def _print_attempts(
    book: Journal,
    row: RunRow,
    story: Story,
    problem: str | None = None,
    strategy: str | None = None,
    number: int | None = None,
) -> None:
    """How one problem was worked on."""
    if not writes_programs(story):
        raise InvalidInput(
            f"run {row.id} writes no programs; --problem and --strategy are for `autoreason solve`"
        )
    from autoreason.cli.views.attempts import attempts_at, print_attempts

    print_attempts(row, attempts_at(book, row, story, problem, strategy), number)


def _write_report(result: Result, folder: Path) -> None:
    from autoreason.programs.report_files import check_folder
    from autoreason.run.products import solution_of

    if not _has_solved(result.story):
        raise InvalidInput(
            f"run {result.run} has solved no problems yet; --report is for `autoreason solve`"
        )
    check_folder(folder)
    solution_of(result).write_report(folder)
    click.echo(f"written to {folder}", err=True)


def _show_table(
    book: Journal, row: RunRow, result: Result, *, as_json: bool, short: bool, html: Path | None
) -> None:
    """A finished study: every ballot, unless it is to be short, then its report."""
    from autoreason.cli.views.message import print_message
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.reports import reported_result, store_verdict

    if not (as_json or short):
        _print(book, row, result)
        click.echo()
    # A certificate whose process died before it was kept is kept now.
    store_verdict(result, _warn, if_missing=True)
    show_report(reported_result(result, book), as_json=as_json, html=html)
    if writes_programs(result.story) and not (as_json or _on_one_problem(result.story)):
        print_message(f"one problem, pass by pass: autoreason show {row.id} --problem ID")


def _warn(line: str) -> None:
    click.echo(f"autoreason: {line}", err=True)


def _text(row: RunRow, story: Story) -> str:
    if len(solved_in(story)) == 1 and not story.text:
        raise InvalidInput(f"run {row.id} wrote no program; `autoreason show {row.id}` says why")
    if _has_solved(story) and not story.text:
        raise InvalidInput(
            f"run {row.id} has many programs; `autoreason show {row.id} --report DIR` writes them"
        )
    if story.text is None and story.end:
        raise InvalidInput(
            f"run {row.id} writes no text; `autoreason show {row.id}` shows what it found"
        )
    if story.text is None:
        from autoreason.journal.run_names import owning_run

        raise InvalidInput(
            f"run {row.id} has no text yet; `autoreason resume {owning_run(row.id)}` goes on with it"
        )
    return story.text


def as_object(row: RunRow, story: Story) -> dict[str, Any]:
    """A run for programs: what its list entry says, and its whole story."""
    return {
        "run": row.id,
        "title": row.title,
        "status": row.state,
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
        "drafts": story.drafts,
        "draft": story.draft,
        "passes": story.passes,
        "playoff_ballots": story.playoff_ballots,
        "playoff": story.playoff,
        "confirmation": story.panels.get("confirmation"),
        "delivered": story.delivered,
    }
