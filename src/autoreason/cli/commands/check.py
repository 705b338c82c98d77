"""`autoreason check`: one program on the tests of one problem, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput

if TYPE_CHECKING:
    from autoreason.programs.assignment import Trial

NOT_RUN = 6
"""Exit status where a test could not be run, which says nothing about the program."""
EPILOG = """\b
Exit status:
  0    accepted on every test
  1    not accepted
  2    something given cannot be used
  6    a test could not be run, which says nothing about the program
"""

unsafe_option = options.flag(
    "--unsafe", help="Run programs without a sandbox, like any other on this machine."
)


@click.command(cls=HelpfulCommand, epilog=EPILOG)
@click.argument("problem")
@click.argument("solution", metavar="SOLUTION.py")
@options.group(
    "Tests",
    options.option("--problem ID", "name", help="Which problem of a set."),
    options.flag("--every", help="Go on after a test that fails."),
    options.flag("--public-only", help="Leave out the private tests."),
)
@options.group(
    "Limits",
    options.option(
        "--test-time-limit S", type=float, help="Processor seconds a test. [default: the problem's]"
    ),
    options.option("--test-memory-limit MB", type=int, help="Of memory. [default: the problem's]"),
    unsafe_option,
)
@options.report_options
def check(
    problem: str,
    solution: str,
    name: str | None,
    every: bool,
    public_only: bool,
    test_time_limit: float | None,
    test_memory_limit: int | None,
    unsafe: bool,
    as_json: bool,
    html: Path | None,
) -> int:
    """Run one program on a problem's tests, without a model.

    No model is asked. PROBLEM is a file with one problem, or a set with --problem; SOLUTION is a
    Python file; - reads either from standard input. Private tests are shown too: it is your file.

    \b
      autoreason check problem.json solution.py
      autoreason check problems.jsonl solution.py --problem HumanEval/0 --every
    """
    import asyncio

    from autoreason.cli.views.console import stderr_console
    from autoreason.cli.views.outcome import show_report
    from autoreason.programs.examiner.examiner import select_tests, try_program
    from autoreason.programs.problems.formats import read_program
    from autoreason.run.problem_sets import ProgramReport, read_problem

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
    show_report(ProgramReport(found, result), as_json=as_json, html=html)
    return {"accepted": 0, "sandbox_error": NOT_RUN}.get(result.verdict, 1)


def _check_order(problem: str, solution: str) -> None:
    """Refuse a problem in the program's place, and the other way round, as far as names show it."""
    if problem == solution == "-":
        raise InvalidInput("only one of PROBLEM and SOLUTION can be -; name a file for the other")
    is_problem = [Path(each).suffix in (".json", ".jsonl") for each in (problem, solution)]
    if all(is_problem):
        raise InvalidInput(f"{solution} is no program; name a Python file for SOLUTION.py")
    if is_problem[1] or Path(problem).suffix == ".py":
        raise InvalidInput(f"the problem comes first: autoreason check {solution} {problem}")
