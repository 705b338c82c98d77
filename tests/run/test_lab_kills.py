"""`kill -9` of a suite at any moment: the same end, and nothing already paid for is asked again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from benchmarks.kills import run_in_child, run_with_kills
from tests.run.runs import lend
from tests.run.suites import SMALL, write_suite

from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.journal.journal import locate, open_store
from autoreason.models.doubles import EchoModel
from autoreason.run.lab import lab
from autoreason.run.recorded import resume
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


class DyingEcho(EchoModel):
    """Its process is killed while it answers for the third time."""

    asked = 0

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer, or die."""
        self.asked += 1
        if self.asked == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().ask(request, on_signal)


def run(
    folder: Path, url: str, workers: int = 0, model: EchoModel | None = None, calls: int = 2000
) -> str:
    """Begin the one suite of a journal, or go on with it."""
    with Journal.open(url, create=True) as journal:
        rows = journal.runs()
        pool = lend(model or SlowEcho())
        if not rows:
            work = lab.aio(
                folder / "suite.yaml",
                "echo/echo",
                journal=journal,
                pool=pool,
                anyway=True,
                budget=Budget(calls=calls),
                workers=workers,
            )
            asyncio.run(work)
        elif rows[0].status not in FINISHED:
            asyncio.run(resume.aio(rows[0].id, journal=journal, pool=pool))
    return url


def results(url: str) -> tuple[object, ...]:
    """The results of all cells by part, and calls answered."""
    with Journal.open(url, create=False) as journal:
        (row,) = journal.runs()
        cells = {
            each.cell.part: (each.result.status, each.result.words, each.result.ballots)
            for each in journal.story(row.id).of(CellFinished)
        }
        return row.status, cells, row.spent.calls


def calls_of(results: tuple[object, ...]) -> int:
    """How many calls were answered."""
    calls = results[-1]
    assert isinstance(calls, int)
    return calls


def asked_again(url: str) -> int:
    """How many requests were sent though their reply was recorded."""
    with closing(open_store(locate(url)).open_reader()) as reader:
        ((number,),) = reader.connection.execute(_ASKED_AGAIN).fetchall()
        return int(number)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_suite_ends_like_the_unbroken_one_and_pays_nothing_twice(
    tmp_path: Path, workers: int
) -> None:
    write_suite(tmp_path)
    whole = results(run(tmp_path, str(tmp_path / "whole.db")))
    url = str(tmp_path / "killed.db")
    longest = 0.08 if workers == 0 else 0.6
    work = partial(run, tmp_path, url, workers)
    code, kills = run_with_kills(work, random.Random(5), longest, more=1.4)
    assert code == 0
    assert kills >= 2
    assert results(url) == whole
    assert asked_again(url) == 0


def test_a_suite_that_is_killed_on_a_server_ends_as_in_a_file(
    tmp_path: Path, postgres_url: str
) -> None:
    write_suite(tmp_path, SMALL)
    whole = results(run(tmp_path, str(tmp_path / "whole.db")))
    # What was in flight is asked again within the same limit.
    dying = partial(run, tmp_path, postgres_url, model=DyingEcho(), calls=calls_of(whole))
    assert run_in_child(dying) == -signal.SIGKILL
    assert results(run(tmp_path, postgres_url)) == whole
    assert asked_again(postgres_url) == 0
