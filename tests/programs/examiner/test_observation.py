"""What programs do is seen input by input, within bounds, and needs no expected answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.programs.examiner.made_up import ADDING, adding, doubling

from autoreason.programs.assignment import Observation
from autoreason.programs.examiner.examiner import Examiner
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.inputs import make_inputs
from autoreason.programs.problems.problem import Problem, to_assignment
from autoreason.programs.sandbox.levels import find_level, open_sandbox

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(find_level().level == "none", reason="no sandbox works on this machine"),
]

DOUBLING = "def double(x):\n    return 2 * x\n"


async def told(examiner: Examiner, problem: Problem, program: str, *inputs: str) -> list[str]:
    """Values, and failures after an exclamation mark."""
    seen = (await examiner.observe(problem, program, inputs)).observations
    return [f"!{each.failure}" if each.failure else each.value for each in seen]


async def test_functions_are_seen_without_a_sandbox_too() -> None:
    sandbox = open_sandbox(unsafe=True)
    assert await told(Examiner(sandbox), doubling(), DOUBLING, "double(2)") == ["4"]
    await sandbox.close()


async def test_a_function_is_called_once_an_input(examiner: Examiner) -> None:
    seen = await told(examiner, doubling(), DOUBLING, "double(2)", "double('ab')", "double({})")
    assert seen == ["4", "'abab'", "!TypeError"]


async def test_a_program_reads_each_input_by_itself(examiner: Examiner) -> None:
    assert await told(examiner, adding(), ADDING, "1 2\n", "3 4 5\n", "x\n") == [
        "3",
        "12",
        "!ValueError",
    ]


async def test_answers_that_count_as_the_same_are_the_same(examiner: Examiner) -> None:
    other = "print(' ', *map(int, input().split()), sep='\\n')"
    ours = await examiner.observe(adding(), "print(input())", ["1 2\n"])
    assert ours == await examiner.observe(adding(), other, ["1 2\n"])


async def test_an_input_that_takes_too_long_is_not_the_end_of_the_others(
    examiner: Examiner,
) -> None:
    program = "def double(x):\n    while x == 3: pass\n    return 2 * x\n"
    seen = await told(examiner, doubling(), program, "double(2)", "double(3)", "double(4)")
    assert seen == ["4", "!time_limit", "8"]


async def test_who_is_always_slow_is_not_waited_for_again_and_again(examiner: Examiner) -> None:
    forever = "def double(x):\n    while True: pass\n"
    seen = await told(examiner, doubling(), forever, *(f"double({n})" for n in range(40)))
    assert seen == ["!time_limit"] * 40


@pytest.mark.parametrize(
    ("program", "failure"),
    [
        ("", "no_code"),
        ("def other(x): return x", "NameError"),
        ("import sys; sys.exit()", "runtime_error"),
        ("def double(x): raise SystemExit", "runtime_error"),
        ("def double(x): return [0] * 10**12", "MemoryError"),
        ("def double(x): return double(x)", "RecursionError"),
    ],
)
async def test_a_program_that_cannot_be_called_fails_on_every_input(
    examiner: Examiner, program: str, failure: str
) -> None:
    assert (
        await told(examiner, doubling(), program, "double(1)", "double(2)", "double(3)")
        == [f"!{failure}"] * 3
    )


async def test_a_program_that_replaces_built_in_functions_is_seen_all_the_same(
    examiner: Examiner,
) -> None:
    program = "def double(x): return 2 * x\nlen = sorted = str = map = repr = None\n"
    assert await told(examiner, doubling(), program, "double([1])") == ["[1, 1]"]


async def test_what_is_seen_takes_little_room(examiner: Examiner) -> None:
    seen = (await examiner.observe(doubling(), DOUBLING, ["double('x' * 10**6)"])).observations
    assert len(seen[0].value) < 300


async def test_right_programs_behave_alike_and_wrong_ones_do_not(
    examiner: Examiner, records: Path
) -> None:
    problems = read_problems(records / "problems" / "stdio.jsonl").problems
    raw = _raw(records)
    differ = 0
    for problem in problems[:8]:
        inputs = make_inputs(to_assignment(problem), 1, 10)
        right = await _seen(examiner, problem, problem.solution, inputs)
        renamed = f"import sys\n{problem.solution}\n# again\n"
        assert right == await _seen(examiner, problem, renamed, inputs)
        mutants = [each["code"] for each in raw[problem.id]["wrong_solutions"]]
        differ += any([await _seen(examiner, problem, each, inputs) != right for each in mutants])
    assert differ >= 0.75 * min(8, len(problems))


async def _seen(
    examiner: Examiner, problem: Problem, program: str, inputs: tuple[str, ...]
) -> tuple[Observation, ...]:
    return (await examiner.observe(problem, program, inputs)).observations


def _raw(records: Path) -> dict[str, dict[str, list[dict[str, str]]]]:
    lines = (records / "problems" / "stdio.jsonl").read_text().splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}
