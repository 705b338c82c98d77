"""`skill`: what a coding agent needs, written where it looks or shown."""

from __future__ import annotations

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
