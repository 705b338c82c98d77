"""`kill -9` at any moment: the same text and verdicts, and nothing already paid for is asked again."""

from __future__ import annotations

from benchmarks.kills import kill_runs
from tools.postgres import Server


def test_killed_runs_end_like_the_unbroken_one() -> None:
    killing = kill_runs(40, seed=11)
    assert killing.kills >= 40
    assert (killing.different, killing.asked_twice) == (0, 0)


def test_killed_runs_on_a_server_end_like_the_unbroken_one(postgres: Server) -> None:
    killing = kill_runs(15, seed=12, create=postgres.create)
    assert killing.kills >= 15
    assert (killing.different, killing.asked_twice) == (0, 0)
