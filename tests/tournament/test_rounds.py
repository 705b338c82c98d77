"""Rounds as people are told of them."""

from __future__ import annotations

import pytest

from autoreason.tournament.rounds import short_name


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("anthropic/claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("local//home/ada/models/tern.gguf", "tern"),
        ("/home/ada/mine.py:Patient/x", "mine.py:Patient/x"),
        ("odd/", "odd"),
    ],
)
def test_a_model_is_named_without_where_it_lies(address: str, name: str) -> None:
    assert short_name(address) == name
