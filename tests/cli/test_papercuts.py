"""Small things at the command line that would mislead or get in the way."""

from __future__ import annotations

import shutil
import sqlite3
from types import SimpleNamespace

import pytest
from rich.console import Console
from tests.cli.conftest import BRIEF, FAST, Shell
from tests.cli.inside import Inside
from tests.cli.server import Server

from autoreason.cli.live import Live
from autoreason.cli.outcome import OutputOptions
from autoreason.cli.progress import Plain
from autoreason.cli.runner import choose_view
from autoreason.cli.screen import Screen
from autoreason.journal.sqlite import SqliteStore


def test_a_command_like_no_other_and_a_level_that_is_none_are_refused(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Did you mean" not in inside("zzzzzz").err
    monkeypatch.setenv("AUTOREASON_LOG", "loud")
    assert inside("runs").sentence.startswith("AUTOREASON_LOG is `loud`; set it to debug or info")


def test_a_difference_of_nothing_is_said_so(inside: Inside) -> None:
    inside("run", BRIEF, *FAST, "-q", "--strategy", "single")
    same = inside("show", "--diff")
    assert same.err == "nothing changed: the text is the first draft\n"


def test_utf_8_is_read_where_the_locale_knows_none(shell: Shell) -> None:
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = shell("run", "Über Gezeiten", *FAST, "-q", "--rounds", "1", **plain)
    assert done.returncode == 0, done.stderr
    assert "\n1 run: " in shell("runs", "--search", "Über Gezeiten").stdout


def test_a_file_on_a_full_disk_is_named(inside: Inside) -> None:
    inside("run", BRIEF, *FAST, "-q")
    full = inside("export", "--pairs", "/dev/full")
    assert full.sentence == "cannot use /dev/full: No space left on device; name another"


def test_a_record_on_a_full_disk_is_said_to_be_safe(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = sqlite3.OperationalError("disk I/O error")
    failed.sqlite_errorcode = sqlite3.SQLITE_IOERR
    path = inside.folder / "journal.db"
    explain = SqliteStore(path).explain
    assert "then resume" in str(explain(failed))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    said = str(explain(failed))
    assert said.startswith(f"no space is left beside {path}, ")
    assert said.endswith("the record is safe")


def test_a_limit_is_raised_by_enough_and_where_that_is_too_late_in_a_new_run(
    inside: Inside,
) -> None:
    paused = inside("run", BRIEF, "-m", "echo/echo", "--token-limit", "3000", "-q")
    advised = int(paused.sentence.rpartition("--token-limit ")[2].strip("`"))
    assert inside("resume", "--token-limit", str(advised), "-q").status in (0, 3)
    assert " 0 of " not in inside("show").out, "a call was made"
    inside("run", BRIEF, "-m", "echo/echo", "--call-limit", "30", "--seed", "3", "-q")
    too_late = inside("resume", "last", "--call-limit", "60").sentence
    assert "is finished (another round did not fit its limits); `autoreason fork 2" in too_late
    assert too_late.endswith(" --call-limit 45` goes on from its result with more")


@pytest.mark.parametrize(
    "command",
    ["runs", "run x -m echo/echo", "models", "skill install", "host next"],
)
def test_a_user_without_a_home_is_told_so(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in (
        "HOME",
        "AUTOREASON_JOURNAL",
        *(f"XDG_{each}_HOME" for each in ("DATA", "CACHE", "CONFIG")),
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    said = inside(*command.split())
    assert (said.status, said.sentence) == (2, "this user has no home folder; set HOME to one")


LONG = (
    "Write about the tides of the northern sea and about boats that are older than their harbours"
)


@pytest.fixture
def piped(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """A folder with a run and a panel, where nothing says how wide lines may be."""
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in ("alpha", "beta"):
        inside.write(f"{name}-with-a-long-name-of-its-own.md", f"The text {name}, at some length.")
    texts = (f"{name}-with-a-long-name-of-its-own.md" for name in ("alpha", "beta"))
    assert inside("run", LONG, *FAST, "-q").status == 0
    panel = ("-m", "echo/echo", "--judges", "3", "--seed", "1", "-q", "--pairwise")
    assert inside("judge", LONG, *texts, *panel).status == 0
    return inside


COMMANDS = (
    *("runs", "audit", "show", "show @2", "models", "models list", "prompts"),
    "compare x --strategies improve,single,harsh --repeats 3 --rounds 1 --seed 1 -m echo/echo -q",
    "simulate --world help --runs 2 -q",
)


def test_no_line_is_wider_than_80_columns(piped: Inside) -> None:
    wide = []
    for command in COMMANDS:
        done = piped(*command.split())
        assert done.status == 0, done.err
        wide += [line for line in done.out.splitlines() if len(line) > 80]
    # A path is not broken.
    assert [line for line in wide if " " in line] == []


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


def test_a_log_on_a_terminal_is_not_drawn_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    console = Console(force_terminal=True)
    assert isinstance(choose_view(Live("r"), OutputOptions(), console), Screen)
    monkeypatch.setenv("AUTOREASON_LOG", "debug")
    assert isinstance(choose_view(Live("r"), OutputOptions(), console), Plain)
