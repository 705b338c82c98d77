"""`mcp`: what of it is no protocol."""

from __future__ import annotations

import io
import sys

import pytest
from tests.cli.inside import Inside


def test_without_its_extra_a_sentence_says_how_to_install_it(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "autoreason.agents.mcp_server", raising=False)
    refused = inside("mcp")
    assert refused.status == 2
    assert refused.sentence == "MCP needs its SDK; run `pip install '.[mcp]'` in the clone"
    assert not inside.journal_exists


def test_nobody_is_kept_waiting_at_a_terminal(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert "an agent starts this" in inside("mcp").sentence


def test_a_limit_of_cost_is_more_than_nothing(inside: Inside) -> None:
    for limit in ("-1", "0"):
        refused = inside("mcp", "--cost-limit", limit)
        assert refused.sentence == f"--cost-limit is {limit}; give more than 0 or leave it out"
