"""Where several answers are right a checker program decides, and one that fails decides nothing."""

from __future__ import annotations

import msgspec
import pytest
from tests.programs.examiner.made_up import ADDING, SECRET, adding, doubling

from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import REASONS, Examiner
from autoreason.programs.problems.problem import NO_CHECKER, Problem
from autoreason.programs.sandbox.levels import find_level

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(find_level().level == "none", reason="no sandbox works on this machine"),
]
ANY_ORDER = (
    "def check(input, output, expected):\n"
    "    given, wanted = output.split(), expected.split()\n"
    "    if len(given) != len(wanted): return f'{len(given)} numbers instead of {len(wanted)}'\n"
    "    return sorted(given) == sorted(wanted)\n"
)


def in_any_order(checker_program: str) -> Problem:
    """A problem whose answers may come in any order."""
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
    examiner: Examiner, program: str, verdict: str, said: str
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
            "printed far too much",
        ),
    ],
)
async def test_a_checker_that_fails_is_no_result_and_says_why(
    examiner: Examiner, checker: str, detail: str
) -> None:
    problem = in_any_order(checker)
    examined = await examiner.examine(problem, "print(1)", "public")
    assert examined.verdict is CodeVerdict.SANDBOX_ERROR
    assert examined.failed is not None
    assert examined.failed.detail.startswith("the checker ")
    # What a checker says as it falls is for the eyes of whoever owns the problem.
    [trial] = [each async for each in examiner.run_tests(problem, "print(1)", problem.public_tests)]
    assert detail in trial.detail
    assert "ValueError" not in examined.failed.detail
    hidden = await examiner.examine(problem, "print(1)", "private")
    assert hidden.failed is not None
    assert hidden.failed.detail in REASONS


async def test_characters_that_are_none_can_be_told_of(examiner: Examiner) -> None:
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
    examiner: Examiner, checker: str, placeholder: str
) -> None:
    problem = adding(
        checker="special",
        checker_program=f"def check(input, output, expected): {checker}",
        public_tests=(Example(input="x", output=placeholder),),
    )
    examined = await examiner.examine(problem, "print('junk')", "public")
    assert examined.verdict is CodeVerdict.WRONG_ANSWER
    assert examined.failed is not None
    assert examined.failed.difference == "the checker cannot read this answer"


async def test_what_a_checker_prints_is_not_its_verdict(examiner: Examiner) -> None:
    checker = (
        "print('true')\ndef check(input, output, expected):\n    print('true')\n    return False"
    )
    examined = await examiner.examine(in_any_order(checker), "print('true')", "public")
    assert examined.verdict is CodeVerdict.WRONG_ANSWER


async def test_without_a_checker_an_answer_of_several_is_never_called_wrong(
    examiner: Examiner,
) -> None:
    problem = adding(checker="special")
    assert (await examiner.examine(problem, ADDING, "public")).verdict is CodeVerdict.ACCEPTED
    examined = await examiner.examine(problem, "print(0)", "public")
    assert examined.verdict is CodeVerdict.SANDBOX_ERROR
    assert examined.failed is not None
    assert (examined.failed.difference, examined.failed.detail) == ("", NO_CHECKER)
    hidden = await examiner.examine(problem, "print(0)", "private")
    assert hidden.failed is not None
    assert hidden.failed.detail == NO_CHECKER
    crashed = await examiner.examine(problem, "print(1 / 0)", "public")
    assert crashed.verdict is CodeVerdict.RUNTIME_ERROR
