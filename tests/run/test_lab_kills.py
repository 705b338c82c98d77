"""`kill -9` of a suite at any moment: the same end, and nothing already paid for is asked again."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from functools import partial
from pathlib import Path

import pytest
from benchmarks.kills import run_with_kills
from tests.run.runs import lend
from tests.run.suites import write_suite

from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.run.lab import lab_async
from autoreason.run.resume import resume_async
from autoreason.settings import Budget
from autoreason.studies.lab.lab_suite import CellFinished

_ASKED_AGAIN = """
    SELECT count(*) FROM asked JOIN replies ON replies.run = asked.run AND replies.key = asked.key
    WHERE asked.at > replies.at
"""


class SlowEcho(EchoModel):
    """Answers slowly enough to be killed meanwhile."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer after a moment."""
        await asyncio.sleep(0.002)
        return await super().ask(request, on_signal)


def run(folder: Path, path: Path, workers: int = 0) -> Path:
    """Begin the one suite of a journal, or go on with it."""
    with Journal.open(str(path), create=True) as journal:
        rows = journal.runs()
        pool = lend(SlowEcho())
        if not rows:
            work = lab_async(
                folder / "suite.yaml",
                "echo/echo",
                journal=journal,
                pool=pool,
                anyway=True,
                budget=Budget(calls=2000),
                workers=workers,
            )
            asyncio.run(work)
        elif rows[0].status not in FINISHED:
            asyncio.run(resume_async(rows[0].id, journal=journal, pool=pool))
    return path


def results(path: Path) -> tuple[object, ...]:
    """The results of all cells by part, and calls answered."""
    with Journal.open(str(path), create=False) as journal:
        (row,) = journal.runs()
        cells = {
            each.cell.part: (each.result.status, each.result.words, each.result.ballots)
            for each in journal.story(row.id).of(CellFinished)
        }
        return row.status, cells, row.spent.calls


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_suite_ends_like_the_unbroken_one_and_pays_nothing_twice(
    tmp_path: Path, workers: int
) -> None:
    write_suite(tmp_path)
    whole = results(run(tmp_path, tmp_path / "whole.db"))
    path = tmp_path / "killed.db"
    longest = 0.4 if workers == 0 else 2.5
    code, kills = run_with_kills(partial(run, tmp_path, path, workers), random.Random(5), longest)
    assert code == 0
    assert kills >= 2
    assert results(path) == whole
    with sqlite3.connect(path) as connection:
        assert connection.execute(_ASKED_AGAIN).fetchone() == (0,)
