"""Small things at the command line that would mislead or get in the way."""

from __future__ import annotations

import shutil
import sqlite3
from types import SimpleNamespace

import pytest
from tests.cli.conftest import BRIEF, FAST, Shell
from tests.cli.inside import Inside

from autoreason.journal.sqlite import SqliteStore


def test_a_mistyped_command_is_answered_with_the_one_it_may_have_been(inside: Inside) -> None:
    assert "No such command 'rnu'. Did you mean run" in inside("rnu", "x").err
    assert "Did you mean" not in inside("zzzzzz").err


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


def test_a_page_and_a_text_are_not_written_to_one_file(inside: Inside) -> None:
    both = ("--html", str(inside.folder / "same"), "-o", str(inside.folder / "same"))
    refused = inside("run", BRIEF, *FAST, *both)
    assert (refused.status, inside.journal_exists) == (2, False)
    assert "give each a file of its own" in refused.sentence


@pytest.mark.parametrize(
    "command",
    [
        ("runs",),
        ("run", "x", "-m", "echo/echo"),
        ("models",),
        ("skill", "install"),
        ("host", "next"),
    ],
)
def test_a_user_without_a_home_is_told_so(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    for name in (
        "HOME",
        "AUTOREASON_JOURNAL",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    said = inside(*command)
    assert (said.status, said.sentence) == (2, "this user has no home folder; set HOME to one")
