"""Statements say how their answers are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreason.programs.problems.formats import read_problems
from autoreason.programs.problems.statement_hints import (
    allows_any_case,
    has_several_answers,
    stated_tolerance,
)


@pytest.mark.parametrize(
    ("statement", "tolerance"),
    [
        ("its absolute or relative error does not exceed 10^{-6}.", 1e-6),
        ("The absolute error must not be over 10 - 4.", 1e-4),
        ("with a precision of 1e-9 or better", 1e-9),
        ("An error of up to 10^−5 is accepted.", 1e-5),  # noqa: RUF001
        ("accurate to within an error of 0.001", 1e-3),
        ("an error of at most $10^{-9}$", 1e-9),
        ("an error of at most 10<sup>-7</sup>", 1e-7),
        ("Heights lie between 10 - 6 and 10.", None),
        ("The error of a gauge is 10^6 and more.", None),
        ("An error of 10^-99 cannot be seen.", None),
        ("Print the sum.", None),
    ],
)
def test_the_tolerance_is_read_where_errors_are_spoken_of(
    statement: str, tolerance: float | None
) -> None:
    assert stated_tolerance(statement) == tolerance


def test_any_case_is_read() -> None:
    assert allows_any_case("You can print each letter in any case (upper or lower).")
    assert allows_any_case("Print YES (case insensitive) if there is one.")
    assert not allows_any_case("In that case print NO.")


@pytest.mark.parametrize(
    "statement",
    [
        "If there are multiple answers, print any.",
        "If there are several solutions, print any of them.",
        "Print the days in any order.",
        "You may output any valid answer.",
        "If there is more than one solution, choose one.",
    ],
)
def test_several_right_answers_are_read(statement: str) -> None:
    assert has_several_answers(statement)


def test_one_right_answer_is_not_taken_for_several() -> None:
    assert not has_several_answers(
        "Print the number of different ways to choose any two of n gauges."
    )


def test_recorded_problems_with_one_answer_are_told_from_those_with_several(records: Path) -> None:
    one = read_problems(records / "problems" / "stdio.jsonl").problems
    several = read_problems(records / "problems" / "stdio_special.jsonl").problems
    assert not [problem.id for problem in one if has_several_answers(problem.statement)]
    found = sum(has_several_answers(problem.statement) for problem in several)
    assert found >= 0.8 * len(several)


def test_recorded_problems_that_compare_numbers_state_how_closely(records: Path) -> None:
    problems = read_problems(records / "problems" / "stdio.jsonl").problems
    for problem in problems:
        stated = stated_tolerance(problem.statement)
        assert (stated is not None) == (problem.checker == "float"), problem.id
