"""A suite whose disk is full, whose server goes away, that is run twice at once, or on hosts whose clocks differ."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from math import inf
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.journal.test_postgres import disconnect
from tests.run.counting_server import ADDRESS, CountingServer
from tests.run.runs import lend
from tests.run.suites import SMALL, CountedModel, run_suite
from tools.postgres import Server

from autoreason.errors import RunLocked, WritingFailed
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.run.lab_status import lab_status
from autoreason.run.recorded import replay, resume
from autoreason.run.result import StudyResult
from autoreason.settings import Budget
from autoreason.studies.lab_report import LabReport


class Interrupted(CountedModel):
    """A model during whose fourth answer something happens."""

    def __init__(self, happen: Callable[[], object]) -> None:
        super().__init__()
        self._happen = happen

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Let it happen, then answer."""
        if len(self.asked) == 3:
            self._happen()
        return await super().ask(request, on_signal)


async def whole(tmp_path: Path) -> StudyResult[LabReport]:
    """The unbroken run."""
    with Journal.open(str(tmp_path / "whole.db"), create=True) as journal:
        return await run_suite(tmp_path, journal, SMALL)


async def break_and_go_on(tmp_path: Path, url: str, happen: Callable[[Journal], object]) -> str:
    """Break a suite in mid-run, then go on with it; returns what was said of the break."""
    journal = Journal.open(url, create=True)
    model = Interrupted(lambda: happen(journal))
    with pytest.raises(WritingFailed) as caught, journal:
        await run_suite(tmp_path, journal, SMALL, model=model, parallel=1)
    expected = await whole(tmp_path)
    with Journal.open(url, create=False) as journal:
        run = journal.find("last").id
        assert str(caught.value).endswith(f"resume with `autoreason resume {run}`")
        status = lab_status(run, journal=journal)
        assert "is paused (its process was killed, or could not reach the journal): " in str(
            status.conclusion
        )
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


@pytest.mark.parametrize("hours", [-3, 3])
async def test_a_host_whose_clock_differs_goes_on_as_any_other(tmp_path: Path, hours: int) -> None:
    expected = await whole(tmp_path)
    model = CountedModel()
    with Journal.open(str(tmp_path / "journal.db"), create=True) as journal:
        paused = await run_suite(tmp_path, journal, SMALL, model=model, budget=Budget(calls=3))
        clock = time.time_ns
        with patch("autoreason.journal.codec.time_ns", lambda: clock() + hours * 3_600_000_000_000):
            more = Budget(calls=99)
            result = await resume.aio(paused.run, journal=journal, pool=lend(model), budget=more)
        assert isinstance(result, StudyResult)
        assert result.report.pairs == expected.report.pairs
        assert len(model.asked) == expected.calls
        assert (await replay.aio(paused.run, journal=journal)).same
        status = lab_status(paused.run, journal=journal)
        assert (status.progress.done, status.progress.left) == (status.progress.total, 0)
        assert 0 <= status.progress.seconds < 60
