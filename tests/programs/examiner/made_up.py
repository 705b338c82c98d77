"""Small problems of our own."""

from __future__ import annotations

from typing import Any

from autoreason.programs.assignment import Example
from autoreason.programs.problems.problem import Problem, check_problem

ADDING = "print(sum(map(int, input().split())))"
"""Solves `adding`."""
SECRET = "918273645"
"""Stands in every private test of `adding`, and nowhere else."""


def adding(**fields: Any) -> Problem:
    usual: dict[str, Any] = {
        "id": "adding",
        "statement": "Read two numbers and print their sum.",
        "time_limit_s": 0.5,
        "memory_limit_mb": 64,
        "public_tests": (
            Example(input="1 2\n", output="3\n"),
            Example(input="2 2\n", output="4\n"),
        ),
        "private_tests": (Example(input=f"{SECRET} 0\n", output=f"{SECRET}\n"),),
        "solution": ADDING,
    }
    return check_problem(Problem(**(usual | fields)))


def doubling(*tests: str, **fields: Any) -> Problem:
    usual: dict[str, Any] = {
        "id": "doubling",
        "kind": "function",
        "statement": "Write double(x).",
        "entry_point": "double",
        "time_limit_s": 0.5,
        "memory_limit_mb": 64,
    }
    held = tests or ("assert double(3) == 6", "assert double('ab') == 'abab'")
    usual["public_tests"] = tuple(Example(code=test) for test in held)
    return check_problem(Problem(**(usual | fields)))
