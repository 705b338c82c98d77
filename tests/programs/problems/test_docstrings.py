"""Examples in docstrings become asserts where they can be read exactly."""

from __future__ import annotations

import pytest

from autoreason.programs.problems.docstrings import (
    docstring_of,
    example_asserts,
    expectations,
    other_definitions,
)


@pytest.mark.parametrize(
    ("docstring", "asserts"),
    [
        (">>> f(1)\n2", ["assert f(1) == 2"]),
        (">>> f('a')\n'b'\n>>> f('b')\n\"c\"", ["assert f('a') == 'b'", "assert f('b') == 'c'"]),
        (">>> f(1)\n2\n>>> f(1)\n2", ["assert f(1) == 2"]),
        (">>> round(f([1, 2]), 2) # a root\n-0.5", ["assert round(f([1, 2]), 2) == -0.5"]),
        (">>> f(1) == [2, 3]", ["assert f(1) == [2, 3]"]),
        ("f(1, 2) == 3", ["assert f(1, 2) == 3"]),
        ("  * f([]) => [] ", ["assert f([]) == []"]),
        ("f('=>') ==> 'x'", ["assert f('=>') == 'x'"]),
        ("f(2) -> {'a': None}", ["assert f(2) == {'a': None}"]),
        ("f(2) ➞ True", ["assert f(2) == True"]),
        ("f(2) returns 16", ["assert f(2) == 16"]),
        ("f(2) should return 16.", ["assert f(2) == 16"]),
        ('f(15)   # returns "db"', ["assert f(15) == 'db'"]),
        ("for f(7) == 3", ["assert f(7) == 3"]),
    ],
)
def test_examples_become_asserts(docstring: str, asserts: list[str]) -> None:
    assert example_asserts(docstring, "f") == asserts


@pytest.mark.parametrize(
    "docstring",
    [
        "",
        "What f(1) gives is 2.",
        ">>> f(1)\nTraceback (most recent call last):",
        ">>> f(1)\na word",
        ">>> g(1)\n2",
        ">>> f(\"a\nb\")\n'c'",
        ">>> f(1)",
        "f(1) == 1 + 9",
        'f(1) == ""a"',
        "f(1) -> 5 - 3 = 2",
        "f(1) => ...",
        "f(1) =>",
    ],
)
def test_what_cannot_be_read_exactly_is_left_out(docstring: str) -> None:
    assert example_asserts(docstring, "f") == []


def test_a_source_is_taken_apart_at_its_function() -> None:
    source = (
        "import math\n\ndef g(x):\n    return x\n\ndef f(x):\n    'Says so.'\n    return g(x)\n"
    )
    assert docstring_of(source, "f") == "Says so."
    assert docstring_of(source, "g") == ""
    assert other_definitions(source, "f") == "import math\n\ndef g(x):\n    return x"


def test_a_source_that_cannot_be_read_holds_nothing() -> None:
    assert docstring_of("def f(:", "f") == ""
    assert other_definitions("def f(:", "f") == ""
    assert expectations("assert", "f") == {}


def test_what_calls_should_give_is_found_anywhere_in_a_source() -> None:
    source = (
        "def check(candidate):\n    assert candidate( 'a',k=1) == (1,)\n    assert other(1) == 2\n"
    )
    assert expectations(source, "candidate") == {"'a', k=1": "(1,)"}
