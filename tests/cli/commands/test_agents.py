"""`skill` and `mcp`: what a coding agent needs is written or shown, and a server starts where it can."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.cli.inside import Inside


def test_it_is_installed_for_a_user_or_a_project(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = inside.folder / "home"
    monkeypatch.setenv("HOME", str(home))
    said = inside("skill", "install", "--for", "claude-code")
    skill = home / ".claude/skills/autoreason/skills/autoreason/SKILL.md"
    assert str(skill) in said.out.splitlines()
    assert inside("skill", "show").out == skill.read_text()
    files = inside("skill", "install", "--for", "codex", "--project", "--json").json["files"]
    assert ".codex/agents/answerer.toml" in files
    assert all(Path(each).is_file() for each in files)
    skill.write_text("my own")
    refused = inside("skill", "install", "--for", "claude-code")
    assert refused.sentence == f"{skill} was changed; look at it, then replace it with --force"
    assert skill.read_text() == "my own"


def test_without_its_extra_a_sentence_says_how_to_install_it(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "autoreason.agents.mcp_server", raising=False)
    refused = inside("mcp")
    assert refused.status == 2
    assert refused.sentence == "MCP needs its SDK; run `pip install '.[mcp]'` in the clone"
    assert not inside.journal_exists
    needed = "the MCP server needs `pip install '.[mcp]'` in the clone"
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert inside("skill", "install", "--project").err.splitlines()[-1].endswith(needed)
    monkeypatch.setitem(sys.modules, "mcp", sys)
    assert needed not in inside("skill", "install", "--project", "--force").err


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
