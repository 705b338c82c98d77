"""A default model and limits of one's own, from a file; options override them, and so does a run's record."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import BRIEF, FAST, NO_END, Shell
from tests.cli.conftest import quick_shell as shell

__all__ = ["shell"]


def configure(shell: Shell, text: str) -> None:
    folder = shell.home / "config" / "autoreason"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)


def test_a_run_begins_with_the_users_own_model_and_limits(shell: Shell) -> None:
    configure(shell, 'model = "echo/echo"\n[limits]\ncalls = 3\ncost = 0.50\n')
    dry = json.loads(shell("run", BRIEF, "--dry-run", "--json").stdout)["settings"]
    assert dry["models"]["author"] == "echo/echo"
    assert dry["budget"]["calls"] == 3
    assert str(dry["budget"]["cost"]) in ("0.5", "0.50")
    other = ("-m", "local/smollm2", "--call-limit", "9")
    dry = json.loads(shell("run", BRIEF, "--dry-run", "--json", *other).stdout)["settings"]
    assert (dry["models"]["author"], dry["budget"]["calls"]) == ("local/smollm2", 9)
    shown = shell("models").stdout
    assert "The default is echo/echo" in shown
    assert "config.toml" in shown
    configure(shell, '\ufeffmodel = "echo/echo"\n')
    assert "The default is echo/echo" in shell("models").stdout


def test_a_resumed_run_keeps_its_own(shell: Shell) -> None:
    assert shell("run", BRIEF, *FAST, "-q", "--call-limit", "2", *NO_END).returncode == 3
    configure(shell, 'model = "nosuch/model"\n[limits]\ncalls = 1\n')
    assert shell("resume", "-q", "--call-limit", "99").returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = 3\n", "`model` must be text"),
        ("modell = 'x'\n", "unknown key `modell`; it may contain a line such as model = "),
        ("[limits]\ncosts = 3\n", "unknown key `costs`; "),
        ("limits = 3\n", "`limits` must be"),
        ("model = \n", "under [limits], cost, tokens, calls and seconds"),
    ],
)
def test_a_config_that_cannot_be_used_is_one_sentence(shell: Shell, text: str, said: str) -> None:
    configure(shell, text)
    done = shell("run", BRIEF, "--dry-run")
    assert done.returncode == 2
    assert "config.toml" in done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_cannot_be_read_is_named_also_by_doctor(shell: Shell) -> None:
    configure(shell, "")
    (shell.home / "config" / "autoreason" / "config.toml").write_bytes(b"\xff")
    refused = shell("run", BRIEF, *FAST)
    assert refused.returncode == 2
    assert "cannot read" in refused.stderr
    found = {each["about"]: each for each in json.loads(shell("doctor", "--json").stdout)}
    assert found["defaults"]["level"] == "fail"


def test_doctor_says_where_defaults_go_and_what_may_be_in_them(shell: Shell) -> None:
    found = {each["about"]: each for each in json.loads(shell("doctor", "--json").stdout)}
    path = shell.home / "config" / "autoreason" / "config.toml"
    said = f"none in {path}; it may contain a line such as model = "
    assert found["defaults"]["message"].startswith(said)
