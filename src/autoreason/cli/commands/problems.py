"""`autoreason problems`: sets of problems shown, converted and checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand, HelpfulGroup
from autoreason.cli.views.pager import Paged
from autoreason.errors import InvalidInput
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.programs.assignment import Trial
    from autoreason.run.solve import ProgramReport

NOT_RUN = 6
"""Exit status where a test could not be run, which says nothing about the program."""
source_argument = click.argument("source", metavar="SOURCE")


@click.group(cls=HelpfulGroup)
def problems() -> None:
    """Show, convert and check sets of problems.

    A set is a JSON file with one problem or a list of them, or a file with one JSON object a line;
    - reads standard input. Records may be our own, or of CodeContests, HumanEval, MBPP or
    LiveCodeBench.

    \b
      autoreason problems show problems.jsonl
      autoreason problems convert codecontests.jsonl --to problems.jsonl
      autoreason problems check problem.json solution.py
    """


@problems.command(
    cls=Paged, shares=options.REPORT, short_help="Show what is in a set, or in one problem."
)
@source_argument
@click.option("--problem", "name", metavar="ID", help="One problem, without its private tests.")
def show(source: str, name: str | None, as_json: bool, html: Path | None) -> None:
    """Show what is in a set: kinds, difficulties, tests, and what cannot be used and why.

    Of one problem, or a file with only one: what is wanted, its limits, how answers are compared,
    and its public tests.

    \b
      autoreason problems show problems.jsonl
      autoreason problems show problems.jsonl --problem HumanEval/0
    """
    from autoreason.cli.views.outcome import show_report
    from autoreason.run.solve import describe_set

    show_report(describe_set(source, name, as_set=as_json), as_json=as_json, html=html)


@problems.command(
    cls=HelpfulCommand, shares="as_json", short_help="Write a set in our own format, one a line."
)
@source_argument
@options.group(
    "Output",
    options.file("--to", "target", help="Write the problems there instead of to standard output."),
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
    from autoreason.run.solve import SetReport

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


@problems.command(
    cls=HelpfulCommand,
    shares=options.REPORT,
    short_help="Run a program, or the known solutions, on the tests.",
)
@source_argument
@click.argument("program", metavar="[PROGRAM.py]", required=False)
@options.group(
    "Tests, with PROGRAM.py",
    options.option("--problem ID", "name", help="Which problem of a set."),
    options.flag("--every", help="Go on after a test that fails."),
    options.flag("--public-only", help="Leave out the private tests."),
    options.option(
        "--test-time-limit S", type=float, help="Processor seconds a test. [default: the problem's]"
    ),
    options.option("--test-memory-limit MB", type=int, help="Of memory. [default: the problem's]"),
)
@options.group(
    "How programs are run",
    options.flag("--unsafe", help="Without a sandbox, like any other program on this machine."),
)
def check(
    source: str, program: str | None, unsafe: bool, as_json: bool, html: Path | None, **tests: Any
) -> int:
    """Run one program on a problem's tests, or the known solution of every problem of a set.

    No model is asked. With PROGRAM.py, SOURCE is a file with one problem, or a set with --problem;
    - reads either from standard input. Private tests are shown too: it is your file.

    Without it, for the author of a set: a solution that is not accepted means a wrong test, a wrong
    solution or limits too narrow.

    \b
      autoreason problems check problem.json solution.py
      autoreason problems check problems.jsonl solution.py --problem HumanEval/0
      autoreason problems check problems.jsonl

    \b
    Exit status:
      0    accepted on every test; of a set, every solution
      1    not accepted, or a record of the set cannot be used
      2    something given cannot be used
      6    a test could not be run, which says nothing about the program
    """
    from autoreason.cli.views.outcome import show_report

    if program is not None:
        report, status = _check_program(source, program, unsafe=unsafe, **tests)
        show_report(report, as_json=as_json, html=html)
        return status
    if any(tests.values()):
        raise InvalidInput("options for tests go with a program; name it behind the problem")
    import asyncio

    from autoreason.cli.views.console import stderr_console
    from autoreason.run.solve import check_solutions

    with stderr_console().status("0 solutions") as status_line:

        def on_done(done: int, total: int) -> None:
            status_line.update(f"{done:,} of {numbers.count(total, 'solution')}")

        found = asyncio.run(check_solutions(source, unsafe=unsafe, on_done=on_done))
    show_report(found, as_json=as_json, html=html)
    return 1 if found.failed or found.found.broken else 0


def _check_program(
    problem: str,
    solution: str,
    *,
    name: str | None,
    every: bool,
    public_only: bool,
    test_time_limit: float | None,
    test_memory_limit: int | None,
    unsafe: bool,
) -> tuple[ProgramReport, int]:
    import asyncio

    from autoreason.cli.views.console import stderr_console
    from autoreason.programs.examiner.examiner import select_tests, try_program
    from autoreason.programs.problems.formats import read_program
    from autoreason.run.solve import ProgramReport, read_problem

    _check_order(problem, solution)
    found = read_problem(problem, name, test_time_limit, test_memory_limit)
    tests = select_tests(found, public_only=public_only)
    program = read_program(solution)
    with stderr_console().status(f"test 1 of {len(tests):,}") as status:

        def emit(trial: Trial) -> None:
            if trial.number < len(tests):
                status.update(f"test {trial.number + 1:,} of {len(tests):,}")

        result = asyncio.run(
            try_program(found, program, tests, every=every, unsafe=unsafe, emit=emit)
        )
    status_of = {"accepted": 0, "sandbox_error": NOT_RUN}
    return ProgramReport(found, result), status_of.get(result.verdict, 1)


def _check_order(problem: str, solution: str) -> None:
    """Refuse a problem in the program's place, and the other way round, as far as names show it."""
    if problem == solution == "-":
        raise InvalidInput("only one of SOURCE and PROGRAM can be -; name a file for the other")
    is_problem = [Path(each).suffix in (".json", ".jsonl") for each in (problem, solution)]
    if all(is_problem):
        raise InvalidInput(f"{solution} is not a program; name a Python file")
    if is_problem[1] or Path(problem).suffix == ".py":
        raise InvalidInput(
            f"the problem comes first: autoreason problems check {solution} {problem}"
        )


def _print_note(line: str) -> None:
    from autoreason.cli.views.console import print_line, stderr_console

    print_line(stderr_console(), line)
