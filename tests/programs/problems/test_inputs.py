"""Inputs made from examples are new, of the same kind, and the same for the same seed."""

from __future__ import annotations

import ast
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.programs.assignment import Assignment, Example, Input
from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.inputs import make_inputs
from autoreason.programs.problems.problem import to_assignment

steady = settings(derandomize=True, max_examples=30)


def function(*tests: str, starter: str = "", name: str = "f") -> Assignment:
    return Assignment(
        id="made up",
        statement="Do it.",
        kind="function",
        entry_point=name,
        starter=starter,
        public=tuple(Example(code=test) for test in tests),
    )


def stdio(*samples: str) -> Assignment:
    return Assignment(
        id="made up",
        statement="Do it.",
        public=tuple(Example(input=sample, output="1\n") for sample in samples),
    )


def arguments(made: tuple[Input, ...], name: str = "f") -> list[tuple[object, ...]]:
    found = []
    for each in made:
        tree = ast.parse(each, mode="eval")
        [call] = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
        ]
        found.append(tuple(ast.literal_eval(node) for node in call.args))
    return found


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@steady
@given(st.lists(st.lists(plain, min_size=2, max_size=2), min_size=1, max_size=3), st.integers(0, 9))
def test_inputs_are_expressions_that_differ_from_each_other_and_from_the_examples(
    examples: list[list[object]], seed: int
) -> None:
    tests = [f"assert f({', '.join(map(repr, each))}) == 1" for each in examples]
    made = make_inputs(function(*tests), seed, 10)
    assert made == make_inputs(function(*tests), seed, 10)
    assert len(made) == len(set(made)) <= 10
    assert len(arguments(made)) == len(made)
    assert not {test.removeprefix("assert ").removesuffix(" == 1") for test in tests} & set(made)


@steady
@given(
    st.lists(st.text("0123456789 ab-.\n", max_size=30), min_size=1, max_size=3), st.integers(0, 9)
)
def test_whatever_a_sample_looks_like_it_can_be_varied(samples: list[str], seed: int) -> None:
    made = make_inputs(stdio(*samples), seed, 10)
    assert made == make_inputs(stdio(*samples), seed, 10)
    assert not set(samples) & set(made)


def test_arguments_keep_their_types_and_letters_and_differ_by_seed() -> None:
    problem = function("assert f([3, 1, 2], 'abc', (1, 2.5), {'a': 1}, True) == 1")
    for numbers, text, pair, counts, flag in arguments(make_inputs(problem, 1)):
        assert {type(each) for each in numbers} <= {int}  # type: ignore[attr-defined]
        assert type(text) is str
        assert [type(each) for each in pair] == [int, float]  # type: ignore[attr-defined]
        assert {type(each) for each in counts} <= {str}  # type: ignore[attr-defined]
        assert type(flag) is bool
    assert make_inputs(problem, 1) != make_inputs(problem, 2)
    made = arguments(make_inputs(function("assert f('0110') == 6", "assert f('1') == 1"), 1))
    assert all(set(text) <= set("01") for (text,) in made)  # type: ignore[call-overload]


def test_lengths_and_order_of_the_examples_mostly_stay() -> None:
    made = arguments(make_inputs(function("assert f([5, 9, 7, 6], 4) == 47"), 1))
    kept = [length == len(numbers) for numbers, length in made]  # type: ignore[arg-type]
    assert sum(kept) > 0.7 * len(kept)
    assert len({length for _, length in made}) > 2
    problem = function("assert f([1, 4, 9, 12, 20], 4) == 1", "assert f([2, 3, 5, 8], 8) == 3")
    lists = [numbers for numbers, _ in arguments(make_inputs(problem, 1))]
    kept = [numbers == sorted(numbers) for numbers in lists]  # type: ignore[call-overload]
    assert sum(kept) > 0.6 * len(kept)


def test_edge_cases_are_among_them() -> None:
    made = [
        numbers for (numbers,) in arguments(make_inputs(function("assert f([3, 1, 2]) == 1"), 1))
    ]
    assert [] in made
    assert any(len(numbers) == 1 for numbers in made)  # type: ignore[arg-type]
    assert any(len(set(numbers)) < len(numbers) for numbers in made)  # type: ignore[arg-type, call-overload]


@pytest.mark.parametrize(
    ("test", "form"),
    [
        ("assert set(f([1, 2])) == {1}", "set(f("),
        ("assert math.isclose(f(2), 1.5, rel_tol=0.001)", "'%.3g' % (f("),
        ("assert not f(10)", "f("),
        ("x = f(10)\nassert x == 1", "f("),
        ("assert Solution().f(1, 2) == 3", "Solution().f("),
    ],
)
def test_what_a_test_ignores_of_a_value_is_ignored_here(test: str, form: str) -> None:
    made = make_inputs(function(test, name="Solution" if "Solution" in test else "f"), 1)
    assert made
    assert all(each.startswith(form) for each in made)


@pytest.mark.parametrize(
    "starter",
    [
        'def f(arr, k):\n    """Input: arr = [-3, 4], k = 3\n    Output: [1]\n    """\n',
        'def f(s, n):\n    """\n    f("5 apples", 19) -> 19 - 5 = 14\n    """\n',
    ],
)
def test_without_tests_the_description_says_what_goes_in(starter: str) -> None:
    made = make_inputs(function(starter=starter), 1)
    assert len(made) > 10
    assert all(len(values) == 2 for values in arguments(made))


@pytest.mark.parametrize(
    "problem", [function(), function(starter="def f(x):\n    pass\n"), stdio()]
)
def test_where_nothing_is_known_there_are_none(problem: Assignment) -> None:
    assert make_inputs(problem, 1) == ()


def test_what_announces_a_length_a_grid_or_cases_stays_true() -> None:
    for made in make_inputs(stdio("3\n4 3 1\n", "2\n4 7\n"), 1):
        count, numbers = made.splitlines()
        assert len(numbers.split()) == int(count)
    for made in make_inputs(stdio("2 3\nABC\nDEF\n", "3 4\nAAAA\nABCA\nAAAA\n"), 1):
        first, *rows = made.splitlines()
        assert first == f"{len(rows)} {len(rows[0])}"
        assert len(set(map(len, rows))) == 1
    for made in make_inputs(stdio("2\n3\n1 4 2\n2\n2 4\n"), 1):
        cases, *lines = made.splitlines()
        assert len(lines) == 2 * int(cases)
        for count, numbers in zip(lines[::2], lines[1::2], strict=True):
            assert len(numbers.split()) == int(count)


def test_nearly_every_real_problem_gets_its_inputs(records: Path) -> None:
    for name in ("humaneval", "mbpp", "stdio"):
        problems = read_problems(records / "problems" / f"{name}.jsonl").problems
        made = [len(make_inputs(to_assignment(problem), 1)) for problem in problems[:30]]
        assert sum(each >= 20 for each in made) > 0.9 * len(made)


@pytest.mark.parametrize(
    "problem",
    [stdio("1\n" * 5_000, "3\n"), function(f"assert f({[1] * 5_000}) == 1", "assert f([1]) == 1")],
)
def test_an_example_too_long_to_vary_is_passed_over(problem: Assignment) -> None:
    tracemalloc.start()
    try:
        assert make_inputs(problem, 1)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


ODD = st.sampled_from(
    [
        *("1e999", "-1e999", "[1e999]", "1e308", "-1e308", "1e-320", "9" * 400, "10", "-0.0"),
        *("None", "[None]", "b'ab'", "{1, 2}", "set()", "{(1, 2): 3}", "{1, 'a', None}", "1 + 2j"),
        *("[[1], [2]]", "[]", "()", "(1, 'a')", "{'a': [1]}", "'\\x00'", "''", "[1.5, 2]"),
    ]
)


@given(st.lists(st.tuples(ODD, ODD), min_size=1, max_size=4), st.integers(0, 50))
@steady
def test_whatever_a_test_calls_with_an_input_can_be_evaluated(
    tests: list[tuple[str, str]], seed: int
) -> None:
    problem = function(*(f"assert f({one}, {other}) == 1" for one, other in tests))
    for each in make_inputs(problem, seed, count=10):
        call = ast.parse(each, mode="eval").body
        assert isinstance(call, ast.Call)
        for argument in call.args:
            ast.literal_eval(argument)


@pytest.mark.parametrize("lines", ["1\n", "1 2\n", "ab\n"])
def test_the_work_grows_with_the_length_of_a_sample_and_not_much_faster(lines: str) -> None:
    def work(times: int) -> float:
        started = time.process_time()
        make_inputs(stdio(lines * times), 1)
        return time.process_time() - started

    # Eight times the length is sixty-four times the work where every line is held against every other.
    assert min(work(200) for _ in range(2)) < 24 * min(work(25) for _ in range(2)) + 0.1
