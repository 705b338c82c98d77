"""Every command does on a server what it does on a file."""

from __future__ import annotations

import json
import re

import pytest
from tests.cli.conftest import BRIEF, FAST, NO_END, Shell

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("runs",),
    ("show",),
    ("runs", "check"),
    ("run", BRIEF, *FAST, "-q"),
    ("runs", "--json"),
    ("runs", "--status", "capped", "--search", "tides", "--json"),
    ("show", "--json"),
    ("show", "--diff"),
    ("runs", "check", "last"),
    ("export", "last", "{place}-export"),
    ("audit", "last"),
    ("audit", "--all"),
    ("fork", "last", *FAST[2:], "-q"),
    ("run", BRIEF, *FAST, "-q", "--call-limit", "3", *NO_END),
    ("tell", "last", "Shorter."),
    ("tell", "last", "stop"),
    ("resume", "last", "--call-limit", "99", "-q"),
    ("tell", "last", "accept"),
    ("show", "--follow", "last"),
    ("run", BRIEF, *FAST, "-q", "--call-limit", "3", *NO_END),
    ("tell", "last", "accept"),
    ("judge", "@2", "-m", "echo/echo", "--judges", "3", "--seed", "7"),
    ("doctor",),
    ("runs", "check", "--json"),
    ("runs", "delete", "last", "--yes"),
    ("runs", "compact"),
    ("runs", "check"),
    ("runs", "show-me-nothing"),
)


def plain(said: str) -> str:
    """What was said, without names of runs, times, sizes and places."""
    said = re.sub(
        r"(20\d{6}-|(?<=· )|(?<=resume ))[a-z]+-[a-z]+|[-0-9]{10}[T ][0-9:.+]+Z?", "…", said
    )
    said = re.sub(r"postgresql://\S+|/\S+journal\.db\S*|\S+-export\S*", "(place)", said)
    return " ".join(re.sub(r"\d+(\.\d+)?(:\d+)? ?(MB|s\b|ms|min)?|[.:]\d+", "#", said).split())


@pytest.mark.timeout(100)
def test_what_is_said_and_done_is_the_same(quick_shell: Shell, postgres_url: str) -> None:
    for command in COMMANDS:
        said = []
        for place, journal in (("file", "journal.db"), ("server", postgres_url)):
            words = [word.format(place=place) if "{place}" in word else word for word in command]
            done = quick_shell(*words, AUTOREASON_JOURNAL=journal, COLUMNS="200")
            said.append((done.returncode, plain(done.stdout), plain(done.stderr)))
        assert said[0] == said[1], command


def test_runs_are_copied_to_a_server_and_replay_there(
    quick_shell: Shell, postgres_url: str
) -> None:
    assert quick_shell("run", BRIEF, *FAST, "-q", "--journal", "one.db").returncode == 0
    done = quick_shell("runs", "copy", "one.db", postgres_url, "--json")
    report = json.loads(done.stdout)
    assert report["to"] == postgres_url
    assert len(report["copied"]) == 1
    assert report["there"] == []
    assert (report["replayed"], report["differences"]) == (report["copied"], {})
    shown = [
        quick_shell("show", "--json", "--journal", place).stdout
        for place in ("one.db", postgres_url)
    ]
    assert shown[0] == shown[1]
    again = quick_shell("runs", "copy", postgres_url, "one.db")
    assert again.returncode == 0
    assert "0 runs copied and compared, 1 already there" in " ".join(again.stderr.split())


def test_what_makes_no_sense_on_a_server_is_said(quick_shell: Shell, postgres_url: str) -> None:
    assert quick_shell("run", BRIEF, *FAST, "-q", "--journal", postgres_url).returncode == 0
    done = quick_shell("runs", "backup", "copy.db", "--journal", postgres_url)
    assert done.returncode == 2
    assert "is on a server; back it up with pg_dump" in " ".join(done.stderr.split())
    size = json.loads(quick_shell("runs", "compact", "--json", "--journal", postgres_url).stdout)
    assert size["bytes_after"] > 0
