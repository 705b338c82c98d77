"""Programs tried by whoever owns the problems: in this process, with everything shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from msgspec import Struct

from autoreason.assignment import CodeVerdict, Example, Trial, Which
from autoreason.errors import InvalidInput
from autoreason.programs.examiner.examiner import Examiner, summed_up
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.levels import open_sandbox

MAX_CONCURRENT_SOLUTIONS = 8
"""Known solutions that are under way at a time; the sandbox runs one a core."""


class Tried(Struct, frozen=True, kw_only=True):
    """One program on one problem."""

    problem: str
    verdict: CodeVerdict
    passed: int
    run: int
    total: int
    level: str
    tests: tuple[Trial, ...]
    """Public ones first; the problem says how many those are."""

    @property
    def failed(self) -> Trial | None:
        """The first test that was not accepted."""
        return next((test for test in self.tests if test.verdict is not CodeVerdict.ACCEPTED), None)


def tests_of(problem: Problem, *, public_only: bool) -> tuple[Example, ...]:
    """The tests that are to be held."""
    tests = problem.public_tests if public_only else problem.tests
    if not tests:
        raise InvalidInput(f"problem {problem.id!r} has no public tests; leave out --public-only")
    return tests


def which_of(problem: Problem, number: int) -> tuple[Which, int]:
    """A test's place among all as its place among the public or the private ones."""
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
) -> Tried:
    """Hold the tests of one program and tell each as it is done."""
    async with _examiner(unsafe) as examiner:
        trials = []
        async with aclosing(examiner.hold(problem, program, tests, every=every)) as held:
            async for trial in held:
                trials.append(trial)
                emit(trial)
        return _summed_up(problem, trials, len(tests), examiner.level)


async def try_solutions(
    problems: Sequence[Problem], *, unsafe: bool = False, emit: Callable[[Tried], None]
) -> None:
    """Hold every test of every known solution and tell each problem as it is done."""
    places = asyncio.Semaphore(MAX_CONCURRENT_SOLUTIONS)
    async with _examiner(unsafe) as examiner:

        async def try_one(problem: Problem) -> None:
            async with places:
                held = examiner.hold(problem, problem.solution, problem.tests)
                trials = [trial async for trial in held]
            emit(_summed_up(problem, trials, len(problem.tests), examiner.level))

        async with asyncio.TaskGroup() as all_of_them:
            for problem in problems:
                all_of_them.create_task(try_one(problem))


@asynccontextmanager
async def _examiner(unsafe: bool) -> AsyncIterator[Examiner]:
    sandbox = open_sandbox(unsafe=unsafe)
    try:
        yield Examiner(sandbox)
    finally:
        await sandbox.close()


def _summed_up(problem: Problem, trials: Sequence[Trial], total: int, level: str) -> Tried:
    of_all = summed_up(trials, "public", total, level)
    return Tried(
        problem=problem.id,
        verdict=of_all.verdict,
        passed=of_all.passed,
        run=of_all.run,
        total=total,
        level=level,
        tests=of_all.trials,
    )
