"""`autoreason problems`: sets of problems looked into and converted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.cli.views import words
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.programs.assignment import Assignment
    from autoreason.programs.problems.problem import Problem
    from autoreason.programs.problems.sets import ProblemSet

_LEFT_OUT = 20
"""Broken records that are told one by one."""
_HEADINGS = ("kind", "difficulty", "problems", "public tests", "private tests", "notes")

source_argument = click.argument("source", metavar="SOURCE")


@click.group()
def problems() -> None:
    """Look into sets of problems, and convert them.

    A set is a JSON file with one problem or a list of them, or a file with one JSON object a line;
    - reads standard input. Records may be our own, or of CodeContests, HumanEval, MBPP or
    LiveCodeBench.

    \b
      autoreason problems show problems.jsonl
      autoreason problems convert codecontests.jsonl --to problems.jsonl
    """


@problems.command(cls=Paged, short_help="Tell what is in a set, or in one problem.")
@source_argument
@click.option("--problem", "name", metavar="ID", help="One problem, without its private tests.")
@options.json_option
def show(source: str, name: str | None, as_json: bool) -> None:
    """Tell what is in a set: kinds, difficulties, tests, and what cannot be used and why.

    Of one problem, or a file with only one: what is wanted, its limits, how answers are compared,
    and its public tests.

    \b
      autoreason problems show problems.jsonl
      autoreason problems show problems.jsonl --problem HumanEval/0
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.programs.problems.formats import read_problems
    from autoreason.programs.problems.sets import find_problem

    found = read_problems(source)
    alone = len(found.problems) == 1 and not as_json
    if name is not None or alone:
        one = find_problem(found.problems, name) if name else found.problems[0]
        _show_problem(one, as_json=as_json)
        if name is None:
            _tell_left_out(found)
    elif as_json:
        print_json(_as_object(found))
    else:
        _tell_set(found)


def _show_problem(problem: Problem, *, as_json: bool) -> None:
    import msgspec

    from autoreason.cli.views.outcome import print_json
    from autoreason.programs.problems.problem import describe_comparison, to_assignment

    assignment, how = to_assignment(problem), describe_comparison(problem)
    if as_json:
        print_json(msgspec.to_builtins(assignment) | {"compared": how})
    else:
        _tell_problem(assignment, how)


@problems.command(cls=HelpfulCommand, short_help="Write a set in our own format, one a line.")
@source_argument
@options.group(
    "Output",
    options.option(
        "--to",
        "target",
        type=options.FILE,
        metavar="FILE",
        help="Write the problems there instead of to standard output.",
    ),
    options.option(
        "--json", "as_json", is_flag=True, help="With --to: print the summary as a JSON object."
    ),
)
def convert(source: str, target: Path | None, as_json: bool) -> None:
    """Write the problems of a set in our own format, one JSON object a line.

    What cannot be used is left out and told, line by line; so are examples of HumanEval's docstrings
    that no program could pass.

    \b
      autoreason problems convert codecontests.jsonl --to problems.jsonl
      zcat livecodebench.jsonl.gz | autoreason problems convert - > problems.jsonl
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.files import check_output, write
    from autoreason.programs.problems.formats import read_problems
    from autoreason.programs.problems.native_format import encode_set

    if as_json and target is None:
        raise InvalidInput("--json is the summary of a file that is written; name it with --to")
    check_output(target, "--to")
    if target and target.exists() and Path(source).exists() and target.samefile(source):
        raise InvalidInput(
            f"--to is {source} itself, and what cannot be used would be lost; name another file"
        )
    found = read_problems(source)
    lines = encode_set(found.problems).decode()
    if target is None:
        sys.stdout.write(lines)
    else:
        write(target, lines)
    where = f" written to {target}" if target else ""
    _say(f"{words.count(len(found.problems), 'problem')} ({found.format}){where}")
    for line in _left_out(found):
        _say(line)
    if as_json:
        print_json(_as_object(found))


@problems.command("check", cls=HelpfulCommand, short_help="Run each problem's known solution.")
@source_argument
@options.group(
    "Limits",
    options.option(
        "--unsafe", is_flag=True, help="Run programs without a sandbox, like any other here."
    ),
)
@options.json_option
def check_set(source: str, unsafe: bool, as_json: bool) -> int:
    """Run the known solution of every problem of a set on all its tests.

    For whoever makes a set: a solution that is not accepted means a wrong test, a wrong solution or
    limits too narrow. Exit status 0 where all are accepted, 1 where one is not or where a record
    of the set cannot be used.

    
      autoreason problems check problems.jsonl
    """
    from autoreason.cli.views.known_solutions import check_solutions

    return check_solutions(source, unsafe=unsafe, as_json=as_json)


def _as_object(found: ProblemSet) -> dict[str, Any]:
    from autoreason.programs.problems.sets import shares

    return {
        "problems": len(found.problems),
        "format": found.format,
        "digest": found.digest,
        "shares": shares(found.problems),
        "broken": found.broken,
        "notes": found.notes,
    }


def _left_out(found: ProblemSet) -> list[str]:
    every = [*map(str, found.broken), *found.notes]
    said = [f"left out: {each}" for each in every[:_LEFT_OUT]]
    more = len(every) - len(said)
    return [*said, f"left out: {more:,} more; --json tells all"] if more else said


def _tell_set(found: ProblemSet) -> None:
    from rich.text import Text

    from autoreason.cli.views.console import stdout_console
    from autoreason.programs.problems.sets import Share, shares

    def notes(share: Share) -> str:
        counted = (
            (share.without_public_tests, "without public tests"),
            (share.unfair, "cannot be judged"),
        )
        return ", ".join(f"{number:,} {said}" for number, said in counted if number)

    rows = [
        (
            share.kind,
            share.difficulty or "-",
            f"{share.problems:,}",
            f"{share.public_tests:,}",
            f"{share.private_tests:,}",
            notes(share),
        )
        for share in shares(found.problems)
    ]
    console = stdout_console()
    console.print(
        f"{words.count(len(found.problems), 'problem')} ({found.format}), "
        f"digest {found.digest[:12]}",
        soft_wrap=True,
    )
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    for place, cells in enumerate([_HEADINGS, *rows]):
        row = "  ".join(
            cell.rjust(width) if 2 <= column <= 4 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        console.print(Text(row.rstrip(), style="" if place else "dim"), soft_wrap=True)
    _tell_left_out(found)


def _tell_left_out(found: ProblemSet) -> None:
    from autoreason.cli.views.console import print_line, stdout_console

    for line in _left_out(found):
        print_line(stdout_console(), line)


def _tell_problem(assignment: Assignment, how: str) -> None:
    from autoreason.cli.views.console import stdout_console
    from autoreason.cli.views.outcome import print_rows

    console = stdout_console()
    title = f": {assignment.title}" if assignment.title else ""
    calls = f" that defines {assignment.entry_point}" if assignment.entry_point else ""
    public = words.count(len(assignment.public), "public test")
    rows = [
        ("", f"{assignment.id}{title}"),
        ("Wanted", f"a program{calls}" if calls else "a program that reads and prints"),
        ("Limits", f"{assignment.seconds:g} s, {assignment.memory_mb:,} MB"),
        ("Tests", f"{public}, {assignment.private:,} private"),
        ("Compared", how),
    ]
    if assignment.difficulty:
        rows.insert(1, ("Level", assignment.difficulty))
    if assignment.remark:
        rows.append(("Note", f"it cannot be judged: {assignment.remark}"))
    print_rows(rows, console)
    console.print(f"\n{assignment.statement.rstrip()}", soft_wrap=True)
    _tell_tests(assignment, console)


def _tell_tests(assignment: Assignment, console: Console) -> None:
    from rich.text import Text

    for number, test in enumerate(assignment.public, 1):
        console.print(Text(f"\nPublic test {number}", style="dim"), soft_wrap=True)
        shown = (test.code,) if test.code else (test.input, "→", test.output)
        for text in shown:
            console.print(text.rstrip("\n"), soft_wrap=True)


def _say(line: str) -> None:
    from autoreason.cli.views.console import print_line, stderr_console

    print_line(stderr_console(), line)
