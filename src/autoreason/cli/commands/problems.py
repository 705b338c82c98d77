"""`autoreason problems`: sets of problems looked into and converted."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

source_argument = click.argument("source", metavar="SOURCE")


@click.group(cls=HelpfulGroup)
def problems() -> None:
    """Look into sets of problems, and convert them.

    A set is a JSON file with one problem or a list of them, or a file with one JSON object a line;
    - reads standard input. Records may be our own, or of CodeContests, HumanEval, MBPP or
    LiveCodeBench.

    \b
      autoreason problems show problems.jsonl
      autoreason problems convert codecontests.jsonl --to problems.jsonl
    """


@problems.command(cls=Paged, short_help="Show what is in a set, or in one problem.")
@source_argument
@click.option("--problem", "name", metavar="ID", help="One problem, without its private tests.")
@options.report_options
def show(source: str, name: str | None, as_json: bool, html: Path | None) -> None:
    """Show what is in a set: kinds, difficulties, tests, and what cannot be used and why.

    Of one problem, or a file with only one: what is wanted, its limits, how answers are compared,
    and its public tests.

    \b
      autoreason problems show problems.jsonl
      autoreason problems show problems.jsonl --problem HumanEval/0
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.problem_sets import describe_set

    show_report(describe_set(source, name, as_set=as_json), as_json=as_json, html=html)


@problems.command(cls=HelpfulCommand, short_help="Write a set in our own format, one a line.")
@source_argument
@options.group(
    "Output",
    options.file("--to", "target", help="Write the problems there instead of to standard output."),
    options.flag("--json", "as_json", help="With --to: print the summary as a JSON object."),
)
def convert(source: str, target: Path | None, as_json: bool) -> None:
    """Write the problems of a set in our own format, one JSON object a line.

    What cannot be used is left out and named, line by line; so are examples of HumanEval's docstrings
    that no program could pass.

    \b
      autoreason problems convert codecontests.jsonl --to problems.jsonl
      zcat livecodebench.jsonl.gz | autoreason problems convert - > problems.jsonl
    """
    from autoreason.cli.views.outcome import print_json
    from autoreason.files import check_output, write
    from autoreason.programs.problems.formats import read_problems
    from autoreason.programs.problems.problem import encode_set
    from autoreason.run.problem_sets import SetReport

    if as_json and target is None:
        raise InvalidInput("--json is the summary of a file that is written; name it with --to")
    check_output(target, "--to")
    if target and target.exists() and Path(source).exists() and target.samefile(source):
        raise InvalidInput(
            f"--to is {source} itself, and what cannot be used would be gone; name another file"
        )
    report = SetReport(read_problems(source))
    lines = encode_set(report.found.problems).decode()
    if target is None:
        sys.stdout.write(lines)
    else:
        write(target, lines)
    where = f" written to {target}" if target else ""
    size = numbers.count(len(report.found.problems), "problem")
    _print_note(f"{size} ({report.found.format}){where}")
    for record in report.left_out():
        _print_note(f"left out: {record}")
    if as_json:
        print_json(report.to_dict())


@problems.command("check", cls=HelpfulCommand, short_help="Run each problem's known solution.")
@source_argument
@options.group(
    "Limits",
    options.flag("--unsafe", help="Run programs without a sandbox, like any other here."),
)
@options.report_options
def check_set(source: str, unsafe: bool, as_json: bool, html: Path | None) -> int:
    """Run the known solution of every problem of a set on all its tests.

    For the author of a set: a solution that is not accepted means a wrong test, a wrong solution or
    limits too narrow. Exit status 0 where all are accepted, 1 where one is not or where a record
    of the set cannot be used.

    \b
      autoreason problems check problems.jsonl
    """
    import asyncio

    from autoreason.cli.views.console import stderr_console
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.problem_sets import check_solutions

    with stderr_console().status("0 solutions") as status:

        def on_done(done: int, total: int) -> None:
            status.update(f"{done:,} of {numbers.count(total, 'solution')}")

        report = asyncio.run(check_solutions(source, unsafe=unsafe, on_done=on_done))
    show_report(report, as_json=as_json, html=html)
    return 1 if report.failed or report.found.broken else 0


def _print_note(line: str) -> None:
    from autoreason.cli.views.console import print_line, stderr_console

    print_line(stderr_console(), line)
