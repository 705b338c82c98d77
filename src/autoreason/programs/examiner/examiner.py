"""A program under the tests of a problem: in order, until one fails, each verdict given once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from autoreason.assignment import CodeVerdict, Examined, Example, Input, Observed, Trial, Which
from autoreason.programs.examiner.bench import Bench, limits_for
from autoreason.programs.examiner.cache import VerdictCache, digest_of, key_of, manner_of
from autoreason.programs.examiner.observation import observe_program
from autoreason.programs.examiner.verdicts import BROKEN, CHECKER_CRASHED, REASONS
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.base import Level, Sandbox


class Examiner:
    """Gives verdicts on programs, with one sandbox for all of them."""

    def __init__(self, sandbox: Sandbox, cache: VerdictCache | None = None) -> None:
        self._sandbox = sandbox
        self._cache = VerdictCache() if cache is None else cache
        self._turns: dict[bytes, _Turn] = {}

    @property
    def level(self) -> Level:
        """How well the sandbox holds."""
        return self._sandbox.level

    async def examine(
        self, problem: Problem, program: str, which: Which, every: bool = False
    ) -> Examined:
        """The verdict on a program, as whoever wrote it may know it."""
        tests = problem.public_tests if which == "public" else problem.private_tests
        trials = [trial async for trial in self.hold(problem, program, tests, every=every)]
        return sealed(summed_up(trials, which, len(tests), self.level))

    async def observe(self, problem: Problem, program: str, inputs: Sequence[Input]) -> Observed:
        """What a program does on inputs whose answers nobody knows."""
        observations = await observe_program(self._sandbox, problem, program, inputs)
        return Observed(observations=observations, level=self.level)

    async def hold(
        self, problem: Problem, program: str, tests: Sequence[Example], *, every: bool = False
    ) -> AsyncGenerator[Trial, None]:
        """Test after test with everything there is to tell; for the eyes of whoever owns the problem."""
        program = program.encode("utf-8", "replace").decode()
        if not program.strip():
            yield Trial(number=1, verdict=CodeVerdict.NO_CODE, detail="there is no program")
            return
        limits = limits_for(problem, tests)
        ours = digest_of(program)
        manner = manner_of(problem, limits, self.level)
        async with self._turn(ours), Bench(self._sandbox, problem, program, limits) as bench:
            for number, test in enumerate(tests, 1):
                trial = await self._verdict(bench, key_of(ours, manner, test), test)
                yield replace(trial, number=number)
                if trial.verdict is not CodeVerdict.ACCEPTED and not every:
                    return

    async def _verdict(self, bench: Bench, key: bytes, test: Example) -> Trial:
        known = self._cache.find(key)
        if known is not None:
            return known
        trial = await bench.hold(test)
        if trial.detail.startswith(BROKEN):
            trial = await bench.hold(test)
        self._cache.keep(key, trial)
        return trial

    @asynccontextmanager
    async def _turn(self, program: bytes) -> AsyncIterator[None]:
        """One examination of a program at a time: the next finds the verdicts of the first."""
        turn = self._turns.setdefault(program, _Turn())
        turn.waiting += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.waiting -= 1
            if not turn.waiting:
                del self._turns[program]


class _Turn:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


def summed_up(trials: Sequence[Trial], which: Which, total: int, level: str) -> Examined:
    """One verdict of many tests: that of the first that was not accepted."""
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


def sealed(examined: Examined) -> Examined:
    """What may leave the examiner: of private tests verdicts, times and memory, and no word of what is in them."""
    seal = _sealed_checker if examined.which == "public" else _sealed
    return replace(examined, trials=tuple(map(seal, examined.trials)))


def _sealed_checker(trial: Trial) -> Trial:
    """A public test may be told whole, but not what a checker says as it falls: it may name what is hidden."""
    crashed = trial.detail.startswith(CHECKER_CRASHED)
    return replace(trial, detail=CHECKER_CRASHED) if crashed else trial


def _sealed(trial: Trial) -> Trial:
    reason = next((reason for reason in REASONS if trial.detail.startswith(reason)), "")
    return Trial(
        number=trial.number,
        verdict=trial.verdict,
        seconds=trial.seconds,
        wall=trial.wall,
        memory=trial.memory,
        detail=reason,
    )
