"""One program at work: what it takes to hold its tests is opened when the first of them is held."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import Self

from msgspec.structs import replace

from autoreason.assignment import Example, Trial
from autoreason.programs.examiner.checkers import LIMITS as CHECKER_LIMITS
from autoreason.programs.examiner.checkers import check_answer, checker_source
from autoreason.programs.examiner.verdicts import (
    LARGEST_OUTPUT,
    judge_answer,
    judge_calls,
    judge_run,
    room_for,
)
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import (
    SOURCE_LIMIT,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Sandbox,
    Session,
)
from autoreason.programs.sandbox.idle import IdleTimer

_LONG = 1 << 20
"""Bytes of an answer that is not compared in a moment."""


def limits_for(problem: Problem, tests: Sequence[Example]) -> RunLimits:
    """What a program may take on these tests."""
    room = max((room_for(test.output) for test in tests), default=room_for(""))
    return RunLimits(
        seconds=problem.time_limit_s,
        memory=problem.memory_limit_mb << 20,
        # Nobody looks at what a function prints.
        output=LARGEST_OUTPUT if problem.kind == "function" else room,
    )


class Bench:
    """A program, and where the problem has one its checker, ready to run."""

    def __init__(self, sandbox: Sandbox, problem: Problem, program: str, limits: RunLimits) -> None:
        self._sandbox, self._problem, self._program = sandbox, problem, program
        self._limits = limits
        self._tests_limits = replace(limits, output=LARGEST_OUTPUT)
        self._comparison = comparison(problem)
        self._stack = AsyncExitStack()
        self._opened: dict[ProgramRole, Session] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def hold(self, test: Example) -> Trial:
        """One test, with everything there is to tell of it."""
        if self._problem.kind == "function":
            return await self._call(test)
        ran = await self.run(test.input)
        trial = judge_run(ran, test, self._limits)
        if trial is not None:
            return trial
        if not self._problem.checker_program:
            if len(ran.stdout) < _LONG:
                return judge_answer(ran, test, self._comparison)
            # Comparing millions of numbers takes seconds, in which others want their verdicts too.
            return await asyncio.to_thread(judge_answer, ran, test, self._comparison)
        source = checker_source(self._problem.checker_program)
        checker = await self._session("checker", source, CHECKER_LIMITS)
        return await check_answer(checker, ran, test)

    async def _session(self, role: ProgramRole, source: str, limits: RunLimits) -> Session:
        if role not in self._opened:
            opening = self._sandbox.open(source, limits, role=role)
            self._opened[role] = await self._stack.enter_async_context(opening)
        return self._opened[role]

    async def _call(self, test: Example) -> Trial:
        """A function's test: it calls a program in another jail."""
        calling, called = await self.converse(test.code)
        return judge_calls(calling, called, test, self._limits)

    async def run(self, stdin: str) -> ProgramRun:
        """The program by itself."""
        session = await self._session("program", self._program, self._limits)
        return await session.run(stdin.encode())

    async def converse(self, code: str) -> tuple[ProgramRun, ProgramRun]:
        """Code that calls the program from a jail of its own: how it ended, and how the program did."""
        candidate = await self._session("candidate", self._program, self._limits)
        source, more = f"{self._problem.setup}\n{code}\n".removeprefix("\n"), ""
        if len(source.encode()) > SOURCE_LIMIT:
            source, more = self._problem.setup, code
        wanted = json.dumps([[self._problem.entry_point.partition(".")[0]], more]).encode()
        (ours, theirs), idle = socket.socketpair(), IdleTimer()
        with ours, theirs:
            async with (
                self._sandbox.open(source, self._tests_limits, role="tests") as tests,
                asyncio.TaskGroup() as both,
            ):
                called = both.create_task(candidate.run(b"", channel=theirs.fileno(), idle=idle))
                calling = both.create_task(tests.run(wanted, channel=ours.fileno(), idle=idle))
                called.add_done_callback(lambda _: _hang_up(theirs))
                calling.add_done_callback(lambda _: _hang_up(ours))
        return calling.result(), called.result()


def _hang_up(end: socket.socket) -> None:
    """Let the other side see that this one is over, although we still hold a copy of its end."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
