"""`audit`: whether a record can be relied on, for people and for programs."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from tests.cli.conftest import BRIEF, FAST, Shell

GROUPS = ("Ballots", "Judges", "Stopping", "Texts")


def size_of(audit: str) -> str:
    """How much was audited, which follows the conclusion."""
    return audit.split("\n\n")[1]


def test_the_newest_run_is_audited_group_by_group(finished: Shell) -> None:
    done = finished("audit")
    assert done.returncode == 0
    places = [done.stdout.index(f"\n{group}\n") for group in GROUPS]
    assert places == sorted(places)
    assert size_of(done.stdout).startswith("1 run, 2 passes, ")
    assert re.search("fine +invalid ballots +the record counts none of", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert done.stdout.rstrip().splitlines()[-1].endswith(".")


def test_a_damaged_run_is_named_and_does_not_hide_the_others(finished: Shell) -> None:
    for seed in ("8", "9", "10"):
        assert finished("run", BRIEF, *FAST, "--seed", seed, "-q").returncode == 0
    (place,) = finished.home.rglob("*.db")
    with closing(sqlite3.connect(place)) as journal, journal:
        newest, second, third, _ = (
            run for (run,) in journal.execute("SELECT id FROM runs ORDER BY rowid DESC")
        )
        undecodable = "UPDATE {} = CAST(x'7b22ff' AS TEXT) WHERE run = ? AND {}"
        journal.execute(undecodable.format("events SET payload", "seq = 2"), (newest,))
        judge = "id = (SELECT max(id) FROM replies WHERE run = ?2 AND role = 'judge')"
        journal.execute(undecodable.format("replies SET reply", judge), (second, second))
        journal.execute("UPDATE events SET payload = '{}' WHERE run = ? AND seq = 3", (third,))
    done = finished("audit", "--all")
    assert done.returncode == 0
    assert size_of(done.stdout).startswith("1 run, ")
    assert sorted(done.stderr.splitlines()) == sorted(
        f"autoreason: {run} is left out: its record is damaged" for run in (newest, second, third)
    )
