"""Nothing is installed on a machine before it is said, and nothing fails in silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.machine import missing, prepare


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of commands of a machine that has none, where we are root."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def command(folder: Path, name: str, script: str = "") -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_machine_that_has_it_all_is_not_spoken_of(
    bare: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("google-chrome", "bwrap", "initdb"):
        command(bare, name)
    prepare(leave=False)
    assert capfd.readouterr() == ("", "")


def test_what_is_missing_is_named_and_then_installed(
    bare: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("bwrap", "pg_ctlcluster"):
        command(bare, name)
    command(bare, "apt-get", f'echo "$@" >> {bare}/log; echo unpacking')
    prepare(leave=False)
    message, errors = capfd.readouterr()
    assert message == (
        "▸ installing on this machine, with apt-get: chromium (pages are tested in a browser)\n"
    )
    assert errors == ""
    assert (bare / "log").read_text() == "install -qq -y chromium\n"


@pytest.mark.parametrize("leave", [True, False])
def test_a_machine_is_left_alone_where_asked_or_not_allowed(
    bare: Path, leave: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command(bare, "apt-get", f": > {bare}/touched")
    if not leave:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
    prepare(leave=leave)
    (message,) = capfd.readouterr().out.splitlines()
    assert "left alone" in message if leave else "install it yourself" in message
    assert not (bare / "touched").exists()
    assert missing() == ["chromium", "bubblewrap", "postgresql"]
