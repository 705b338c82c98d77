"""`autoreason check`: one program on the tests of one problem, without a model."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from autoreason.cli import options
from autoreason.cli.help import HelpfulCommand
from autoreason.errors import InvalidInput
from autoreason.programs.program_statements import failure

if TYPE_CHECKING:
    from rich.console import Console

    from autoreason.programs.assignment import Trial
    from autoreason.programs.examiner.trials import ProgramResult
    from autoreason.programs.problems.problem import Problem

NOT_RUN = 6
"""Exit status where a test could not be run, which says nothing about the program."""
EPILOG = """\b
Exit status:
  0    accepted on every test
  1    not accepted
  2    something given cannot be used
  6    a test could not be run, which says nothing about the program
"""
_TEST = 12
"""Columns for the name of a test."""
_HEADINGS = ("test", "verdict", "time", "memory", "")
_STYLES = {"accepted": "green", "sandbox_error": "yellow"}
_PARTS = ("input", "expected", "got", "trace")

unsafe_option = options.option(
    "--unsafe", is_flag=True, help="Run programs without a sandbox, like any other on this machine."
)


@click.command(cls=HelpfulCommand, epilog=EPILOG)
@click.argument("problem")
@click.argument("solution", metavar="SOLUTION.py")
@options.group(
    "Tests",
    options.option("--problem", "name", metavar="ID", help="Which problem of a set."),
    options.option("--every", is_flag=True, help="Go on after a test that fails."),
    options.option("--public-only", is_flag=True, help="Leave out the private tests."),
)
@options.group(
    "Limits",
    options.option(
        "--test-time-limit",
        type=float,
        metavar="S",
        help="Processor seconds a test. [default: the problem's]",
    ),
    options.option(
        "--test-memory-limit", type=int, metavar="MB", help="Of memory. [default: the problem's]"
    ),
    unsafe_option,
)
@options.json_option
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
) -> int:
    """Run one program on a problem's tests, without a model.

    No model is asked. PROBLEM is a file with one problem, or a set with --problem; SOLUTION is a
    Python file; - reads either from standard input. Private tests are shown too: it is your file.

    \b
      autoreason check problem.json solution.py
      autoreason check problems.jsonl solution.py --problem HumanEval/0 --every
    """
    import asyncio

    from autoreason.cli.views.outcome import print_json
    from autoreason.programs.examiner.trials import select_tests, try_program
    from autoreason.programs.problems.formats import read_program
    from autoreason.run.problem_sets import program_fields, read_problem

    _check_order(problem, solution)
    found = read_problem(problem, name, test_time_limit, test_memory_limit)
    tests = select_tests(found, public_only=public_only)
    program = read_program(solution)
    table = _TestTable(found, len(tests), quiet=as_json)
    with table:
        tried = asyncio.run(
            try_program(found, program, tests, every=every, unsafe=unsafe, emit=table.emit)
        )
    if as_json:
        print_json(program_fields(tried, found))
    else:
        _conclude(tried, found, table.console)
    return {"accepted": 0, "sandbox_error": NOT_RUN}.get(tried.verdict, 1)


def _check_order(problem: str, solution: str) -> None:
    """Refuse a problem in the program's place, and the other way round, as far as names show it."""
    if problem == solution == "-":
        raise InvalidInput("only one of PROBLEM and SOLUTION can be -; name a file for the other")
    is_problem = [Path(each).suffix in (".json", ".jsonl") for each in (problem, solution)]
    if all(is_problem):
        raise InvalidInput(f"{solution} is no program; name a Python file for SOLUTION.py")
    if is_problem[1] or Path(problem).suffix == ".py":
        raise InvalidInput(f"the problem comes first: autoreason check {solution} {problem}")


class _TestTable:
    """One row per test, as each is done."""

    def __init__(self, problem: Problem, total: int, *, quiet: bool) -> None:
        from autoreason.cli.views.console import stderr_console, stdout_console

        self.console = stdout_console()
        self._problem, self._total, self._quiet = problem, total, quiet
        # On one terminal only the console that prints the rows knows how to print above the status.
        shared = self.console.is_terminal and not quiet
        self._status = (self.console if shared else stderr_console()).status(self._at(1))

    def __enter__(self) -> None:
        self._status.start()

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def _at(self, number: int) -> str:
        return f"test {number:,} of {self._total:,}"

    def emit(self, trial: Trial) -> None:
        """Print a row, and the headings before the first."""
        from rich.text import Text

        if trial.number < self._total:
            self._status.update(self._at(trial.number + 1))
        if self._quiet or trial.verdict == "no_code":
            return
        if trial.number == 1:
            self.console.print(Text(_row(_HEADINGS), style="dim"), soft_wrap=True)
        cells = (
            _name(self._problem, trial),
            trial.verdict.replace("_", " "),
            f"{trial.seconds:.3f} s",
            "" if trial.memory is None else f"{trial.memory / 1e6:.0f} MB",
        )
        why = failure(trial)
        line = Text(_row((*cells, why)))
        if self.console.is_terminal and line.cell_len > self.console.width:
            beneath = textwrap.indent(textwrap.fill(why, self.console.width - _TEST), " " * _TEST)
            line = Text(f"{_row((*cells, ''))}\n{beneath}")
        line.stylize(_STYLES.get(trial.verdict, "red"), _TEST, _TEST + len(cells[1]))
        self.console.print(line, soft_wrap=True)


def _row(cells: tuple[str, ...]) -> str:
    test, verdict, seconds, memory, more = cells
    return f"{test:<{_TEST}}{verdict:<15}{seconds:>9}{memory:>9}  {more}".rstrip()


def _name(problem: Problem, trial: Trial) -> str:
    from autoreason.programs.examiner.trials import locate_test

    which, number = locate_test(problem, trial.number)
    return f"{which} {number}"


def _conclude(tried: ProgramResult, problem: Problem, console: Console) -> None:
    from rich.text import Text

    from autoreason.cli.views.console import print_line
    from autoreason.run.problem_sets import program_statement

    failed = tried.failed
    shown = [(part, getattr(failed, part)) for part in _PARTS] if failed else []
    for part, text in shown:
        if failed and text:
            heading = f"\n{_name(problem, failed)}, {part}"
            console.print(Text(heading, style="dim"), soft_wrap=True)
            console.print(text.rstrip("\n"), soft_wrap=True)
    if tried.run:
        console.print()
    print_line(console, Text(program_statement(tried), style="bold"))
