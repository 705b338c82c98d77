"""`runs` with its filters, `runs delete` and what takes care of the journal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest
from tests.cli.conftest import BRIEF, FAST, NO_END, Shell
from tests.cli.inside import Inside
from tests.cli.server import Server
from tests.journal.samples import change

from autoreason.journal import Journal


@pytest.fixture
def several(inside: Inside, server: Server) -> Inside:
    """A finished run, one that reached its budget, and one of another strategy."""
    assert inside("run", BRIEF, *FAST, "-q", "--rounds", "1", "--set", "reviewers=0").status == 0
    assert inside("run", "A Haiku on Ütopia", *FAST, "-q", "--call-limit", "2", *NO_END).status == 3
    server.gate.set()
    other = ("-m", "test/slow", "--base-url", server.url)
    assert inside("run", BRIEF, *other, "--strategy", "single", "-q").status == 0
    return inside


def listed(shell: Inside, *options: str) -> list[str]:
    rows = json.loads(shell("runs", *options, "--json").out)
    return [f"{row['strategy']} {row['status']}" for row in rows]


SINGLE, HAIKU, FIRST = "single done", "autoreason budget", "autoreason capped"


def test_runs_are_filtered(several: Inside) -> None:
    expected: dict[tuple[str, ...], list[str]] = {
        (): [SINGLE, HAIKU, FIRST],
        ("--status", "budget"): [HAIKU],
        ("--status", "budget", "--status", "done"): [SINGLE, HAIKU],
        ("--status", "damaged"): [],
        ("--strategy", "single"): [SINGLE],
        ("--model", "slow"): [SINGLE],
        ("--search", "haiku ON ütopia"): [HAIKU],
        ("--since", "1h"): [SINGLE, HAIKU, FIRST],
        ("--until", "1h"): [],
        ("--since", "2020-01-01", "--until", "2100-01-01 12:00", "-n", "1"): [SINGLE],
        ("-n", "1000000"): [SINGLE, HAIKU, FIRST],
    }
    assert {options: listed(several, *options) for options in expected} == expected


def test_what_those_shown_took_stands_under_the_table(several: Inside) -> None:
    calls = [row["calls"] for row in json.loads(several("runs", "--json").out)]
    assert several("runs").out.splitlines()[-1].startswith(f"3 runs: {sum(calls)} calls, ")
    last = several("runs", "-n", "1").out.splitlines()[-1]
    assert last.startswith(f"1 run: {calls[0]} call")
    assert last.endswith("; -n 10 shows more")


def test_a_run_is_deleted_only_after_a_yes(several: Inside) -> None:
    refused = several("runs", "delete", "last")
    assert refused.status == 2
    assert "1 run would be gone for good; add --yes" in refused.err
    assert several("runs", "delete", "last", "--dry-run").status == 0
    assert listed(several) == [SINGLE, HAIKU, FIRST]
    done = several("runs", "delete", "last", "@2", "last", "--yes", "--json")
    assert len(json.loads(done.out)["runs"]) == 2
    assert listed(several) == [FIRST]
    assert several("runs", "check", "last").status == 0
    assert "no run 'gone'" in several("runs", "delete", "gone", "--yes").err


def test_old_runs_are_deleted_and_live_ones_never(several: Inside) -> None:
    assert "0 runs deleted" in several("runs", "delete", "--older-than", "1d", "--yes").err
    old = "UPDATE runs SET updated = '2020-01-01T00:00:00.000+00:00'"
    change(str(several.folder / "journal.db"), old)
    with Journal.open(str(several.folder / "journal.db"), create=False) as journal:
        live = journal.find("last").id
        with journal.lock(live):
            named = several("runs", "delete", live, "--yes")
            assert named.status == 2
            assert f"{live} is live; end it first" in named.err
            pruned = several("runs", "delete", "--older-than", "1d", "--yes", "--json")
            assert len(json.loads(pruned.out)["runs"]) == 2
            assert several("runs", "compact").status == 2
    assert listed(several) == [SINGLE]


def test_a_damaged_run_is_named_and_fails_the_check(several: Inside) -> None:
    torn = "UPDATE replies SET request = CAST(x'7b22ff' AS TEXT) WHERE rowid ="
    torn += " (SELECT MIN(rowid) FROM replies WHERE role = 'author')"
    change(str(several.folder / "journal.db"), torn)
    run = json.loads(several("runs", "--json", "-n", "3").out)[-1]["run"]
    checked = several("runs", "check", "--json")
    assert checked.status == 1
    (damage,) = json.loads(checked.out)["damages"]
    assert damage["run"] == run
    for command in (("runs", "check", run), ("export", run, "out")):
        said = several(*command)
        assert said.status == 2, command
        assert f"the record of {run} in" in said.err
        assert "a text cannot be decoded" in said.err
        assert said.err.count("\n") == 1


@pytest.fixture
def read_only(quick_shell: Shell) -> Iterator[Shell]:
    """A finished run in a journal on a medium that cannot be written."""
    assert quick_shell("run", BRIEF, *FAST, "-q").returncode == 0
    folder = str(quick_shell.journal.parent)
    for how in (["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
        if subprocess.run(["mount", *how], capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here")
    yield quick_shell
    subprocess.run(["umount", folder], check=True)


def test_a_read_only_journal_is_read_by_every_command_that_reads(read_only: Shell) -> None:
    for command in ("runs", "show", "export last out", "audit", "runs check last"):
        done = read_only(*command.split())
        assert (command, done.returncode, done.stderr.count("Traceback")) == (command, 0, 0)
    assert read_only("export", "--pairs", "-").returncode == 0
    for command in ("run x -m echo/echo", "runs delete last --yes", "runs compact", "fork last -q"):
        refused = read_only(*command.split())
        assert refused.returncode == 2
        assert "is read-only" in refused.stderr
        assert refused.stderr.count("\n") <= 2
