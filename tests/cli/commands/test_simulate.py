"""`simulate`: protocols in worlds, and one sentence for every mistake."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Shell

QUICK = ("simulate", "--runs", "2", "--world", "help")


def test_the_table_has_a_line_for_every_protocol(quick_shell: Shell) -> None:
    done = quick_shell(*QUICK, "--world", "harm-new", "--set", "k=1", "--set", "reviewers=9")
    assert done.returncode == 0, done.stderr
    for line in ("help: Revisions help", "harm-new:", "paper ", "robust k=1", "2 runs"):
        assert line in done.stdout
    assert "quality" in done.stdout


def test_programs_get_the_same_as_json_and_a_page_is_written(quick_shell: Shell) -> None:
    done = quick_shell(
        *QUICK, "--json", "--budget", "40", "--html", "c.html", "--protocol", "paper"
    )
    shown = json.loads(done.stdout)
    (cell,) = shown["cells"]
    assert (cell["world"], cell["protocol"]) == ("help", "paper")
    assert cell["summary"]["calls"]["value"] <= 40
    assert cell["summary"]["runs"] == 2
    assert shown["worlds"][0]["judges"]["noise"] == 1.5
    assert "help: Revisions help" in (quick_shell.home / "c.html").read_text("utf-8")


def test_a_long_study_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from autoreason.cli import console

    monkeypatch.setattr(console, "_SECONDS_BETWEEN_LINES", 0)
    with console.ProgressLine("done", quiet=False) as progress:
        progress(1, 4)
    assert "1 of 4 done" in capsys.readouterr().err
    with console.ProgressLine("done", quiet=True) as progress:
        progress(1, 4)
    assert capsys.readouterr().err == ""
