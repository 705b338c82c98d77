"""Every program gets the right verdict with what explains it, and private tests stay private."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.programs.examiner.made_up import ADDING, SECRET, adding, doubling

from autoreason.programs.assignment import CodeVerdict, Example, Observation, Trial, Which
from autoreason.programs.examiner.examiner import (
    REASONS,
    ProgramExaminer,
    end_of_text,
    excerpt,
    judge_calls,
    redact,
    summarize,
)
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.inputs import make_inputs
from autoreason.programs.problems.problem import NO_CHECKER, Problem, to_assignment
from autoreason.programs.sandbox.base import Level, ProgramRole, ProgramRun, RunLimits, Session
from autoreason.programs.sandbox.levels import find_level, open_sandbox
from autoreason.programs.sandbox.test_driver import DISCONNECTED

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
    CodeVerdict.WRONG_ANSWER: ("print(4)", "pass", ADDING + "\nprint(1)", "raise SystemExit"),
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
    examiner: ProgramExaminer, verdict: CodeVerdict, program: str
) -> None:
    # A machine that stalls must not make another verdict one about time.
    problem = adding(time_limit_s=0.5 if verdict is CodeVerdict.TIME_LIMIT else 30)
    examined = await examiner.examine(problem, program, "public")
    assert examined.verdict is verdict, examined
    assert examined.level == examiner.level


OUT_OF_TIME = ("over 0.5 s of processor time", "still running after ")
"""Which of the two it is depends on how busy the machine is."""
FUNCTIONS: dict[CodeVerdict, dict[str, str | tuple[str, ...]]] = {
    CodeVerdict.ACCEPTED: {"def double(x): return x * 2": ""},
    CodeVerdict.WRONG_ANSWER: {"def double(x): return x": "", "def double(x): pass": ""},
    CodeVerdict.RUNTIME_ERROR: {
        "def double(x): return x / 0": "ZeroDivisionError: division by zero",
        "class Bad(Exception): pass\ndef double(x): raise Bad(x)": "solution.Bad: 3",
        "def double(): return 6": "TypeError: double() takes 0 positional arguments but 1 was given",
        "def double(x): return 'x' * (17 << 20)": "Exception: values of more than 16 MiB cannot be",
        "def double(x): raise ValueError('a\\nb c')": "it raised an exception",
        "class E(Exception): pass\nE.__module__ = 'the sandbox failed'\n"
        "def double(x): raise E": "it raised an exception",
        "def triple(x): return x * 3": "it defines no double",
        "def double(x): return undefined": "NameError: name 'undefined' is not defined",
        "def double(x):\n": "exit status 1",
        "import sys\nsys.exit(3)": "exit status 3",
        "import os\ndef double(x): os._exit(0)": "the program ended before it had answered",
        "import os\nos.write(3, b'nonsense')": "the program sent a message too large",
    },
    CodeVerdict.TIME_LIMIT: {
        "def double(x):\n    while True: pass": OUT_OF_TIME,
        "import time\ndef double(x): time.sleep(60)": OUT_OF_TIME[1],
        "from itertools import count\nclass Endless:\n    def __iter__(s): return count()\n"
        "    def __len__(s):\n        while True: pass\ndef double(x): return len(Endless())": "",
    },
    CodeVerdict.MEMORY_LIMIT: {
        "def double(x): return bytearray(1 << 40)": "over 64 MB of memory",
        "x = []\nwhile True: x.append('x' * 9999)": "over 64 MB of memory",
    },
    CodeVerdict.OUTPUT_LIMIT: {
        "def double(x):\n    while True: print('x' * 10_000)": "printed far more than is expected"
    },
}


@pytest.mark.parametrize(
    ("verdict", "program"),
    [(verdict, program) for verdict, programs in FUNCTIONS.items() for program in programs],
)
async def test_a_function_gets_the_right_verdict_and_the_reason(
    examiner: ProgramExaminer, verdict: CodeVerdict, program: str
) -> None:
    examined = await examiner.examine(doubling(), program, "public")
    assert examined.verdict is verdict, examined
    failed = examined.failed
    assert (failed.detail if failed else "").startswith(FUNCTIONS[verdict][program])
    assert "autoreason" not in (failed.trace if failed else "")


async def first_failure(
    examiner: ProgramExaminer, problem: Problem, program: str, which: Which = "public"
) -> Trial:
    examined = await examiner.examine(problem, program, which)
    assert examined.failed is not None
    assert examined.verdict is examined.failed.verdict
    return examined.failed


async def test_judging_stops_at_the_first_test_that_fails_unless_every_test_is_wanted(
    examiner: ProgramExaminer,
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


async def test_a_failure_on_a_public_test_tells_all_that_helps(examiner: ProgramExaminer) -> None:
    program = "import sys\nprint('note', file=sys.stderr)\na, b = input().split()\nprint(a + b)"
    failed = await first_failure(examiner, adding(), program)
    assert (failed.input, failed.expected, failed.got) == ("1 2\n", "3\n", "12\n")
    assert failed.difference == "line 1, token 1: expected 3, got 12"
    assert failed.trace == "note\n"
    assert failed.memory
    assert failed.memory > 1_000_000
    failed = await first_failure(examiner, adding(), "x = 5\nprint(x.y)")
    assert "    print(x.y)\n" in failed.trace
    assert failed.trace.endswith("AttributeError: 'int' object has no attribute 'y'\n")
    failed = await first_failure(examiner, doubling(), "def double(x): return x + 1")
    assert failed.difference == "does not hold: assert double(3) == 6 (double(3) returned 4)"


async def test_a_function_is_judged_by_its_values_however_much_it_prints(
    examiner: ProgramExaminer,
) -> None:
    program = "def double(x):\n    print('x' * 300_000)\n    return 2 * x"
    examined = await examiner.examine(doubling(), program, "public")
    assert examined.verdict is CodeVerdict.ACCEPTED, examined
    examined = await examiner.examine(doubling(), program.replace("2 *", "3 *"), "public")
    assert examined.verdict is CodeVerdict.WRONG_ANSWER, examined


async def test_while_a_long_answer_is_compared_others_are_served(examiner: ProgramExaminer) -> None:
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
    examiner: ProgramExaminer,
) -> None:
    expected = " ".join(map(str, range(20_000)))
    problem = adding(public_tests=(Example(input="1", output=expected),))
    program = "print(*[n if n != 15_000 else 'here' for n in range(20_000)])"
    failed = await first_failure(examiner, problem, program)
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
    examiner: ProgramExaminer, program: str
) -> None:
    examined = await examiner.examine(adding(), program, "private", every=True)
    sent = msgspec.json.encode(examined).decode()
    assert SECRET not in sent
    assert SECRET[::-1] not in sent
    for trial in examined.trials:
        texts = (trial.input, trial.expected, trial.got, trial.difference, trial.trace)
        assert not any(texts)
        assert not trial.detail


async def test_a_test_that_cannot_be_held_is_no_result(examiner: ProgramExaminer) -> None:
    problem = doubling("assert double(lambda: 1) is None")
    failed = await first_failure(examiner, problem, "def double(x): return None")
    assert failed.verdict is CodeVerdict.SANDBOX_ERROR
    assert "a function cannot be passed to the program" in failed.detail


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
        yield self

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:  # noqa: ARG002
        """The next end that was prepared; the last stays."""
        self.runs += 1
        self.busy += 1
        self.busiest = max(self.busy, self.busiest)
        await asyncio.sleep(0.01)
        self.busy -= 1
        return self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]

    async def close(self) -> None: ...


RIGHT = ProgramRun(end_reason="exit", stdout=b"3\n")


async def test_different_programs_are_run_side_by_side() -> None:
    sandbox = Counting(RIGHT)
    examiner = ProgramExaminer(sandbox)
    await asyncio.gather(*(examiner.examine(adding(), f"print({n})", "public") for n in range(5)))
    assert sandbox.busiest > 1


async def test_a_broken_run_is_tried_once_more_and_an_interrupted_one_leaves_nothing() -> None:
    broken = ProgramRun(end_reason="broken", detail="the server died")
    problem = adding(public_tests=(Example(input="1 2", output="3"),))
    once = Counting(broken, RIGHT)
    examined = await ProgramExaminer(once).examine(problem, "x", "public")
    assert (examined.verdict, once.runs) == (CodeVerdict.ACCEPTED, 2)
    always = Counting(broken)
    examined = await ProgramExaminer(always).examine(problem, "x", "public")
    assert (examined.verdict, always.runs) == (CodeVerdict.SANDBOX_ERROR, 2)
    assert examined.failed is not None
    assert examined.failed.detail == "the sandbox failed: the server died"
    sandbox = Counting(RIGHT)
    examiner = ProgramExaminer(sandbox)
    task = asyncio.create_task(examiner.examine(adding(), "x", "public"))
    await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    examined = await examiner.examine(adding(), "x", "public")
    assert examined.run == 2


async def failure(examiner: ProgramExaminer, program: str, *tests: str, setup: str = "") -> Trial:
    return await first_failure(examiner, doubling(*tests, setup=setup), program)


async def test_what_cannot_be_loaded_or_does_not_return_is_told(examiner: ProgramExaminer) -> None:
    failed = await failure(examiner, "def double(x):\n")
    assert failed.memory is None
    assert failed.trace.startswith('  File "solution.py", line 1\n')
    assert "IndentationError: expected an indented block" in failed.trace
    failed = await failure(examiner, "import os\ndef double(x): os._exit(1)")
    assert failed.got == "double(3) did not return"
    failed = await failure(examiner, "def double(x): pass")
    assert failed.got == "double(3) returned None"


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


async def test_lines_of_the_tests_are_not_called_lines_of_the_program(
    examiner: ProgramExaminer,
) -> None:
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


async def test_what_was_expected_is_told_where_the_test_does_not_say_it_and_a_long_one_short(
    examiner: ProgramExaminer,
) -> None:
    failed = await failure(examiner, "def double(x): return x", "assert double(3) == 6\n")
    assert (failed.input, failed.expected) == ("assert double(3) == 6\n", "")
    both = "assert double(0) == 0\nassert double(3) == 6"
    failed = await failure(examiner, "def double(x): return x", both)
    assert failed.expected == "assert double(3) == 6"
    test = f"assert double({'1 + ' * 200}1) == {'2 + ' * 200}2"
    failed = await failure(examiner, "def double(x): return [x] * 200", test)
    assert failed.input == test
    assert failed.difference.startswith("does not hold: assert double(1 + 1 +")
    assert len(failed.difference) < 250


@given(st.text(max_size=300), st.integers(0, 300), st.integers(10, 100))
async def test_an_excerpt_holds_the_place_that_matters_and_counts_what_it_left_out(
    text: str, at: int, max_length: int
) -> None:
    at = min(at, max(0, len(text) - 1))
    cut = excerpt(text, at, max_length)
    if len(text) <= max_length:
        assert cut == text
        return
    kept = re.sub(r"\A\[… [\d,]+ characters left out …\]\n", "", cut)
    kept = re.sub(r"\n\[… [\d,]+ characters left out …\]\Z", "", kept)
    assert kept in text
    assert text[at] in kept
    left_out = re.findall(r"\[… ([\d,]+) characters left out …\]", cut)
    assert sum(int(number.replace(",", "")) for number in left_out) + max_length >= len(text)


async def test_an_ending_begins_with_a_whole_line() -> None:
    lines = [f"line {number}" for number in range(1000)]
    kept = end_of_text("\n".join(lines), 100)
    head, *rest = kept.splitlines()
    assert head.startswith("[… ")
    assert rest == lines[-len(rest) :]
    assert end_of_text("short") == "short"
    assert end_of_text("x" * 200, 50).endswith("x" * 50)


async def test_whatever_is_in_a_private_trial_is_redacted() -> None:
    filled = dict.fromkeys(Trial.__struct_fields__[5:], SECRET)
    full = Trial(number=1, verdict=CodeVerdict.SANDBOX_ERROR, seconds=1, wall=2, memory=3, **filled)
    redacted = redact(summarize([full], "private", 1, "landlock")).trials[0]
    assert redacted == Trial(
        number=1, verdict=CodeVerdict.SANDBOX_ERROR, seconds=1, wall=2, memory=3
    )
    public = summarize([full], "public", 1, "landlock")
    assert redact(public) == public
    for reason in REASONS:
        known = replace(full, detail=f"{reason}: {SECRET}")
        assert redact(summarize([known], "private", 1, "none")).trials[0].detail == reason


ANY_ORDER = (
    "def check(input, output, expected):\n"
    "    given, wanted = output.split(), expected.split()\n"
    "    if len(given) != len(wanted): return f'{len(given)} numbers instead of {len(wanted)}'\n"
    "    return sorted(given) == sorted(wanted)\n"
)


def in_any_order(checker_program: str) -> Problem:
    return adding(
        checker="special",
        checker_program=checker_program,
        public_tests=(Example(input="x", output="1 2 3"),),
        private_tests=(Example(input=f"x {SECRET}", output="1 2 3"),),
    )


@pytest.mark.parametrize(
    ("program", "verdict", "said"),
    [
        ("print(3, 2, 1)", "accepted", ""),
        ("print(3, 2, 2)", "wrong_answer", "the checker refused this answer"),
        ("print(3)", "wrong_answer", "1 numbers instead of 3"),
        ("print(3, 2, 1)\nexit(1)", "runtime_error", ""),
    ],
)
async def test_a_checker_program_decides_where_several_answers_are_right(
    examiner: ProgramExaminer, program: str, verdict: str, said: str
) -> None:
    examined = await examiner.examine(in_any_order(ANY_ORDER), program, "public")
    assert examined.verdict == verdict
    assert (examined.failed.difference if examined.failed else "") == said


@pytest.mark.parametrize(
    ("checker", "detail"),
    [
        ("def check(input, output, expected): return 1 / 0", "ZeroDivisionError: division by zero"),
        ("def check(input, output, expected): return None", "it returned None"),
        ("def check(input, output, expected): return 1", "it returned 1"),
        ("def check(input, output, expected): return ''", "it returned "),
        ("import os\ndef check(input, output, expected): os._exit(0)", "it returned None"),
        ("raise SystemExit(2)\ndef check(input, output, expected): return True", ""),
        ("def check(input, output, expected): raise ValueError(input)", "ValueError: x"),
        ("def check(input, output, expected): return bytearray(1 << 40)", "1,024 MB"),
        (
            "def check(input, output, expected):\n while True: print('x' * 9999)",
            "printed far more than is expected",
        ),
    ],
)
async def test_a_checker_that_fails_is_no_result_and_says_why(
    examiner: ProgramExaminer, checker: str, detail: str
) -> None:
    problem = in_any_order(checker)
    failed = await first_failure(examiner, problem, "print(1)")
    assert failed.verdict is CodeVerdict.SANDBOX_ERROR
    assert failed.detail.startswith("the checker ")
    # What a checker says as it falls is for the eyes of the problem's owner.
    [trial] = [each async for each in examiner.run_tests(problem, "print(1)", problem.public_tests)]
    assert detail in trial.detail
    assert "ValueError" not in failed.detail
    assert (await first_failure(examiner, problem, "print(1)", "private")).detail in REASONS


async def test_characters_that_are_none_can_be_told_of(examiner: ProgramExaminer) -> None:
    raising = 'def double(n): raise ValueError("\\ud800")'
    examined = await examiner.examine(doubling("assert double(1) == 2"), raising, "public")
    assert examined.verdict is CodeVerdict.RUNTIME_ERROR
    assert msgspec.json.encode(examined)
    checker = "import json\ndef check(input, output, expected): return f'got {json.loads(output)}'"
    examined = await examiner.examine(in_any_order(checker), "print('\"\\\\ud800\"')", "public")
    assert examined.verdict is CodeVerdict.WRONG_ANSWER
    assert msgspec.json.encode(examined)


@pytest.mark.parametrize(
    ("checker", "placeholder"),
    [
        ("return sum(map(int, output.split())) == 6", "1 2 3"),
        ("return bool(output) and sum(map(int, output.split())) == 6", ""),
        ("return sum(map(int, output.split())) == 6 if output else 'nothing printed'", ""),
    ],
)
async def test_an_answer_alone_in_making_the_checker_fail_is_wrong(
    examiner: ProgramExaminer, checker: str, placeholder: str
) -> None:
    problem = adding(
        checker="special",
        checker_program=f"def check(input, output, expected): {checker}",
        public_tests=(Example(input="x", output=placeholder),),
    )
    failed = await first_failure(examiner, problem, "print('junk')")
    assert failed.verdict is CodeVerdict.WRONG_ANSWER
    assert failed.difference == "the checker cannot read this answer"


async def test_without_a_checker_no_answer_is_wrong_and_what_one_prints_is_not_its_verdict(
    examiner: ProgramExaminer,
) -> None:
    problem = adding(checker="special")
    assert (await examiner.examine(problem, ADDING, "public")).verdict is CodeVerdict.ACCEPTED
    failed = await first_failure(examiner, problem, "print(0)")
    assert failed.verdict is CodeVerdict.SANDBOX_ERROR
    assert (failed.difference, failed.detail) == ("", NO_CHECKER)
    assert (await first_failure(examiner, problem, "print(0)", "private")).detail == NO_CHECKER
    crashed = await first_failure(examiner, problem, "print(1 / 0)")
    assert crashed.verdict is CodeVerdict.RUNTIME_ERROR
    checker = (
        "print('true')\ndef check(input, output, expected):\n    print('true')\n    return False"
    )
    examined = await examiner.examine(in_any_order(checker), "print('true')", "public")
    assert examined.verdict is CodeVerdict.WRONG_ANSWER


DOUBLING = "def double(x):\n    return 2 * x\n"


async def observed(
    examiner: ProgramExaminer, problem: Problem, program: str, *inputs: str
) -> list[str]:
    """Values, and failures after an exclamation mark."""
    seen = (await examiner.observe(problem, program, inputs)).observations
    return [f"!{each.failure}" if each.failure else each.value for each in seen]


async def test_functions_are_seen_without_a_sandbox_too() -> None:
    sandbox = open_sandbox(unsafe=True)
    assert await observed(ProgramExaminer(sandbox), doubling(), DOUBLING, "double(2)") == ["4"]
    await sandbox.close()


async def test_a_program_reads_each_input_by_itself_and_a_function_is_called_once_an_input(
    examiner: ProgramExaminer,
) -> None:
    seen = await observed(examiner, doubling(), DOUBLING, "double(2)", "double('ab')", "double({})")
    assert seen == ["4", "'abab'", "!TypeError"]
    assert await observed(examiner, adding(), ADDING, "1 2\n", "3 4 5\n", "x\n") == [
        "3",
        "12",
        "!ValueError",
    ]


async def test_answers_that_count_as_the_same_are_the_same(examiner: ProgramExaminer) -> None:
    other = "print(' ', *map(int, input().split()), sep='\\n')"
    ours = await examiner.observe(adding(), "print(input())", ["1 2\n"])
    assert ours == await examiner.observe(adding(), other, ["1 2\n"])


async def test_an_input_that_takes_too_long_is_not_the_end_of_the_others(
    examiner: ProgramExaminer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoreason.programs.examiner.examiner.MAX_SECONDS", 0.3)
    program = "def double(x):\n    while x == 3: pass\n    return 2 * x\n"
    seen = await observed(examiner, doubling(), program, "double(2)", "double(3)", "double(4)")
    assert seen == ["4", "!time_limit", "8"]
    forever = "def double(x):\n    while True: pass\n"
    seen = await observed(examiner, doubling(), forever, *(f"double({n})" for n in range(40)))
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
    examiner: ProgramExaminer, program: str, failure: str
) -> None:
    assert (
        await observed(examiner, doubling(), program, "double(1)", "double(2)", "double(3)")
        == [f"!{failure}"] * 3
    )


async def test_a_program_that_replaces_built_ins_or_returns_much_is_seen_all_the_same(
    examiner: ProgramExaminer,
) -> None:
    program = "def double(x): return 2 * x\nlen = sorted = str = map = repr = None\n"
    assert await observed(examiner, doubling(), program, "double([1])") == ["[1, 1]"]
    seen = (await examiner.observe(doubling(), DOUBLING, ["double('x' * 10**6)"])).observations
    assert len(seen[0].value) < 300


async def test_right_programs_behave_alike_and_wrong_ones_do_not(
    examiner: ProgramExaminer, records: Path
) -> None:
    problems = read_problems(records / "problems" / "stdio.jsonl").problems
    raw = _raw(records)
    differ = 0
    for problem in problems[:4]:
        inputs = make_inputs(to_assignment(problem), 1, 10)
        right = await _seen(examiner, problem, problem.solution, inputs)
        renamed = f"import sys\n{problem.solution}\n# again\n"
        assert right == await _seen(examiner, problem, renamed, inputs)
        mutants = [each["code"] for each in raw[problem.id]["wrong_solutions"]]
        differ += any([await _seen(examiner, problem, each, inputs) != right for each in mutants])
    assert differ >= 0.75 * min(4, len(problems))


async def _seen(
    examiner: ProgramExaminer, problem: Problem, program: str, inputs: tuple[str, ...]
) -> tuple[Observation, ...]:
    return (await examiner.observe(problem, program, inputs)).observations


def _raw(records: Path) -> dict[str, dict[str, list[dict[str, str]]]]:
    lines = (records / "problems" / "stdio.jsonl").read_text().splitlines()
    return {each["id"]: each for each in map(json.loads, lines)}
