"""The skill: it follows the public convention, and is put where each program looks."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import skills_ref
import yaml
from click import Context, Group
from tests.agents.real_agents import AGENTS
from tests.models.alone import ROOT

from autoreason.agents.skill import PROGRAMS, SKILL, install
from autoreason.cli.__main__ import cli
from autoreason.errors import InvalidInput

HERE = ROOT / "src/autoreason/agents"
TEXT = (SKILL / "SKILL.md").read_text()


def test_it_follows_the_public_convention_and_is_short() -> None:
    assert skills_ref.validate(SKILL) == []
    assert len(TEXT.split()) < 1000


def test_every_command_in_it_is_one() -> None:
    for name, sub in re.findall(r"`autoreason (\w+) (\w+)", TEXT):
        group = cli.get_command(Context(cli), name)
        assert group
        assert not isinstance(group, Group) or sub in group.commands
    options = re.findall(r"(?<!\w)--[a-z-]+", TEXT)
    assert {"--draft", "--facts", "--dry-run", "--one-context", "--word", "--yes"} <= {*options}


def test_an_answerer_has_two_tools_and_the_same_words_everywhere() -> None:
    _, front, body = (HERE / "plugin/agents/answerer.md").read_text().split("---\n")
    keys, claude = yaml.safe_load(front), AGENTS["claude-code"]
    assert keys["tools"].split(", ") == [claude.take, claude.answer]
    assert keys["omitClaudeMd"] is True
    _, front, other = (HERE / "gemini-cli/answerer.md").read_text().split("---\n")
    gemini = AGENTS["gemini-cli"]
    assert yaml.safe_load(front)["tools"] == [gemini.take, gemini.answer]
    codex = tomllib.loads((HERE / "codex/answerer.toml").read_text())
    assert body.strip() == other.strip() == codex["developer_instructions"].strip()


def test_the_marketplace_has_the_plugin() -> None:
    (plugin,) = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    manifest = ROOT / plugin["source"] / ".claude-plugin/plugin.json"
    assert json.loads(manifest.read_text())["name"] == plugin["name"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_written_whole_or_not_at_all(name: str, tmp_path: Path) -> None:
    files = install(name, tmp_path)
    assert {*files} == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert any(path.read_text() == TEXT for path in files)
    # Again, it is the same.
    assert install(name, tmp_path) == files
    files[0].unlink()
    files[-1].write_text("my own")
    with pytest.raises(InvalidInput, match="was changed; look at it"):
        install(name, tmp_path)
    assert files[0] == files[-1] or not files[0].exists()
    install(name, tmp_path, force=True)
    assert "my own" not in files[-1].read_text()


@pytest.mark.parametrize("name", [".codex", ".codex/agents"])
def test_a_file_where_a_folder_is_needed_is_named_before_anything_is_written(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    for force in (False, True):
        with pytest.raises(InvalidInput) as refused:
            install("codex", tmp_path, force=force)
        assert str(refused.value) == f"{tmp_path / name} is not a folder; move it"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / ".agents/skills/autoreason/SKILL.md/mine").mkdir(parents=True)
    with pytest.raises(OSError, match="directory") as refused:
        install("other", tmp_path, force=True)
    assert Path(refused.value.filename).name == "SKILL.md"
