"""Runs a program on the tests of a problem: in order, until one fails, each verdict cached."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from autoreason.programs.assignment import (
    CodeVerdict,
    Examined,
    Example,
    Input,
    Observed,
    Trial,
    Which,
)
from autoreason.programs.examiner.cache import VerdictCache, cache_key, digest, settings_digest
from autoreason.programs.examiner.observation import observe_program
from autoreason.programs.examiner.prepared_program import PreparedProgram, limits_for
from autoreason.programs.examiner.verdicts import CHECKER_CRASHED, REASONS, SANDBOX_FAILED
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.base import Level, Sandbox


class Examiner:
    """Gives verdicts on programs, with one sandbox for all of them."""

    def __init__(self, sandbox: Sandbox, cache: VerdictCache | None = None) -> None:
        self._sandbox = sandbox
        self._cache = VerdictCache() if cache is None else cache
        self._locks: dict[bytes, _ProgramLock] = {}

    @property
    def level(self) -> Level:
        """The level of the sandbox."""
        return self._sandbox.level

    async def examine(
        self, problem: Problem, program: str, which: Which, every: bool = False
    ) -> Examined:
        """The verdict on a program, without what its author may not know."""
        tests = problem.public_tests if which == "public" else problem.private_tests
        trials = [trial async for trial in self.run_tests(problem, program, tests, every=every)]
        return redact(summarize(trials, which, len(tests), self.level))

    async def observe(self, problem: Problem, program: str, inputs: Sequence[Input]) -> Observed:
        """What a program does on inputs without known answers."""
        observations = await observe_program(self._sandbox, problem, program, inputs)
        return Observed(observations=observations, level=self.level)

    async def run_tests(
        self, problem: Problem, program: str, tests: Sequence[Example], *, every: bool = False
    ) -> AsyncGenerator[Trial, None]:
        """Run test after test with every detail; only for the owner of the problem."""
        program = program.encode("utf-8", "replace").decode()
        if not program.strip():
            yield Trial(number=1, verdict=CodeVerdict.NO_CODE, detail="there is no program")
            return
        limits = limits_for(problem, tests)
        program_digest = digest(program)
        settings = settings_digest(problem, limits, self.level)
        async with (
            self._lock_program(program_digest),
            PreparedProgram(self._sandbox, problem, program, limits) as bench,
        ):
            for number, test in enumerate(tests, 1):
                trial = await self._verdict(bench, cache_key(program_digest, settings, test), test)
                yield replace(trial, number=number)
                if trial.verdict is not CodeVerdict.ACCEPTED and not every:
                    return

    async def _verdict(self, bench: PreparedProgram, key: bytes, test: Example) -> Trial:
        cached = self._cache.find(key)
        if cached is not None:
            return cached
        trial = await bench.run_test(test)
        if trial.detail.startswith(SANDBOX_FAILED):
            trial = await bench.run_test(test)
        self._cache.store(key, trial)
        return trial

    @asynccontextmanager
    async def _lock_program(self, program: bytes) -> AsyncIterator[None]:
        """One examination of a program at a time: the next one finds the verdicts in the cache."""
        entry = self._locks.setdefault(program, _ProgramLock())
        entry.waiting += 1
        try:
            async with entry.lock:
                yield
        finally:
            entry.waiting -= 1
            if not entry.waiting:
                del self._locks[program]


class _ProgramLock:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


def summarize(trials: Sequence[Trial], which: Which, total: int, level: str) -> Examined:
    """One verdict for many tests: that of the first that was not accepted."""
    verdicts = [trial.verdict for trial in trials]
    failed = [verdict for verdict in verdicts if verdict is not CodeVerdict.ACCEPTED]
    return Examined(
        which=which,
        verdict=failed[0] if failed else CodeVerdict.ACCEPTED,
        passed=len(verdicts) - len(failed),
        run=0 if CodeVerdict.NO_CODE in verdicts else len(verdicts),
        total=total,
        trials=tuple(trials),
        level=level,
    )


def redact(examined: Examined) -> Examined:
    """What may leave the examiner: of private tests only verdicts, times and memory."""
    redact_trial = _redact_checker if examined.which == "public" else _redact_private
    return replace(examined, trials=tuple(map(redact_trial, examined.trials)))


def _redact_checker(trial: Trial) -> Trial:
    """Public tests are reported in full, but not a checker's traceback: it may show hidden data."""
    crashed = trial.detail.startswith(CHECKER_CRASHED)
    return replace(trial, detail=CHECKER_CRASHED) if crashed else trial


def _redact_private(trial: Trial) -> Trial:
    reason = next((reason for reason in REASONS if trial.detail.startswith(reason)), "")
    return Trial(
        number=trial.number,
        verdict=trial.verdict,
        seconds=trial.seconds,
        wall=trial.wall,
        memory=trial.memory,
        detail=reason,
    )
