"""The benchmark of the sandbox compares what it says it compares."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator

import pytest
from benchmarks.sandbox import rate

from autoreason.programs.assignment import Example
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.base import Sandbox
from autoreason.programs.sandbox.levels import find_level, open_sandbox

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_level().level == "none", reason="no sandbox works here"
)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = open_sandbox(workers=1)
    yield opened
    await opened.close()


def problem(solution: str) -> Problem:
    """One that asks for the sum of two numbers."""
    tests = (Example(input="1 2\n", output="3"), Example(input="5 6\n", output="11"))
    return Problem(id="sum", statement="Add.", public_tests=tests, solution=solution)


@pytest.mark.parametrize("ours_first", [True, False])
async def test_both_sides_hold_the_same_tests(sandbox: Sandbox, ours_first: bool) -> None:
    right = problem("print(sum(map(int, input().split())))")
    held = await rate(sandbox, right, ours_first=ours_first)
    assert held.tests == 2
    assert min(held.ours, held.reference, held.bare) > 0
    assert not held.refused
    assert not held.different


async def test_what_is_judged_otherwise_is_reported(sandbox: Sandbox) -> None:
    sized = problem("import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split())))")
    held = await rate(sandbox, sized, ours_first=True)
    assert not held.refused
    assert held.different == ("accepted, not wrong_answer",) * 2
    held = await rate(sandbox, problem("print(3)"), ours_first=True)
    assert (held.refused, held.different) == (("wrong_answer",), ())
