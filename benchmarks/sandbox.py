"""Tests of programs in the sandbox, compared with a new interpreter for each, without any sandbox."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from msgspec import Struct

from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import judge_answer, judge_run, limits_for
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import Problem, comparison
from autoreason.programs.sandbox.base import ProgramRun, RunLimits, Sandbox, Session
from autoreason.programs.sandbox.levels import open_sandbox
from autoreason.programs.sandbox.linux import real_python
from benchmarks.measure import Measure, for_information
from benchmarks.server import ROOT

_PROBLEMS = ROOT.parent / "shared" / "problems" / "stdio.jsonl"
_TESTS = 4
"""Tests of each problem that are run."""
_ROUNDS = 200
_SMALL = "a, b = map(int, input().split())\nprint(a + b)\n"


class Rate(Struct, frozen=True, kw_only=True):
    """One problem: what each side took for the same tests, and where their verdicts differ."""

    problem: str
    tests: int
    ours: float
    reference: float
    bare: float
    """The reference with -I -S: without what a machine has its interpreter do at each start."""
    refused: tuple[str, ...]
    """Verdicts of ours on a solution known to be right, other than accepted."""
    different: tuple[str, ...]


def measure_sandbox() -> list[Measure]:
    """Ours and the reference in turn: a small test over and over, then problem after problem."""
    return asyncio.run(_measure())


async def _measure() -> list[Measure]:
    sandbox = open_sandbox(workers=1)
    try:
        return [*await _measure_small(sandbox), *await _measure_problems(sandbox)]
    finally:
        await sandbox.close()


async def _measure_small(sandbox: Sandbox) -> list[Measure]:
    ours, reference_times, bare = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        reference = Reference(Path(folder), _SMALL)
        without_site = Reference(Path(folder), _SMALL, flags=("-I", "-S"))
        async with sandbox.open(_SMALL, RunLimits()) as session:
            for _ in range(_ROUNDS):
                reference_times.append(await _seconds(reference, b"20 22\n"))
                ours.append(await _seconds(session, b"20 22\n"))
                bare.append(await _seconds(without_site, b"20 22\n"))
    return [
        _at_least(
            "a small test in an open session, as a multiple",
            median(reference_times) / median(ours),
            4,
        ),
        for_information(
            "sandbox",
            f"the same in ms: ours ({sandbox.level}), the reference, the reference with -I -S",
            ", ".join(f"{1000 * median(each):.1f}" for each in (ours, reference_times, bare)),
            ours_ms=1000 * median(ours),
            reference_ms=1000 * median(reference_times),
            bare_ms=1000 * median(bare),
        ),
    ]


async def _seconds(session: Session, stdin: bytes) -> float:
    started = time.perf_counter()
    run = await session.run(stdin)
    took = time.perf_counter() - started
    assert run.stdout == b"42\n", run
    return took


async def _measure_problems(sandbox: Sandbox) -> list[Measure]:
    if not _PROBLEMS.exists():
        why = f"not measured: no {_PROBLEMS.relative_to(ROOT.parent)} next to the project"
        return [for_information("sandbox", "tests a second on real problems", why)]
    rates = []
    for turn, problem in enumerate(read_problems(_PROBLEMS).problems):
        rates.append(await rate(sandbox, problem, ours_first=turn % 2 == 0))
        _print_differences(rates[-1])
    tests = sum(each.tests for each in rates)
    ours, reference = sum(each.ours for each in rates), sum(each.reference for each in rates)
    bare = median(each.bare / each.ours for each in rates)
    refused = sum(len(each.refused) for each in rates)
    different = sum(bool(each.different) for each in rates)
    return [
        _at_least(
            f"tests a second on the median of {len(rates)} problems, as a multiple",
            median(each.reference / each.ours for each in rates),
            2.5,
        ),
        for_information(
            "sandbox",
            "the same against the reference with -I -S",
            f"{bare:.2f} x",
            value=bare,
        ),
        for_information(
            "sandbox",
            f"{tests} tests in all: a second, ours and the reference",
            f"{tests / ours:.0f}, {tests / reference:.0f}",
            ours=tests / ours,
            reference=tests / reference,
        ),
        Measure(
            name="sandbox",
            what=f"{tests} tests of known solutions: not accepted",
            target="0",
            measured=str(refused),
            kept=refused == 0,
            raw={"value": refused},
        ),
        for_information(
            "sandbox",
            "problems whose verdicts differ from the reference, which gives input by a pipe",
            str(different),
            value=different,
        ),
    ]


async def rate(sandbox: Sandbox, problem: Problem, *, ours_first: bool) -> Rate:
    """One problem's first tests, on both sides."""
    tests = problem.tests[:_TESTS]
    limits = limits_for(problem, tests)
    with tempfile.TemporaryDirectory() as folder:
        reference = Reference(Path(folder), problem.solution, seconds=limits.seconds)
        if not ours_first:
            reference_run = await _run_tests(reference, problem, tests, limits)
        started = time.perf_counter()
        async with sandbox.open(problem.solution, limits) as session:
            opening = time.perf_counter() - started
            own_run = await _run_tests(session, problem, tests, limits)
        if ours_first:
            reference_run = await _run_tests(reference, problem, tests, limits)
        without_site = Reference(
            Path(folder), problem.solution, seconds=limits.seconds, flags=("-I", "-S")
        )
        bare = await _run_tests(without_site, problem, tests, limits)
    pairs = list(zip(own_run.verdicts, reference_run.verdicts, strict=True))
    return Rate(
        problem=problem.id,
        tests=len(tests),
        ours=opening + own_run.seconds,
        reference=reference_run.seconds,
        bare=bare.seconds,
        refused=tuple(one for one, _ in pairs if one != CodeVerdict.ACCEPTED),
        different=tuple(f"{one}, not {other}" for one, other in pairs if one != other),
    )


class TimedRun(Struct, frozen=True):
    """Some tests of one program."""

    seconds: float
    verdicts: tuple[CodeVerdict, ...]


async def _run_tests(
    session: Session, problem: Problem, tests: tuple[Example, ...], limits: RunLimits
) -> TimedRun:
    """The time that the runs take, and, outside of it, what they are worth."""
    seconds, verdicts = 0.0, []
    how = comparison(problem)
    for test in tests:
        started = time.perf_counter()
        run = await session.run(test.input.encode())
        seconds += time.perf_counter() - started
        trial = judge_run(run, test, limits) or judge_answer(run, test, how)
        verdicts.append(trial.verdict)
    return TimedRun(seconds, tuple(verdicts))


class Reference:
    """What one would write first: the interpreter itself on a file, with the input in a pipe."""

    def __init__(
        self,
        folder: Path,
        program: str,
        *,
        seconds: float = 10.0,
        flags: tuple[str, ...] = (),
    ) -> None:
        file = folder / "solution.py"
        file.write_text(program, encoding="utf-8")
        self._command = [real_python(), *flags, str(file)]
        self._seconds = seconds

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:
        """Blocks: nothing else is to happen meanwhile."""
        try:
            done = subprocess.run(  # noqa: ASYNC221 - a pool of threads would be measured too
                self._command, input=stdin, capture_output=True, timeout=3 * self._seconds
            )
        except subprocess.TimeoutExpired:
            return ProgramRun(end_reason="wall", wall=3 * self._seconds)
        return ProgramRun(
            end_reason="exit" if done.returncode >= 0 else "signal",
            status=abs(done.returncode),
            stdout=done.stdout,
            stderr=done.stderr,
        )


def _at_least(what: str, value: float, least: float) -> Measure:
    return Measure(
        name="sandbox",
        what=what,
        target=f"≥ {least:g} x",
        measured=f"{value:.2f} x",
        kept=value >= least,
        raw={"value": value, "limit": least},
    )


def _print_differences(rated: Rate) -> None:
    for difference in rated.different:
        print(f"  {rated.problem}: ours says {difference}", file=sys.stderr, flush=True)
