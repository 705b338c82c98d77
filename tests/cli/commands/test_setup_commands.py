"""`models` and `doctor`: what is there, what is missing, what to do about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Shell
from tests.cli.conftest import quick_shell as shell
from tests.cli.inside import Inside
from tests.cli.server import Server

from autoreason.cli import announcement
from autoreason.cli.commands.setup import jail_finding, sandbox_finding
from autoreason.programs.sandbox.levels import DetectedLevel, find_level

__all__ = ["shell"]


def test_models_say_which_keys_are_set_and_never_show_them(shell: Shell) -> None:
    done = shell("models", OPENAI_API_KEY="sk-very-secret")
    assert "OPENAI_API_KEY set" in done.stdout
    assert "ANTHROPIC_API_KEY not set" in done.stdout
    assert "local/smollm2" in done.stdout
    assert "claude-code" in done.stdout
    assert "sk-very-secret" not in done.stdout + done.stderr


def test_a_check_reaches_the_server_and_asks_it_nothing(shell: Shell, server: Server) -> None:
    done = shell("models", "check", "test/slow", "test/other", "--base-url", server.url)
    assert done.returncode == 0
    first, second = done.stdout.splitlines()
    assert first.startswith("ok    test/slow  reachable")
    assert second.startswith("ok    test/other  reachable")
    assert server.asked == 0


def test_the_doctor_looks_at_everything_and_touches_nothing(shell: Shell) -> None:
    done = shell("doctor", "--json")
    found = {each["about"]: each for each in json.loads(done.stdout)}
    about = ["python", "sandbox", "jail", "journal", "keys", "defaults", "local model"]
    assert [*found] == about
    assert found["sandbox"]["message"].startswith(find_level().level), "it was tried"
    assert done.returncode == 0
    assert list(shell.home.rglob("*")) == []


@pytest.mark.parametrize(
    ("found", "level", "words"),
    [
        (DetectedLevel("bubblewrap", (), True), "ok", "namespaces for each test"),
        (DetectedLevel("landlock", ("bubblewrap is missing: get it",)), "ok", "missing: get it"),
        (DetectedLevel("seccomp", ("no Landlock",)), "warn", "no better because no Landlock"),
        (DetectedLevel("none", ("this is darwin",)), "warn", "not run here without --unsafe"),
    ],
)
def test_the_doctor_says_how_programs_are_confined_and_why_not_better(
    found: DetectedLevel, level: str, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    finding = sandbox_finding(found)
    assert finding.level == level
    assert finding.message.startswith(found.level)
    assert words in finding.message
    assert ("WSL" in finding.fix) == (found.level == "none")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("problem", "level"), [("", "ok"), ("bwrap is not installed: apt-get install it", "warn")]
)
def test_the_doctor_says_whether_commands_can_be_jailed(problem: str, level: str) -> None:
    finding = jail_finding(problem)
    assert finding.level == level
    assert problem in finding.message
    assert ("file.py:function" in finding.fix) == bool(problem)


def test_a_missing_engine_is_put_right_by_a_package_that_can_be_had(
    monkeypatch: pytest.MonkeyPatch, inside: Inside
) -> None:
    monkeypatch.setattr(announcement, "find_spec", lambda _: None)
    assert announcement.weights_state().fix == "pip install xllamacpp"
    assert "local/smollm2  no engine: pip install xllamacpp" in inside("models").out


def test_local_models_are_listed_with_what_they_need_and_how_to_fetch_them(
    shell: Shell, tmp_path: Path
) -> None:
    own = tmp_path / "autoreason/models/own.gguf"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"GGUF")
    done = shell("models", XDG_CACHE_HOME=str(tmp_path))
    assert "local/qwen2.5-coder-1.5b  not here: autoreason models pull" in done.stdout
    assert "1,117 MB, 1.6 GB of memory, Apache-2.0" in done.stdout
    assert "local/own  here" in done.stdout
    shown = json.loads(shell("models", "--json", XDG_CACHE_HOME=str(tmp_path)).stdout)
    assert [row["here"] for row in shown["local_models"]] == [False, False, True]
    done = shell("models", "check", "local/qwen2.5-coder-1.5b", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "`autoreason models pull qwen2.5-coder-1.5b`" in done.stdout
