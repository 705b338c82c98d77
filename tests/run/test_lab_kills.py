"""`kill -9` of a suite at any moment: the same end, and nothing already paid for is asked again."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import pytest
from benchmarks.kills import run_in_child, run_with_kills
from tests.journal.test_postgres import disconnect
from tests.run.counting_server import ADDRESS, CountingServer
from tests.run.runs import lend
from tests.run.suites import SMALL, CountedModel, run_suite, write_suite
from tools.postgres import Server

from autoreason.errors import RunLocked, WritingFailed
from autoreason.events import FINISHED
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.journal.journal import locate, open_store
from autoreason.models.doubles import EchoModel
from autoreason.run.cells import lab_status
from autoreason.run.lab import lab
from autoreason.run.recorded import replay, resume
from autoreason.run.result import StudyResult
from autoreason.settings import Budget
from autoreason.studies.lab_report import LabReport
from autoreason.studies.lab_suite import CellFinished

_ASKED_AGAIN = """
    SELECT count(*) FROM asked JOIN replies ON replies.run = asked.run AND replies.key = asked.key
    WHERE asked.at > replies.at
"""


class SlowEcho(EchoModel):
    """Answers slowly enough to be killed meanwhile."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        await asyncio.sleep(0.002)
        return await super().ask(request, on_signal)


class DyingEcho(EchoModel):
    """Its process is killed while it answers for the third time."""

    asked = 0

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        self.asked += 1
        if self.asked == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().ask(request, on_signal)


def run(
    folder: Path, url: str, workers: int = 0, model: EchoModel | None = None, calls: int = 2000
) -> str:
    with Journal.open(url, create=True) as journal:
        rows = journal.runs()
        pool = lend(model or SlowEcho())
        if not rows:
            terms: Any = {"anyway": True, "budget": Budget(calls=calls), "workers": workers}
            suite = folder / "suite.yaml"
            asyncio.run(lab.aio(suite, "echo/echo", journal=journal, pool=pool, **terms))
        elif rows[0].status not in FINISHED:
            asyncio.run(resume.aio(rows[0].id, journal=journal, pool=pool))
    return url


def results(url: str) -> tuple[object, ...]:
    with Journal.open(url, create=False) as journal:
        (row,) = journal.runs()
        cells = {
            each.cell.part: (each.result.status, each.result.words, each.result.ballots)
            for each in journal.story(row.id).of(CellFinished)
        }
        return row.status, cells, row.spent.calls


def calls_of(results: tuple[object, ...]) -> int:
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
    began = time.monotonic()
    whole = results(run(tmp_path, str(tmp_path / "whole.db")))
    longest = (time.monotonic() - began) / 8
    url = str(tmp_path / "killed.db")
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


async def whole(tmp_path: Path) -> StudyResult[LabReport]:
    with Journal.open(str(tmp_path / "whole.db"), create=True) as journal:
        return await run_suite(tmp_path, journal, SMALL)


async def break_and_go_on(tmp_path: Path, url: str, happen: Callable[[Journal], object]) -> str:
    """Break a suite in mid-run, then go on with it; returns what was said of the break."""
    journal = Journal.open(url, create=True)
    model = CountedModel(lambda asked: asked == 3 and happen(journal))
    with pytest.raises(WritingFailed) as caught, journal:
        await run_suite(tmp_path, journal, SMALL, model=model, parallel=1)
    expected = await whole(tmp_path)
    with Journal.open(url, create=False) as journal:
        run = journal.find("last").id
        assert str(caught.value).endswith(f"resume with `autoreason resume {run}`")
        status = lab_status(run, journal=journal)
        paused = "is paused (its process was killed, or could not reach the journal): "
        assert paused in status.conclusion
        again = CountedModel()
        result = await resume.aio(run, journal=journal, pool=lend(again))
        assert isinstance(result, StudyResult)
        assert result.report.pairs == expected.report.pairs
        assert result.calls == expected.calls
        in_flight = len(model.asked) + len(again.asked) - expected.calls
        assert 0 <= in_flight <= 3
        assert (await replay.aio(run, journal=journal)).same
    return str(caught.value)


async def test_a_full_disk_is_a_pause(tmp_path: Path) -> None:
    def fill(journal: Journal) -> None:
        limit = "PRAGMA max_page_count = 1"
        journal._get_writer().commit_now("", lambda connection: connection.execute(limit))

    said = await break_and_go_on(tmp_path, str(tmp_path / "journal.db"), fill)
    assert "no space is left for" in said


async def test_a_server_that_goes_away_is_a_pause(
    tmp_path: Path, postgres: Server, postgres_url: str
) -> None:
    said = await break_and_go_on(
        tmp_path, f"{postgres_url}&retry=0", lambda _: disconnect(postgres, postgres_url)
    )
    assert "when the server can be reached" in said


async def test_a_suite_in_several_processes_outlives_a_restart_of_its_server(
    tmp_path: Path, own_server: Server
) -> None:
    url = own_server.create()
    async with CountingServer(delay=0).serving() as server:
        with Journal.open(url, create=True) as journal:
            whole = await run_suite(tmp_path, journal, model=ADDRESS, base_url=server.url)
            asked, server.asked = server.asked, Counter()
            run = run_suite(tmp_path, journal, model=ADDRESS, base_url=server.url, workers=2)
            running = asyncio.create_task(run)
            server.answers = whole.calls + 10
            while server.answered < server.answers:
                assert not running.done(), running.result()
                await asyncio.sleep(0.02)
            await asyncio.to_thread(own_server.restart)
            server.answers = inf
            result = await running
            assert result.status == "done"
            assert result.report.pairs == whole.report.pairs
            assert server.asked == asked
            assert (await replay.aio(result.run, journal=journal)).same


async def test_a_second_scheduler_on_another_host_is_refused(
    tmp_path: Path, postgres_url: str
) -> None:
    model, refused = CountedModel(), CountedModel()

    class Watched(CountedModel):
        async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
            if not model.asked:
                model.asked.append("once")
                with (
                    Journal.open(postgres_url, create=False) as other,
                    pytest.raises(RunLocked, match="is locked by process"),
                ):
                    await resume.aio("last", journal=other, pool=lend(refused))
            return await super().ask(request, on_signal)

    with Journal.open(postgres_url, create=True) as journal:
        result = await run_suite(tmp_path, journal, SMALL, model=Watched())
    assert result.report.pairs == (await whole(tmp_path)).report.pairs
    assert (model.asked, refused.asked) == (["once"], [])
