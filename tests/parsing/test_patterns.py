"""Patterns are compiled late, and find what the same expressions find."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.parsing import ballots, leaks, normalization, rankings, scores
from autoreason.parsing.patterns import Pattern

SOURCE = r"(?:b|ab)+"


def ours() -> list[Pattern]:
    """Every pattern by which ballots and texts are read."""
    modules = (ballots, leaks, normalization, rankings, scores)
    values = [value for module in modules for value in vars(module).values()]
    signs = [sign.pattern for sign in leaks._SIGNS]
    return [one for one in [*values, *ballots._VERDICTS, *signs] if isinstance(one, Pattern)]


def test_every_pattern_can_be_compiled() -> None:
    assert len(ours()) > 40
    for pattern in ours():
        assert pattern.search("") is None or pattern.match("") is not None


def test_a_pattern_that_no_one_uses_is_not_compiled() -> None:
    wrong = Pattern("(")
    with pytest.raises(re.error):
        wrong.search("")


@given(st.text("abAB\n"))
def test_a_pattern_finds_what_its_expression_finds(text: str) -> None:
    pattern, expression = Pattern(SOURCE, re.IGNORECASE), re.compile(SOURCE, re.IGNORECASE)
    for ours, theirs in (
        (pattern.search, expression.search),
        (pattern.match, expression.match),
        (pattern.fullmatch, expression.fullmatch),
    ):
        found, expected = ours(text), theirs(text)
        assert (found and found.span()) == (expected and expected.span())
    assert pattern.findall(text) == expression.findall(text)
    assert [each.span() for each in pattern.finditer(text)] == [
        each.span() for each in expression.finditer(text)
    ]
    assert pattern.sub("-", text) == expression.sub("-", text)
