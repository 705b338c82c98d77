"""AUTOREASON_LOG shows on standard error what goes over the wire."""

from __future__ import annotations

import pytest
from rich.console import Console
from tests.cli.conftest import BRIEF, Shell
from tests.cli.inside import Inside
from tests.cli.server import Server

from autoreason.cli.live import Live
from autoreason.cli.outcome import OutputOptions
from autoreason.cli.progress import Plain
from autoreason.cli.runner import choose_view
from autoreason.cli.screen import Screen

KEY = "sk-quux-7731"


def test_a_run_logs_every_request_and_neither_key_nor_brief(shell: Shell, server: Server) -> None:
    server.gate.set()
    asked = ("run", BRIEF, "-m", "test/slow", "--base-url", server.url, "-q", "--rounds", "1")
    done = shell(*asked, TEST_API_KEY=KEY, AUTOREASON_LOG="debug")
    assert done.returncode == 0
    assert server.keys == {KEY}
    lines = done.stderr.splitlines()
    assert sum(f" POST {server.url}/chat/completions" in line for line in lines) == server.asked
    assert sum(line.endswith(f" DEBUG GET {server.url}/models") for line in lines) == 1
    for said in (KEY, *BRIEF.split()[2:]):
        assert said not in done.stderr


def test_a_level_that_is_none_is_refused(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOREASON_LOG", "loud")
    assert inside("runs").sentence.startswith("AUTOREASON_LOG is `loud`; set it to debug or info")


def test_a_log_on_a_terminal_is_not_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    console = Console(force_terminal=True)
    assert isinstance(choose_view(Live("r"), OutputOptions(), console), Screen)
    monkeypatch.setenv("AUTOREASON_LOG", "debug")
    assert isinstance(choose_view(Live("r"), OutputOptions(), console), Plain)
