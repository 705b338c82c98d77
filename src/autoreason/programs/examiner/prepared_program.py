"""One program and its sessions in the sandbox, opened when its first test is run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Self

from msgspec.structs import replace

from autoreason.programs.assignment import Example, Trial
from autoreason.programs.examiner.checkers import LIMITS as CHECKER_LIMITS
from autoreason.programs.examiner.checkers import check_answer, checker_source
from autoreason.programs.examiner.verdicts import (
    MAX_OUTPUT_BYTES,
    judge_answer,
    judge_calls,
    judge_run,
    output_limit,
)
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import (
    SOURCE_LIMIT,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Sandbox,
    Session,
    run_jointly,
)

_LONG_ANSWER = 1 << 20
"""Bytes of an answer that takes long to compare."""


def limits_for(problem: Problem, tests: Sequence[Example]) -> RunLimits:
    """The limits of a program on these tests."""
    limit = max((output_limit(test.output) for test in tests), default=output_limit(""))
    return RunLimits(
        seconds=problem.time_limit_s,
        memory=problem.memory_limit_mb << 20,
        # The output of a function is not compared.
        output=MAX_OUTPUT_BYTES if problem.kind == "function" else limit,
    )


class PreparedProgram:
    """A program and the problem's checker, if any, ready to run."""

    def __init__(self, sandbox: Sandbox, problem: Problem, program: str, limits: RunLimits) -> None:
        self._sandbox, self._problem, self._program = sandbox, problem, program
        self._limits = limits
        self._tests_limits = replace(limits, output=MAX_OUTPUT_BYTES)
        self._comparison = comparison(problem)
        self._stack = AsyncExitStack()
        self._sessions: dict[ProgramRole, Session] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def run_test(self, test: Example) -> Trial:
        """Run one test, with every detail."""
        if self._problem.kind == "function":
            return await self._run_function_test(test)
        run = await self.run(test.input)
        trial = judge_run(run, test, self._limits)
        if trial is not None:
            return trial
        if not self._problem.checker_program:
            if len(run.stdout) < _LONG_ANSWER:
                return judge_answer(run, test, self._comparison)
            # Comparing millions of numbers takes seconds, and must not block other requests.
            return await asyncio.to_thread(judge_answer, run, test, self._comparison)
        source = checker_source(self._problem.checker_program)
        checker = await self._session("checker", source, CHECKER_LIMITS)
        return await check_answer(checker, run, test)

    async def _session(self, role: ProgramRole, source: str, limits: RunLimits) -> Session:
        if role not in self._sessions:
            opening = self._sandbox.open(source, limits, role=role)
            self._sessions[role] = await self._stack.enter_async_context(opening)
        return self._sessions[role]

    async def _run_function_test(self, test: Example) -> Trial:
        """Run a test of a function: it calls a program in another jail."""
        tests_run, program_run = await self.run_code(test.code)
        return judge_calls(tests_run, program_run, test, self._limits)

    async def run(self, stdin: str) -> ProgramRun:
        """Run the program by itself."""
        session = await self._session("program", self._program, self._limits)
        return await session.run(stdin.encode())

    async def run_code(self, code: str) -> tuple[ProgramRun, ProgramRun]:
        """Run code that calls the program from another jail; the runs of both."""
        candidate = await self._session("candidate", self._program, self._limits)
        source, extra = f"{self._problem.setup}\n{code}\n".removeprefix("\n"), ""
        if len(source.encode()) > SOURCE_LIMIT:
            source, extra = self._problem.setup, code
        wanted = json.dumps([[self._problem.entry_point.partition(".")[0]], extra]).encode()
        async with self._sandbox.open(source, self._tests_limits, role="tests") as tests:
            return await run_jointly(tests, wanted, candidate)
