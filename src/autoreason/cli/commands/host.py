"""`autoreason host`: a coding agent, or a person, answers what a run asks."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli.command import Group, Output, open_journal, print_message, shared
from autoreason.cli.commands.writing import run as run_command
from autoreason.cli.lookup import run_argument
from autoreason.cli.options import group, option
from autoreason.errors import InvalidInput, RunLocked
from autoreason.files import data_folder

if TYPE_CHECKING:
    from autoreason.cli.outcome import OutputOptions
    from autoreason.journal import Journal
    from autoreason.run.result import Result

_NOT_HERE = ("model", "call_limit", "passes", "output", "fail_on_contract", "help_all")
_OWN = [each for each in run_command.params if each not in run_command.shared]
_OF_RUN = [each for each in _OWN if each.name not in _NOT_HERE]
_NAME = option("--name NAME", "What answers, as it calls itself.", name="named", default="agent")


@click.group(cls=Group)
def host() -> None:
    """Let a coding agent answer what a run asks.

    No key is needed. Questions are tokens; each is for a fresh context, which takes it, answers it and knows nothing
    else; the one who hands them out carries tokens only. Nothing waits: it can go on tomorrow.

    \b
      autoreason host start brief.md --call-limit 60
      autoreason host take k7f2m9qx3hw5ab
      autoreason host answer k7f2m9qx3hw5ab < answer.txt
      autoreason host next amber-fox
      autoreason host check CLAUDE.md
    """
    if any((data_folder() / "canaries").glob("*.json")):
        from autoreason.agents.canary import restore

        restore()


@host.command(shares="as_json journal", params=_OF_RUN)
@group(
    "Questions",
    option("--call-limit N", "The most there may be, as none has a known price.", required=True),
    option("--rounds N", "At most this many rounds.", name="passes", usual="3"),
    _NAME,
    option("--one-context", "One context answers everything: nothing is blind, and all says so."),
)
def start(brief: str, named: str, one_context: bool, **values: Any) -> Any:
    """Begin a run whose questions are answered from outside.

    As `run`, with three rounds, judges at the end alone, and all of them asked at once. Prints a
    token for each question that waits.
    """
    from autoreason.cli import arguments
    from autoreason.cli.outcome import OutputOptions
    from autoreason.cli.runner import disclosure, drive_run
    from autoreason.run.host import DEFAULTS
    from autoreason.run.refine import refine
    from autoreason.settings import HOST

    chosen = {**DEFAULTS, **arguments.run_options("run", values), "model": f"{HOST}/{named}"}
    prepared = refine.prepare(arguments.task_of(brief, values), **chosen)
    if one_context:
        prepared = prepared.in_one_context()
    if values["dry_run"]:
        return prepared
    sent = disclosure(prepared.task, prepared.settings, quiet=True)
    quiet = OutputOptions(progress="none", as_json=shared("as_json"))
    return drive_run(prepared.run_async, quiet, sent=sent, end=_show)


@host.command(shares="as_json book")
@click.argument("token")
@group("What to show", option("--page N", "Of a long one this page.", default=1))
def take(token: str, page: int, book: Journal) -> Output | None:
    """Print one question, as one prompt; it is yours for 15 minutes."""
    from autoreason.run import host

    prompt = host.take(book, token, page)
    if shared("as_json"):
        return Output(prompt._asdict())
    click.echo(prompt.text)
    if prompt.page < prompt.pages:
        click.echo(
            f"\n[Page {prompt.page} of {prompt.pages}; read the next one before you answer: "
            f"autoreason host take {token} --page {prompt.page + 1}]"
        )
    return None


@host.command(shares="as_json book")
@click.argument("token")
def answer(token: str, book: Journal) -> Output | None:
    """Record the answer on standard input; one that cannot be read is refused, and may be given anew."""
    from autoreason.run import host
    from autoreason.task import read_input

    host.answer(book, token, read_input())
    if shared("as_json"):
        return Output({"recorded": True})
    click.echo("recorded")
    return None


@host.command("next", shares="as_json book")
@run_argument(required=True)
@group("Result", option("-o, --output FILE", "Write the result there, once there is one."))
def go_on(run: str, output: Path | None, book: Journal) -> int:
    """Go on with a run: the next tokens, or the result.

    Answers that are recorded are taken in. Tokens that somebody has taken are not listed.
    """
    from autoreason.cli.outcome import OutputOptions
    from autoreason.files import check_output
    from autoreason.run import host
    from autoreason.run.prepared import reported_result
    from autoreason.run.record import recorded_result

    check_output(output)
    run = book.find(run).id
    options = OutputOptions(progress="none", as_json=shared("as_json"), output=output)
    if host.can_go_on(run, book):
        from autoreason.cli.runner import drive_run
        from autoreason.run.recorded import resume

        # Another process may be quicker.
        with suppress(RunLocked):
            return drive_run(partial(resume.aio, run, journal=book), options, end=_show)
    found = recorded_result(book.row(run), book.story(run), book)
    return _show(reported_result(found, book), options)


@host.command(shares="as_json journal")
@click.argument("file", required=False)
@group(
    "Check",
    option("--yes", "The user agreed that a line is put into the file for a while."),
    option("--word WORD", "The word, as your own instructions name it."),
    _NAME,
)
def check(file: str | None, word: str | None, yes: bool, named: str, journal: str | None) -> Any:
    """Find out whether judges see a project's instructions.

    Puts a line with a test word into FILE, such as CLAUDE.md, for 15 minutes at most. Programs read it when a session
    begins: begin one here, which gives the word that its instructions name as --word. The token is for one fresh
    context; `host next` says what was found, as does every run that begins here afterwards.
    """
    from autoreason.agents import canary

    if word is not None and file is None:
        from autoreason.cli.outcome import OutputOptions
        from autoreason.cli.runner import drive_run

        prepared = canary.prepare_check(word, named, journal)
        quiet = OutputOptions(progress="none", as_json=shared("as_json"))
        return drive_run(prepared.run_async, quiet, end=_show)
    if file is None or word is not None:
        raise InvalidInput("give either the file of a project's instructions, or --word")
    asks = f"Put a line with a test word into {file}, for 15 minutes at most?"
    if not yes and not (sys.stdin.isatty() and click.confirm(asks, err=True)):
        raise InvalidInput(f"this puts a line into {file}; ask the user, then add --yes")
    canary.put_word(Path(file))
    then = "begin a new session, and there `host check --word WORD`"
    return Output({"file": file}, [f"A test word is in {file}; {then}"])


def _show(result: Result, options: OutputOptions, _: object = None) -> int:
    """The tokens of what is open, or what the run came to; the exit status."""
    from autoreason.cli import outcome
    from autoreason.run.host import standing

    story, status = result.story, outcome.EXIT.get(result.status, 0)
    folder = getattr(story.job, "output", "")
    output = options.output or (Path(folder) if folder else None)
    hands_over = result.finished and story.writes is not None
    if hands_over and (output or not options.as_json):
        quiet = "none" if options.as_json else None
        status = outcome.end_run(result, outcome.OutputOptions(output=output, progress=quiet), None)
    elif result.finished and not options.as_json:
        outcome.show_report(result)
    with open_journal(shared("journal")) as book:
        found = standing(result, book, str(output) if hands_over and output else None)
    if options.as_json:
        outcome.print_json(found)
    elif not result.finished:
        click.echo("".join(f"{token}\n" for token in found.open), nl=False)
        said = {"limits": found.limits, "not understood as limits": found.not_understood}
        print_message(*(f"{name}: {' · '.join(each)}" for name, each in said.items() if each))
        then = f"; then autoreason host next {found.run}" if found.status == "waiting" else ""
        print_message(f"autoreason: {found.says}{then}")
    return status
