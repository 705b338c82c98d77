"""Patterns are compiled late, and find what the same expressions find."""

from __future__ import annotations

import re

import pytest

from autoreason.parsing import ballots, critiques, documents, rankings
from autoreason.parsing.patterns import _LazyPattern, pattern


def test_every_pattern_can_be_compiled() -> None:
    modules = (ballots, critiques, documents, rankings)
    values = [value for module in modules for value in vars(module).values()]
    signs = [sign.pattern for sign in documents._SIGNS]
    ours = [each for each in [*values, *ballots._VERDICTS, *signs] if type(each) is _LazyPattern]
    assert len(ours) > 40
    for each in ours:
        assert each.search("") is None or each.match("") is not None


def test_a_pattern_is_compiled_when_it_is_used_and_finds_what_its_expression_finds() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.search("")
    ours, theirs = pattern("(?:b|ab)+", re.IGNORECASE), re.compile("(?:b|ab)+", re.IGNORECASE)
    assert ours.findall("xaBb b") == theirs.findall("xaBb b") == ["aBb", "b"]
    assert ours.sub("-", "xaBb b") == "x- -"
