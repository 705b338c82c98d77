"""What `autoreason problems check` shows: known solutions on the tests of their problems."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from autoreason.cli.views.console import print_line, stderr_console, stdout_console
from autoreason.cli.views.outcome import print_json
from autoreason.errors import InvalidInput
from autoreason.programs import statements as program_statements
from autoreason.programs.examiner.trials import ProgramResult, try_solutions
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import NO_CHECKER
from autoreason.programs.problems.sets import split_judgeable
from autoreason.report import numbers

if TYPE_CHECKING:
    from autoreason.programs.problems.sets import ProblemSet


def check_solutions(source: str, *, unsafe: bool, as_json: bool) -> int:
    """Try every known solution, show the ones that fail, and give the exit status."""
    found, unfair = split_judgeable(read_problems(source))
    solved = [problem for problem in found.problems if problem.solution.strip()]
    if not solved:
        raise InvalidInput(f"no problem in {source} has a `solution`; give one to check it")
    tried: list[ProgramResult] = []
    of = numbers.count(len(solved), "solution")
    with stderr_console().status(f"0 of {of}") as status:

        def emit(one: ProgramResult) -> None:
            tried.append(one)
            status.update(f"{len(tried):,} of {of}")

        asyncio.run(try_solutions(solved, unsafe=unsafe, emit=emit))
    failed = [one for one in tried if one.verdict != "accepted"]
    if as_json:
        print_json(_as_object(found, tried, failed) | {"unfair": unfair})
    else:
        if unfair:
            left_out = f"left out: {numbers.count(len(unfair), 'problem')} that cannot be judged"
            stdout_console().print(f"{left_out}: {NO_CHECKER}", soft_wrap=True)
        _show(found, tried, failed)
    return 1 if failed or found.broken else 0


def as_object(tried: ProgramResult) -> dict[str, Any]:
    """One program's tests for programs: those that were held, timed to the microsecond."""
    told: dict[str, Any] = msgspec.to_builtins(tried)
    if not tried.run:
        return told | {"tests": []}
    for row in told["tests"]:
        row |= {name: round(row[name], 6) for name in ("seconds", "wall") if name in row}
    return told


def _as_object(
    found: ProblemSet, tried: list[ProgramResult], failed: list[ProgramResult]
) -> dict[str, object]:
    return {
        "problems": len(found.problems),
        "solutions": len(tried),
        "accepted": len(tried) - len(failed),
        "tests": sum(one.run for one in tried),
        "level": tried[0].level,
        "failed": [as_object(one) for one in failed],
        "broken": found.broken,
    }


def _show(found: ProblemSet, tried: list[ProgramResult], failed: list[ProgramResult]) -> None:
    console = stdout_console()
    for one in sorted(failed, key=lambda one: one.problem):
        test = one.failed
        assert test is not None
        why = program_statements.failure(test)
        lines = test.trace.strip().splitlines()
        crashed = test.verdict == "runtime_error" and not why.startswith("syntax error")
        more = f", {lines[-1]}" if lines and crashed and lines[-1] not in why else ""
        verdict = test.verdict.replace("_", " ")
        print_line(console, f"{one.problem}: {verdict} on test {test.number}: {why}{more}")
    for broken in found.broken:
        print_line(console, f"left out: {broken}")
    print_line(console, _conclusion(found, tried, len(failed)))


def _conclusion(found: ProblemSet, tried: list[ProgramResult], failed: int) -> str:
    held = numbers.count(sum(one.run for one in tried), "test")
    said = [
        f"{len(tried) - failed:,} of {numbers.count(len(tried), 'known solution')} accepted, {held}"
    ]
    without = len(found.problems) - len(tried)
    if without:
        said.append(f"{numbers.count(without, 'problem')} without a solution")
    if found.broken:
        said.append(f"{numbers.count(len(found.broken), 'record')} left out")
    return "; ".join([*said, program_statements.sandbox(tried[0].level)])
