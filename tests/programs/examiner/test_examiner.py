"""Every program gets the right verdict, made outside the sandbox, and private tests stay private."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from tests.programs.examiner.made_up import ADDING, SECRET, adding, doubling

from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import Examiner
from autoreason.programs.sandbox.base import Level, ProgramRole, ProgramRun, RunLimits, Session
from autoreason.programs.sandbox.levels import find_level

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(find_level().level == "none", reason="no sandbox works on this machine"),
]


LATE = """
import io, os
class Late(io.IOBase):
    def __init__(self):
        self.text = ""
        self.put = lambda text: self.add(text)
    def add(self, text): self.text += text
    def flush(self):
        written, self.text = self.text, ""
        os.write(1, written.encode())
out = Late()
out.put(str(sum(map(int, input().split()))))
"""
"""Writes when Python lets go of its globals, as many programs of contests do."""

PROGRAMS = {
    CodeVerdict.ACCEPTED: (
        ADDING,
        "import sys\na, b = sys.stdin.buffer.read().split()\nprint(int(a) + int(b), end='')",
        "a, b = map(int, input().split())\nprint(' ', a + b, '\\n\\n')",
        ADDING + "\nexit()",
        LATE,
    ),
    CodeVerdict.WRONG_ANSWER: (
        "print(4)",
        "pass",
        ADDING + "\nprint(1)",
        "raise SystemExit",
    ),
    CodeVerdict.RUNTIME_ERROR: (
        "print(1 / 0)",
        "print(",
        ADDING + "\nraise SystemExit(1)",
        ADDING + "\nimport os, sys\nsys.stdout.flush()\nos._exit(3)",
        ADDING + "\nimport os, sys\nsys.stdout.flush()\nos.kill(os.getpid(), 9)",
        ADDING + "\ndef f(): f()\nf()",
        "import numpy_is_not_here",
        "x = '" + "x" * 70_000 + "'",
        "\0",
    ),
    CodeVerdict.TIME_LIMIT: ("while True: pass", "import time\ntime.sleep(60)"),
    CodeVerdict.MEMORY_LIMIT: (
        "x = bytearray(1 << 30)",
        "x = []\nwhile True: x.append('x' * 9999)",
    ),
    CodeVerdict.OUTPUT_LIMIT: ("while True: print('x' * 1000)", ADDING + "\nprint(' ' * 70_000)"),
    CodeVerdict.NO_CODE: ("", " \n\t\n"),
}


@pytest.mark.parametrize(
    ("verdict", "program"),
    [(verdict, program) for verdict, programs in PROGRAMS.items() for program in programs],
)
async def test_a_program_gets_the_right_verdict(
    examiner: Examiner, verdict: CodeVerdict, program: str
) -> None:
    examined = await examiner.examine(adding(), program, "public")
    assert examined.verdict is verdict, examined
    assert examined.level == examiner.level


FUNCTIONS = {
    CodeVerdict.ACCEPTED: ("def double(x): return x * 2",),
    CodeVerdict.WRONG_ANSWER: ("def double(x): return x", "def double(x): pass"),
    CodeVerdict.RUNTIME_ERROR: (
        "def double(x): return x / 0",
        "def triple(x): return x * 3",
        "def double(x):\n",
        "import os\ndef double(x): os._exit(0)",
        "import os\nos.write(3, b'nonsense')",
        "def double(x): return 'x' * (17 << 20)",
    ),
    CodeVerdict.TIME_LIMIT: (
        "def double(x):\n    while True: pass",
        "import time\ndef double(x): time.sleep(60)",
        "from itertools import count\nclass Endless:\n    def __iter__(s): return count()\n"
        "    def __len__(s):\n        while True: pass\ndef double(x): return len(Endless())",
    ),
    CodeVerdict.MEMORY_LIMIT: ("def double(x): return bytearray(1 << 40)",),
    CodeVerdict.OUTPUT_LIMIT: ("def double(x):\n    while True: print('x' * 10_000)",),
}


@pytest.mark.parametrize(
    ("verdict", "program"),
    [(verdict, program) for verdict, programs in FUNCTIONS.items() for program in programs],
)
async def test_a_function_gets_the_right_verdict(
    examiner: Examiner, verdict: CodeVerdict, program: str
) -> None:
    examined = await examiner.examine(doubling(), program, "public")
    assert examined.verdict is verdict, examined


async def test_judging_stops_at_the_first_test_that_fails_unless_every_test_is_wanted(
    examiner: Examiner,
) -> None:
    problem = adding(
        public_tests=tuple(Example(input=f"{n} 0", output=str(n)) for n in range(1, 6))
    )
    program = "n = int(input().split()[0])\nprint(n if n != 2 else 9)"
    short = await examiner.examine(problem, program, "public")
    assert (short.passed, short.run, short.total) == (1, 2, 5)
    whole = await examiner.examine(problem, program, "public", every=True)
    assert (whole.passed, whole.run, whole.total) == (4, 5, 5)
    assert whole.verdict is CodeVerdict.WRONG_ANSWER
    assert [trial.number for trial in whole.trials] == [1, 2, 3, 4, 5]


async def test_a_failure_on_a_public_test_tells_all_that_helps(examiner: Examiner) -> None:
    program = "import sys\nprint('note', file=sys.stderr)\na, b = input().split()\nprint(a + b)"
    failed = (await examiner.examine(adding(), program, "public")).failed
    assert failed is not None
    assert (failed.input, failed.expected, failed.got) == ("1 2\n", "3\n", "12\n")
    assert failed.difference == "line 1, token 1: expected 3, got 12"
    assert failed.trace == "note\n"
    assert failed.memory
    assert failed.memory > 1_000_000
    failed = (await examiner.examine(adding(), "x = 5\nprint(x.y)", "public")).failed
    assert failed is not None
    assert "    print(x.y)\n" in failed.trace
    assert failed.trace.endswith("AttributeError: 'int' object has no attribute 'y'\n")
    failed = (await examiner.examine(doubling(), "def double(x): return x + 1", "public")).failed
    assert failed is not None
    assert failed.difference == "does not hold: assert double(3) == 6 (double(3) returned 4)"


async def test_a_function_is_judged_by_its_values_however_much_it_prints(
    examiner: Examiner,
) -> None:
    program = "def double(x):\n    print('x' * 300_000)\n    return 2 * x"
    examined = await examiner.examine(doubling(), program, "public")
    assert examined.verdict is CodeVerdict.ACCEPTED, examined
    examined = await examiner.examine(doubling(), program.replace("2 *", "3 *"), "public")
    assert examined.verdict is CodeVerdict.WRONG_ANSWER, examined


async def test_while_a_long_answer_is_compared_others_are_served(examiner: Examiner) -> None:
    long = " ".join(f"{n}.25" for n in range(150_000))
    problem = adding(
        public_tests=(Example(input="1", output=long),), checker="float", time_limit_s=20
    )
    program = "print(*(f'{n}.2500000001' for n in range(150_000)))"
    task = asyncio.create_task(examiner.examine(problem, program, "public"))
    longest, last = 0.0, time.thread_time()
    while not task.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
    assert (await task).verdict is CodeVerdict.ACCEPTED
    assert longest < 0.2


async def test_of_long_outputs_the_part_around_the_first_difference_is_told(
    examiner: Examiner,
) -> None:
    expected = " ".join(map(str, range(20_000)))
    problem = adding(public_tests=(Example(input="1", output=expected),))
    program = "print(*[n if n != 15_000 else 'here' for n in range(20_000)])"
    failed = (await examiner.examine(problem, program, "public")).failed
    assert failed is not None
    assert "14999 here 15001" in failed.got
    assert "14999 15000 15001" in failed.expected
    assert len(failed.got) < 2_200
    assert "characters left out" in failed.got


TELLING = (
    "print(input()[::-1])",
    "import sys\nsys.exit(input())",
    "raise ValueError(input())",
    "while True: print(input())",
)


@pytest.mark.parametrize("program", TELLING)
async def test_of_private_tests_nothing_is_told_but_verdict_time_and_memory(
    examiner: Examiner, program: str
) -> None:
    examined = await examiner.examine(adding(), program, "private", every=True)
    told = msgspec.json.encode(examined).decode()
    assert SECRET not in told
    assert SECRET[::-1] not in told
    for trial in examined.trials:
        texts = (trial.input, trial.expected, trial.got, trial.difference, trial.trace)
        assert not any(texts)
        assert not trial.detail


async def test_a_test_that_cannot_be_held_is_no_result(examiner: Examiner) -> None:
    problem = doubling("assert double(lambda: 1) is None")
    examined = await examiner.examine(problem, "def double(x): return None", "public")
    assert examined.verdict is CodeVerdict.SANDBOX_ERROR
    assert examined.failed is not None
    assert "a function cannot be passed to the program" in examined.failed.detail


class Counting:
    """A sandbox that runs nothing, and counts how often it is asked to."""

    level: Level = "none"

    def __init__(self, *ends: ProgramRun) -> None:
        self.ends = list(ends)
        self.runs = 0
        self.busy = self.busiest = 0

    @asynccontextmanager
    async def open(
        self,
        source: str,  # noqa: ARG002
        limits: RunLimits,  # noqa: ARG002
        *,
        role: ProgramRole = "program",  # noqa: ARG002
    ) -> AsyncIterator[Session]:
        """Itself."""
        yield self

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:  # noqa: ARG002
        """The next end that was prepared; the last stays."""
        self.runs += 1
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        await asyncio.sleep(0.01)
        self.busy -= 1
        return self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]

    async def close(self) -> None:
        """Nothing."""


RIGHT = ProgramRun(end_reason="exit", stdout=b"3\n")


async def test_different_programs_are_run_side_by_side() -> None:
    sandbox = Counting(RIGHT)
    examiner = Examiner(sandbox)
    await asyncio.gather(*(examiner.examine(adding(), f"print({n})", "public") for n in range(5)))
    assert sandbox.busiest > 1


async def test_a_broken_run_is_tried_once_more_and_then_is_no_result() -> None:
    broken = ProgramRun(end_reason="broken", detail="the server died")
    problem = adding(public_tests=(Example(input="1 2", output="3"),))
    once = Counting(broken, RIGHT)
    examined = await Examiner(once).examine(problem, "x", "public")
    assert (examined.verdict, once.runs) == (CodeVerdict.ACCEPTED, 2)
    always = Counting(broken)
    examined = await Examiner(always).examine(problem, "x", "public")
    assert (examined.verdict, always.runs) == (CodeVerdict.SANDBOX_ERROR, 2)
    assert examined.failed is not None
    assert examined.failed.detail == "the sandbox failed: the server died"


async def test_a_program_interrupted_in_its_test_leaves_nothing_behind() -> None:
    sandbox = Counting(RIGHT)
    examiner = Examiner(sandbox)
    task = asyncio.create_task(examiner.examine(adding(), "x", "public"))
    await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    examined = await examiner.examine(adding(), "x", "public")
    assert examined.run == 2
