"""`kill -9` at any moment: the same text and verdicts, and nothing already paid for is asked again."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest
from benchmarks.kills import kill_runs
from benchmarks.research_kills import kill_research
from tests.closing import closed_after
from tests.programs.stage import MadeUpExaminer
from tests.run.leaving import emitted
from tests.run.runs import go_on, open_journal
from tests.run.solve_runs import SCRIPT, solve_one
from tools.postgres import Server

from autoreason.events import AnyEvent
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel


def test_killed_runs_end_like_the_unbroken_one() -> None:
    killing = kill_runs(40, seed=11)
    assert killing.kills >= 40
    assert (killing.different, killing.asked_twice) == (0, 0)


def test_killed_runs_on_a_server_end_like_the_unbroken_one(postgres: Server) -> None:
    killing = kill_runs(15, seed=12, create=postgres.create)
    assert killing.kills >= 15
    assert (killing.different, killing.asked_twice) == (0, 0)


@pytest.mark.parametrize(
    ("kills", "parallel", "process", "calls"),
    [(10, 1, False, None), (10, 2, False, None), (2, 2, True, None), (10, 1, False, 8)],
)
def test_research_killed_at_any_moment_ends_like_an_unbroken_run(
    kills: int, parallel: int, process: bool, calls: int | None
) -> None:
    killing = kill_research(kills, seed=3, parallel=parallel, process=process, calls=calls)
    assert killing.kills >= kills
    assert (killing.different, killing.asked_twice) == (0, 0)


async def gone_on(journal: Journal) -> list[AnyEvent]:
    """What the one run of a journal told once it is done; nothing where it was never begun."""
    for row in journal.runs():
        if row.status != "done":
            await go_on(journal, row.id, ScriptedModel(SCRIPT), examiner=MadeUpExaminer())
        return emitted(journal, row.id)
    return []


@pytest.mark.timeout(60)
def test_whenever_the_loop_is_closed_the_run_ends_and_can_go_on(tmp_path: Path) -> None:
    ends = []
    done, turns = False, 0
    while not done:
        turns += 1 + turns // 2
        folder = tmp_path / str(turns)
        with open_journal(folder) as journal:
            done = closed_after(
                turns, partial(solve_one, journal, ScriptedModel(SCRIPT), "tournament")
            )
        with open_journal(folder) as journal:
            ends.append(asyncio.run(gone_on(journal)))
    told_something = list(filter(None, ends))
    assert len(told_something) > 5
    assert all(end == ends[-1] for end in told_something)
