"""On real problems every known solution is accepted, and every breakage of it gets the right verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace
from tests.conftest import DATA
from tests.programs.examiner.mutants import broken_for_certain, broken_perhaps

from autoreason.programs.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.examiner import ProgramExaminer
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.problem import Problem, to_assignment
from autoreason.programs.sandbox.base import RunLimits
from autoreason.programs.sandbox.levels import UnsafeSandbox, find_level, open_sandbox

pytestmark = [
    pytest.mark.skipif(find_level().level == "none", reason="no sandbox works on this machine"),
    pytest.mark.timeout(300),
]
CHECKERS = Path(__file__).with_name("special")
"""Checkers for some real problems with several right answers, by id."""
SETS = ("stdio", "stdio_special", "humaneval", "mbpp")
PARTS = 2
SOME = 2
"""About so many problems of a set are broken in every way, unless pytest is given --all."""
SLOW = {
    *("83_c", "145_c", "151_c", "285_e", "300_c", "518_d", "575_h", "682_d", "712_d", "762_a"),
    *("785_d", "809_a", "893_e", "961_g", "1003_f", "1113_c", "1149_b", "1172_c2", "1188_c"),
    *("1194_f", "1204_e", "1312_d", "1342_e", "1349_d", "1391_c", "1442_c"),
}
"""Problems, 26 of more than six hundred, whose solutions take nearly all of the time of all."""
OFTEN = 16
"""Of the tests of these, one in so many is run, unless pytest is given --all."""
USUAL = 8
"""And of the tests of all others, and of all problems."""
SHORT = 0.02
"""Seconds after which a program that never ends is stopped."""
T = TypeVar("T")
_SHARED = "globals().update((n, v) for n, v in _own.items() if n[:2] != '__')\n"
KINDS = {
    "WA": {"wrong_answer"},
    # Memory that ran out was a runtime error to those who recorded these.
    "RE": {"runtime_error", "memory_limit"},
    # What was too slow there is here too, or meets the stack's or the memory's end first, or is fast enough.
    "TLE": {"time_limit", "memory_limit", "runtime_error", "accepted"},
}


@pytest.fixture(scope="session")
def sets() -> Path:
    """Where the problems are: many beside the project, or a few of our own."""
    many = DATA.parents[2] / "shared/problems"
    return many if many.is_dir() else DATA / "problems"


@cache
def problems_of(path: Path) -> tuple[Problem, ...]:
    found = read_problems(path)
    assert not found.broken
    with_checkers = map(add_checker, found.problems)
    return tuple(each for each in with_checkers if not to_assignment(each).remark)


def add_checker(problem: Problem) -> Problem:
    """A problem with our own checker, where there is one."""
    path = CHECKERS / f"p{problem.id.removeprefix('cc/')}.py"
    if problem.checker_program or not path.exists():
        return problem
    return replace(problem, checker_program=path.read_text("utf-8"))


def some_of(path: Path, config: pytest.Config) -> Sequence[Problem]:
    problems = problems_of(path)
    return problems if config.getoption("--all") else problems[:: max(1, len(problems) // SOME)]


def step(config: pytest.Config) -> int:
    return 1 if config.getoption("--all") else USUAL


def is_slow(problem: Problem) -> bool:
    """Whether its known solution takes long."""
    return "_".join(problem.id.removeprefix("cc/").split("_")[:2]) in SLOW


@asynccontextmanager
async def examining() -> AsyncIterator[ProgramExaminer]:
    sandbox = open_sandbox()
    try:
        yield ProgramExaminer(sandbox)
    finally:
        await sandbox.close()


async def side_by_side(things: Iterable[T], work: Callable[[T], Awaitable[str]]) -> list[str]:
    places = asyncio.Semaphore(6)

    async def one(thing: T) -> str:
        async with places:
            return await work(thing)

    return [said for said in await asyncio.gather(*map(one, things)) if said]


async def last_trial(
    examiner: ProgramExaminer, problem: Problem, program: str, tests: Sequence[Example]
) -> Trial:
    return [trial async for trial in examiner.run_tests(problem, program, tests)][-1]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", SETS)
async def test_every_known_solution_is_accepted(
    sets: Path, name: str, part: int, pytestconfig: pytest.Config
) -> None:
    every = pytestconfig.getoption("--all")
    async with examining() as examiner:

        async def try_one(problem: Problem) -> str:
            tests = problem.tests[:: 1 if every else OFTEN if is_slow(problem) else USUAL]
            trial = await last_trial(examiner, problem, problem.solution, tests)
            held = trial.verdict is CodeVerdict.ACCEPTED and trial.number == len(tests)
            return "" if held else f"{problem.id}: {trial}"

        problems = problems_of(sets / f"{name}.jsonl")[part :: PARTS if every else USUAL * PARTS]
        assert await side_by_side(problems, try_one) == []


async def test_a_checker_refuses_what_is_no_answer(sets: Path, pytestconfig: pytest.Config) -> None:
    async with examining() as examiner:

        async def try_one(problem: Problem) -> str:
            for words in ("", "-7", "\u00e9 nothing", f"{problem.tests[0].output} 1"):
                trial = await last_trial(examiner, problem, f"print({words!r})", problem.tests[:1])
                if trial.verdict is not CodeVerdict.WRONG_ANSWER:
                    return f"{problem.id}: {words!r} {trial}"
            return ""

        problems = problems_of(sets / "stdio_special.jsonl")[:: step(pytestconfig)]
        assert await side_by_side(problems, try_one) == []


async def test_every_given_breakage_gets_its_verdict_where_it_fails(
    sets: Path, pytestconfig: pytest.Config
) -> None:
    lines = (sets / "stdio.jsonl").read_bytes().splitlines()
    records = {each["id"]: each for each in map(msgspec.json.decode, lines)}
    stopped: list[bool] = []
    async with examining() as examiner:

        async def try_one(case: tuple[Problem, dict[str, Any]]) -> str:
            problem, wrong = case
            slow = wrong["verdict"] == "TLE"
            test = problem.tests[wrong["first_failing"]]
            meant = replace(problem, time_limit_s=0.2) if slow else problem
            trial = await last_trial(examiner, meant, wrong["code"], [test])
            stopped.append(slow and trial.verdict is CodeVerdict.TIME_LIMIT)
            right = trial.verdict in KINDS[wrong["verdict"]]
            return "" if right else f"{problem.id}: {wrong} {trial}"

        cases = [
            (problem, wrong)
            for problem in problems_of(sets / "stdio.jsonl")
            for wrong in records[problem.id]["wrong_solutions"]
        ][:: step(pytestconfig)]
        assert cases
        assert await side_by_side(cases, try_one) == []
        slow = sum(wrong["verdict"] == "TLE" for _, wrong in cases)
        assert sum(stopped) >= 0.8 * slow


@pytest.mark.parametrize("name", SETS)
async def test_every_breakage_of_ours_gets_the_verdict_it_must_get(
    sets: Path, name: str, pytestconfig: pytest.Config
) -> None:
    async with examining() as examiner:

        async def try_one(problem: Problem) -> str:
            quick = replace(problem, time_limit_s=SHORT)
            for way, program, verdict in broken_for_certain(problem.solution):
                if way == "status" and problem.kind == "function":
                    continue
                meant = quick if way == "loop" else problem
                trial = await last_trial(examiner, meant, program, problem.tests[:1])
                if trial.verdict is not verdict:
                    return f"{problem.id}: {way} {trial}"
            return ""

        problems = some_of(sets / f"{name}.jsonl", pytestconfig)
        assert await side_by_side(problems, try_one) == []


@pytest.mark.parametrize("name", ["stdio", "stdio_special"])
async def test_a_changed_program_gets_the_verdict_that_plain_python_gives_it(
    sets: Path, name: str, pytestconfig: pytest.Config
) -> None:
    unsafe = ProgramExaminer(UnsafeSandbox())
    async with examining() as examiner:

        async def try_one(problem: Problem) -> str:
            quick = replace(problem, time_limit_s=0.5)
            for way, program in broken_perhaps(problem.solution):
                ours = await last_trial(examiner, quick, program, problem.tests[:1])
                theirs = await last_trial(unsafe, quick, program, problem.tests[:1])
                same = (ours.number, ours.verdict) == (theirs.number, theirs.verdict)
                # What takes about as long as it may is stopped now and then.
                close = "time_limit" in (ours.verdict, theirs.verdict) and (
                    min(ours.seconds, theirs.seconds) > 0.2
                )
                if not same and not close:
                    return f"{problem.id}: {way}\n{ours}\n{theirs}"
            return ""

        problems = some_of(sets / f"{name}.jsonl", pytestconfig)
        assert await side_by_side(problems, try_one) == []


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
async def test_a_changed_function_is_accepted_only_where_plain_python_accepts_it(
    sets: Path, name: str, pytestconfig: pytest.Config
) -> None:
    unsafe = UnsafeSandbox()
    limits = RunLimits(seconds=1.0, memory=512 << 20, output=1 << 20)
    async with examining() as examiner:

        async def try_one(problem: Problem) -> str:
            quick = replace(problem, time_limit_s=1.0)
            test = problem.tests[-1]
            changed = [each for each in broken_perhaps(problem.solution) if each[0] != "newline"]
            for way, program in changed:
                trial = await last_trial(examiner, quick, program, [test])
                loaded = f"_own = {{'__name__': 'solution'}}\nexec({program!r}, _own)\n{_SHARED}"
                whole = f"{loaded}{problem.setup}\n{test.code}\n"
                async with unsafe.open(whole, limits) as session:
                    ran = await session.run(b"")
                right = ran.end_reason == "exit" and ran.status == 0
                # What takes about as long as it may is stopped now and then.
                slow = trial.verdict is CodeVerdict.TIME_LIMIT or ran.end_reason in ("cpu", "wall")
                close = slow and min(trial.seconds, ran.seconds) > 0.4
                if not close and right is not (trial.verdict is CodeVerdict.ACCEPTED):
                    return f"{problem.id}: {way}\n{trial}\n{ran}"
            return ""

        problems = some_of(sets / f"{name}.jsonl", pytestconfig)
        assert await side_by_side(problems, try_one) == []
