"""Programs tried by the owner of the problems: in this process, with every detail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import CodeVerdict, Example, Trial, Which
from autoreason.programs.examiner.examiner import Examiner, summarize
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.levels import open_sandbox

MAX_CONCURRENT_SOLUTIONS = 8
"""Known solutions tried at a time; the sandbox runs one per core."""


class ProgramResult(Struct, frozen=True, kw_only=True):
    """The result of one program on one problem."""

    problem: str
    verdict: CodeVerdict
    passed: int
    tests_run: int
    """Fewer than all where a failure ended it."""
    total: int
    sandbox_level: str
    tests: tuple[Trial, ...]
    """Public ones first; the problem says how many those are."""

    @property
    def failed(self) -> Trial | None:
        """The first test that was not accepted."""
        return next((test for test in self.tests if test.verdict is not CodeVerdict.ACCEPTED), None)


def select_tests(problem: Problem, *, public_only: bool) -> tuple[Example, ...]:
    """The tests to run."""
    tests = problem.public_tests if public_only else problem.tests
    if not tests:
        raise InvalidInput(f"problem {problem.id!r} has no public tests; leave out `public_only`")
    return tests


def locate_test(problem: Problem, number: int) -> tuple[Which, int]:
    """The place of a test among the public or the private ones, from its place among all."""
    public = len(problem.public_tests)
    return ("public", number) if number <= public else ("private", number - public)


async def try_program(
    problem: Problem,
    program: str,
    tests: Sequence[Example],
    *,
    every: bool = False,
    unsafe: bool = False,
    emit: Callable[[Trial], None],
) -> ProgramResult:
    """Run the tests of one program and emit each as it is done."""
    async with _examiner(unsafe) as examiner:
        trials = []
        async with aclosing(examiner.run_tests(problem, program, tests, every=every)) as results:
            async for trial in results:
                trials.append(trial)
                emit(trial)
        return _build_result(problem, trials, len(tests), examiner.level)


async def try_solutions(
    problems: Sequence[Problem], *, unsafe: bool = False, emit: Callable[[ProgramResult], None]
) -> None:
    """Run every test of every known solution and emit each problem as it is done."""
    semaphore = asyncio.Semaphore(MAX_CONCURRENT_SOLUTIONS)
    async with _examiner(unsafe) as examiner:

        async def try_one(problem: Problem) -> None:
            async with semaphore:
                results = examiner.run_tests(problem, problem.solution, problem.tests)
                trials = [trial async for trial in results]
            emit(_build_result(problem, trials, len(problem.tests), examiner.level))

        async with asyncio.TaskGroup() as group:
            for problem in problems:
                group.create_task(try_one(problem))


@asynccontextmanager
async def _examiner(unsafe: bool) -> AsyncIterator[Examiner]:
    sandbox = open_sandbox(unsafe=unsafe)
    try:
        yield Examiner(sandbox)
    finally:
        await sandbox.close()


def _build_result(
    problem: Problem, trials: Sequence[Trial], total: int, level: str
) -> ProgramResult:
    summary = summarize(trials, "public", total, level)
    return ProgramResult(
        problem=problem.id,
        verdict=summary.verdict,
        passed=summary.passed,
        tests_run=summary.run,
        total=total,
        sandbox_level=level,
        tests=summary.trials,
    )
