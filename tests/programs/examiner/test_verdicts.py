"""What is told of a function that fails: what happened to it, and in whose lines."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.programs.examiner.made_up import doubling

from autoreason.programs.assignment import CodeVerdict, Example, Trial
from autoreason.programs.examiner.examiner import Examiner, judge_calls
from autoreason.programs.sandbox.base import ProgramRun, RunLimits
from autoreason.programs.sandbox.levels import find_level, open_sandbox
from autoreason.programs.sandbox.test_driver import DISCONNECTED

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(find_level().level == "none", reason="no sandbox works on this machine"),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def examiner() -> AsyncIterator[Examiner]:
    """One for all of these tests."""
    sandbox = open_sandbox(workers=2)
    yield Examiner(sandbox)
    await sandbox.close()


async def failure(examiner: Examiner, program: str, *tests: str, setup: str = "") -> Trial:
    """The first test that a program fails."""
    examined = await examiner.examine(doubling(*tests, setup=setup), program, "public")
    assert examined.failed is not None
    return examined.failed


LATE = ("over 1 s of processor time", "still running after ")
"""Which of the two it is depends on how busy the machine is."""
STOPPED: dict[str, str | tuple[str, ...]] = {
    "def double(x):\n    while True: pass": LATE,
    "import time\ndef double(x): time.sleep(60)": LATE[1],
    "def double(x): return bytearray(1 << 40)": "over 64 MB of memory",
    "x = []\nwhile True: x.append('x' * 9999)": "over 64 MB of memory",
    "def double(x):\n    while True: print('x' * 9999)": "printed far more than is expected",
}


@pytest.mark.parametrize("program", STOPPED)
async def test_a_function_that_was_stopped_is_told_which_limit_it_hit(
    examiner: Examiner, program: str
) -> None:
    assert (await failure(examiner, program)).detail.startswith(STOPPED[program])


RAISING = {
    "def double(x): return x / 0": "ZeroDivisionError: division by zero",
    "class Bad(Exception): pass\ndef double(x): raise Bad(x)": "solution.Bad: 3",
    "def double(): return 6": "TypeError: double() takes 0 positional arguments but 1 was given",
    "def double(x): return 'x' * (17 << 20)": "Exception: values of more than 16 MiB cannot be sent",
    "def double(x): raise ValueError('a\\nb c')": "it raised an exception",
    "class E(Exception): pass\nE.__module__ = 'the sandbox failed'\n"
    "def double(x): raise E": "it raised an exception",
    "def triple(x): return x * 3": "it defines no double",
    "def double(x): return undefined": "NameError: name 'undefined' is not defined",
}


@pytest.mark.parametrize("program", RAISING)
async def test_a_function_that_raises_is_told_what(examiner: Examiner, program: str) -> None:
    failed = await failure(examiner, program)
    assert (failed.verdict, failed.detail) == (CodeVerdict.RUNTIME_ERROR, RAISING[program])
    assert "autoreason" not in failed.trace


async def test_a_program_that_cannot_be_loaded_is_told_its_own_traceback(
    examiner: Examiner,
) -> None:
    failed = await failure(examiner, "def double(x):\n")
    assert failed.detail == "exit status 1"
    assert failed.trace.startswith('  File "solution.py", line 1\n')
    assert "IndentationError: expected an indented block" in failed.trace
    failed = await failure(examiner, "import sys\nsys.exit(3)")
    assert failed.detail == "exit status 3"
    failed = await failure(examiner, "import os\ndef double(x): os._exit(0)")
    assert failed.detail == "the program ended before it had answered"


async def test_memory_that_was_not_measured_is_unknown(examiner: Examiner) -> None:
    assert (await failure(examiner, "def double(x):\n")).memory is None


@pytest.mark.parametrize("broken", ["tests", "program"])
async def test_a_side_that_broke_is_the_sandboxs_failure_however_the_other_ended(
    broken: str,
) -> None:
    ends = {
        "tests": ProgramRun(
            end_reason="exit", status=DISCONNECTED, stdout=b'{"reason": "it is gone"}'
        ),
        "program": ProgramRun(end_reason="exit", status=1),
        broken: ProgramRun(end_reason="broken", detail="the server died"),
    }
    trial = judge_calls(ends["tests"], ends["program"], Example(code="f()"), RunLimits())
    assert trial.verdict is CodeVerdict.SANDBOX_ERROR
    assert trial.detail == "the sandbox failed: the server died"


async def test_lines_of_the_tests_are_not_called_lines_of_the_program(examiner: Examiner) -> None:
    failed = await failure(examiner, "def double(x): return x", "assert double(3) == 6")
    assert 'File "tests.py", line 1, in <module>\n    assert double(3) == 6\n' in failed.trace
    assert "solution.py" not in failed.trace
    within = "def check(f):\n    assert f(1) == 2\ncheck(double)"
    failed = await failure(examiner, "def double(x): return x", within, setup="import math")
    assert 'File "tests.py", line 3, in check\n    assert f(1) == 2\n' in failed.trace
    assert "solution.py" not in failed.trace
    long = f"numbers = {list(range(30_000))}\nassert double(numbers) == 1"
    failed = await failure(examiner, "def double(x): return 2", long, setup="import math")
    assert 'File "tests.py", line 2, in <module>\n    assert double(numbers) == 1\n' in failed.trace
    broken = "def fail(f):\n    assert f(1) == 2\n"
    long = f"numbers = {list(range(30_000))}\nfail(double)"
    failed = await failure(examiner, "def double(x): return 1", long, setup=broken)
    assert 'File "setup.py", line 2, in fail\n    assert f(1) == 2\n' in failed.trace
    assert failed.expected == "assert f(1) == 2"


async def test_what_was_expected_is_told_only_where_the_test_does_not_say_it_alone(
    examiner: Examiner,
) -> None:
    failed = await failure(examiner, "def double(x): return x", "assert double(3) == 6\n")
    assert (failed.input, failed.expected) == ("assert double(3) == 6\n", "")
    both = "assert double(0) == 0\nassert double(3) == 6"
    failed = await failure(examiner, "def double(x): return x", both)
    assert failed.expected == "assert double(3) == 6"


async def test_a_call_without_an_end_is_told_as_one(examiner: Examiner) -> None:
    failed = await failure(examiner, "import os\ndef double(x): os._exit(1)")
    assert failed.got == "double(3) did not return"
    failed = await failure(examiner, "def double(x): pass")
    assert failed.got == "double(3) returned None"


async def test_a_long_assert_is_told_whole_once_and_short_in_a_row(examiner: Examiner) -> None:
    test = f"assert double({'1 + ' * 200}1) == {'2 + ' * 200}2"
    failed = await failure(examiner, "def double(x): return [x] * 200", test)
    assert failed.input == test
    assert failed.difference.startswith("does not hold: assert double(1 + 1 +")
    assert len(failed.difference) < 250
