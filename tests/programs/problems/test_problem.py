"""A problem is usable, or one sentence names it and what is wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.programs.problems.made_up import own

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import Example
from autoreason.programs.problems.native_format import read_native
from autoreason.programs.problems.problem import Problem, check_problem, comparison, to_assignment

CHECK = "def check(input, output, expected):\n    return output.strip() != ''\n"


def refusal(**changes: Any) -> str:
    """The sentence that refuses a problem."""
    with pytest.raises(InvalidInput) as refused:
        read_native(own(**changes))
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"public_tests": [], "private_tests": []}, "no tests"),
        ({"public_tests": None, "private_tests": None}, "no tests"),
        ({"statement": " \n"}, "`statement` is empty"),
        ({"statement": None}, "`statement` is missing"),
        ({"statement": 7}, "`statement` must be text"),
        ({"time_limit_s": 0}, "`time_limit_s` must be"),
        ({"time_limit_s": 61}, "at most 60 seconds"),
        ({"memory_limit_mb": 8}, "16 to 4096"),
        ({"memory_limit_mb": 4097}, "`memory_limit_mb`"),
        ({"memory_limit_mb": "much"}, "`memory_limit_mb` must be a whole number"),
        ({"checker": "fuzzy"}, "unknown checker 'fuzzy'; known are tokens, exact, float, special"),
        ({"checker": ["float"]}, "unknown checker"),
        ({"checker_program": "def check(:"}, "`checker_program` is not valid Python (line 1"),
        ({"checker_program": "return 3"}, "not valid Python"),
        ({"checker_program": "x = 3"}, "must define `check(input, output, expected)`"),
        ({"checker_program": "def check(output):\n    return True"}, "must define `check"),
        ({"checker_program": "def check(a, b, c, *, d): ..."}, "must define `check"),
        ({"tolerance": 2}, "`tolerance` must be 0 to 1"),
        ({"tolerance": 1e-6, "checker": "tokens"}, '`"checker": "float"`'),
        ({"tolerance": 1e-6, "checker_program": CHECK}, "`checker_program` decides; drop `tol"),
        ({"title": "a\0b"}, "characters in `title` are not text"),
        ({"private_tests": [["a\0", "b"]]}, "characters in `private_tests` are not text"),
        ({"tags": ["\ud800"]}, "characters in `tags` are not text"),
        ({"private_test": [["1", "2"]]}, "unknown field `private_test`; did you mean"),
        ({"time_limit": 3}, "did you mean `time_limit_s`"),
        (
            {"tests": [["1", "2"]]},
            "unknown field `tests`; give those that models may see as `public_tests` and those that only "
            "score as `private_tests`",
        ),
        ({"public_tests": "1 2"}, "`public_tests` is not a list"),
        ({"public_tests": [["1"]]}, "`public_tests[0]` is not a test"),
        ({"public_tests": [["1", "2"], {"in": "1"}]}, "`public_tests[1]` is not a test"),
        ({"public_tests": [{"input": 1}]}, "`input` must be text"),
        (
            {"kind": "stdio", "public_tests": ["assert f(1)"], "private_tests": []},
            'needs `"kind": "function"`',
        ),
        ({"kind": "function", "entry_point": "f"}, "test 1 of a function needs `code`"),
        ({"public_tests": ["assert f(1)"]}, "tests 1 and 2 are of different kinds; give either"),
        ({"public_tests": [{"code": "f()", "input": "1"}]}, "`code` or `input` and `output`"),
        ({"kind": "haiku"}, "`kind`"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_mend(changes: dict[str, Any], said: str) -> None:
    sentence = refusal(**changes)
    assert sentence.startswith("problem 'double': ")
    assert said in sentence


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "a\x1b[2J"])
def test_an_id_is_a_line_that_can_be_printed(name: str) -> None:
    assert "`id` is not a name" in refusal(id=name)


def test_tests_that_contradict_each_other_are_refused() -> None:
    sentence = refusal(private_tests=[["1\n", "2\n"], ["2\n", "5\n"]])
    assert "tests 1 and 3 contradict each other" in sentence


def test_the_same_answer_written_otherwise_is_no_contradiction() -> None:
    again = [["2\n", " 4"], ["5\n", "10\n"]]
    assert len(read_native(own(private_tests=again)).tests) == 3
    close = own(checker="float", public_tests=[["2", "0.5"]], private_tests=[["2", "0.5000001"]])
    assert len(read_native(close).tests) == 2


def test_where_several_answers_are_right_different_outputs_are_no_contradiction() -> None:
    different = {"private_tests": [["2\n", "5\n"]]}
    for judged in ({"checker": "special"}, {"checker_program": CHECK}):
        assert len(read_native(own(**judged, **different)).tests) == 2


def function(**changes: Any) -> dict[str, Any]:
    """A function's problem."""
    record = {
        "entry_point": "twice",
        "public_tests": ["assert twice(1) == 2"],
        "private_tests": ["assert twice(2) == 4"],
    }
    return own(**(record | changes))


def test_a_function_is_tested_by_statements_that_can_be_compiled() -> None:
    problem = read_native(function(setup="import math"))
    assert (problem.kind, problem.public_tests[0].code) == ("function", "assert twice(1) == 2")
    for changes, said in (
        ({"private_tests": ["assert twice(2) ="]}, "test 2 is not valid Python"),
        ({"setup": "import"}, "`setup` is not valid Python"),
        ({"entry_point": None}, "a test that is code calls a function; name it in `entry_point`"),
        ({"entry_point": "2x"}, "`entry_point`"),
        ({"checker_program": CHECK}, "drop `checker_program`"),
        ({"setup": "(" * 5000}, "`setup`"),
    ):
        with pytest.raises(InvalidInput, match="problem 'double'") as refused:
            read_native(function(**changes))
        assert said in str(refused.value)


def test_an_assignment_holds_nothing_that_nobody_may_see() -> None:
    problem = read_native(
        own(
            solution="print(2 * int(input()))  # secret-solution",
            private_tests=[["secret-input", "secret-output"]],
            checker_program=CHECK + "# secret-checker\n",
            time_limit_s=3,
            memory_limit_mb=64,
            difficulty=7,
        )
    )
    assignment = to_assignment(problem)
    assert b"secret" not in msgspec.json.encode(assignment)
    assert (assignment.private, assignment.public) == (1, (Example(input="2\n", output="4\n"),))
    assert (assignment.seconds, assignment.memory_mb, assignment.difficulty) == (3.0, 64, "7")
    assert assignment.remark == ""


def test_several_right_answers_without_a_checker_cannot_be_judged() -> None:
    assert "give a `checker_program`" in to_assignment(read_native(own(checker="special"))).remark
    assert to_assignment(read_native(own(checker_program=CHECK))).remark == ""
    assert to_assignment(read_native(own())).remark == ""


def test_the_tolerance_is_the_problems_or_the_statements_or_ours() -> None:
    stated = "Print a root with an error of at most 10^{-9}."
    numbers = own(checker="float", statement=stated)
    assert comparison(read_native(numbers)).tolerance == 1e-9
    assert comparison(read_native(numbers | {"tolerance": 1e-3})).tolerance == 1e-3
    assert comparison(read_native(own(checker="float"))).tolerance == 1e-6
    assert comparison(read_native(own(statement=stated))).checker == "tokens"


def test_a_tolerance_alone_means_that_numbers_are_compared() -> None:
    how = comparison(read_native(own(tolerance=0.01)))
    assert (how.checker, how.tolerance) == ("float", 0.01)


def test_a_problem_made_in_code_is_checked_alike() -> None:
    with pytest.raises(InvalidInput, match="no tests"):
        check_problem(Problem(id="empty", statement="Do nothing."))
