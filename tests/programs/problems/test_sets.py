"""A set tells what is in it."""

from __future__ import annotations

import pytest
from tests.programs.problems.made_up import humaneval, own

from autoreason.errors import InvalidInput
from autoreason.programs.problems.functions import read_humaneval
from autoreason.programs.problems.native_format import read_native
from autoreason.programs.problems.sets import find_problem, shares


def test_problems_are_counted_by_kind_and_difficulty() -> None:
    problems = [
        read_native(own(difficulty="hard", checker="special")),
        read_native(own(difficulty="easy")),
        read_native(own(difficulty="easy", public_tests=[])),
        read_humaneval(humaneval()),
    ]
    counted = shares(problems)
    assert [(one.kind, one.difficulty, one.problems) for one in counted] == [
        ("function", "", 1),
        ("stdio", "easy", 2),
        ("stdio", "hard", 1),
    ]
    easy, hard = counted[1:]
    assert (easy.public_tests, easy.private_tests, easy.without_public_tests) == (1, 4, 1)
    assert (easy.unfair, hard.unfair) == (0, 1)


def test_a_problem_is_found_by_its_id() -> None:
    problems = [read_native(own(id=name)) for name in ("cc/1_a_tides", "cc/1_b_boats", "z")]
    assert find_problem(problems, "z").id == "z"
    for name, meant in (("TIDES", "cc/1_a_tides"), ("cc/1_c_boats", "cc/1_b_boats"), ("?", "z")):
        with pytest.raises(InvalidInput, match="no problem") as refused:
            find_problem(problems, name)
        assert meant in str(refused.value)
