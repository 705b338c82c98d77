"""HumanEval and MBPP become problems that ask for a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.programs.problems.made_up import humaneval, mbpp

from autoreason.errors import InvalidInput
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.functions import (
    called_function,
    left_out_examples,
    read_humaneval,
    read_mbpp,
)
from autoreason.programs.problems.problem import Problem


def test_humaneval_shows_its_docstrings_examples_and_hides_its_check() -> None:
    problem = read_humaneval(humaneval())
    assert (problem.id, problem.kind, problem.entry_point) == (
        "HumanEval/900",
        "function",
        "half",
    )
    assert [test.code for test in problem.public_tests] == ["assert half(5) == 2"]
    (hidden,) = problem.private_tests
    assert hidden.code.startswith("def check(candidate):")
    assert hidden.code.endswith("\ncheck(half)")
    assert problem.setup == "import math"
    assert "`half`" in problem.statement
    assert problem.starter in problem.statement
    assert holds(problem)


def test_an_example_that_the_tests_contradict_is_not_shown_as_a_test() -> None:
    assert "half(8)" in humaneval()["prompt"]
    assert not any("half(8)" in test.code for test in read_humaneval(humaneval()).public_tests)


def test_humaneval_goes_round_under_other_names() -> None:
    record = humaneval()
    record["id"], record["solution"] = record.pop("task_id"), record.pop("canonical_solution")
    assert read_humaneval(record | {"kind": "function"}) == read_humaneval(humaneval())


def test_an_example_with_names_that_nobody_defines_is_left_out_and_named() -> None:
    prompt = (
        "from math import pi\n\n\ndef shout(word):\n"
        "    \"\"\"In capitals.\n    shout(a) => 'A'\n    shout(str(pi)[0]) => '3'\n"
        "    shout(''.join(c for c in 'ab')) => 'AB'\n    shout('x') => 'Y'\n    \"\"\"\n"
    )
    test = "def check(candidate):\n    assert candidate('x') == 'X'\n"
    body = "    return word.upper()\n"
    record = humaneval(prompt=prompt, entry_point="shout", canonical_solution=body, test=test)
    problem = read_humaneval(record)
    assert [each.code for each in problem.public_tests] == [
        "assert shout(str(pi)[0]) == '3'",
        "assert shout(''.join((c for c in 'ab'))) == 'AB'",
    ]
    assert holds(problem)
    assert left_out_examples(record) == [
        "problem 'HumanEval/900': the example `assert shout(a) == 'A'` uses `a`, which nothing defines",
        "problem 'HumanEval/900': the example `assert shout('x') == 'Y'` contradicts the tests",
    ]


def test_humaneval_without_a_solution_is_as_usable() -> None:
    problem = read_humaneval(humaneval(canonical_solution=""))
    assert problem.solution == ""
    assert len(problem.public_tests) == 1


def test_mbpp_shows_its_first_assert_and_hides_the_others() -> None:
    problem = read_mbpp(mbpp())
    assert (problem.id, problem.entry_point, problem.setup) == ("MBPP/900", "root", "import math")
    assert [test.code for test in problem.public_tests] == ["assert math.isclose(root(4), 2.0)"]
    assert [test.code for test in problem.private_tests] == [
        "assert root(9) == 3",
        "assert root(0) == 0",
    ]
    assert "`root`" in problem.statement
    assert problem.public_tests[0].code in problem.statement
    assert problem.private_tests[0].code not in problem.statement
    assert holds(problem)


def test_the_hand_checked_edition_has_no_challenge_tests_that_fit() -> None:
    record = mbpp(prompt="Write it.", test_imports=["import math"])
    del record["text"], record["test_setup_code"]
    problem = read_mbpp(record)
    assert [test.code for test in problem.private_tests] == ["assert root(9) == 3"]
    assert problem.setup == "import math"


@pytest.mark.parametrize(
    ("asserts", "solution", "name"),
    [
        ("assert f(1) == 2", "", "f"),
        ("assert set(f(1)) == set(g(2))", "", "f"),
        ("assert set(f(1)) == set(g(2))", "def g (x): ...", "g"),
        ("assert count([1]) == 1", "def count(x): ...", "count"),
        ("assert sum([1]) == 1", "def sum(x): ...", "sum"),
        ("assert not math.isclose(f(1), 2)", "", "f"),
        ("assert 1 ==", "", ""),
        ("assert len([1]) == 1", "", ""),
    ],
)
def test_the_function_that_is_called_is_found(asserts: str, solution: str, name: str) -> None:
    assert called_function(asserts, solution) == name


@pytest.mark.parametrize(
    ("read", "record", "said"),
    [
        (read_mbpp, mbpp(test_list=[]), "it has no tests"),
        (read_mbpp, mbpp(test_list=["assert f(1) =="]), "`entry_point`"),
        (read_mbpp, mbpp(test_list="assert f(1)"), "`test_list` is no list of texts"),
        (read_mbpp, mbpp(text=""), "`statement` is empty"),
        (read_humaneval, humaneval(test="def check("), "test 3 is not valid Python"),
        (read_humaneval, humaneval(test=None), "`test` is missing"),
        (read_humaneval, humaneval(prompt=["x"]), "`prompt` is a list"),
    ],
)
def test_a_broken_record_is_one_sentence(read: Any, record: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=r"^problem '?.*900'?: ") as refused:
        read(record)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_every_recorded_test_calls_the_function_that_is_asked_for(records: Path, name: str) -> None:
    for problem in read_problems(records / "problems" / f"{name}.jsonl").problems:
        assert f"def {problem.entry_point}" in problem.solution
        assert all(f"{problem.entry_point}" in test.code for test in problem.tests)
        assert problem.entry_point in problem.statement


def test_most_recorded_functions_have_a_test_that_may_be_seen(records: Path) -> None:
    problems = read_problems(records / "problems" / "humaneval.jsonl").problems
    assert sum(bool(problem.public_tests) for problem in problems) > 0.8 * len(problems)


def holds(problem: Problem) -> bool:
    """Whether the known solution, one of ours, passes."""
    names: dict[str, Any] = {}
    exec(problem.solution, names)
    exec(problem.setup, names)
    try:
        for test in problem.tests:
            exec(test.code, names)
    except AssertionError:
        return False
    return True
