"""Cells in other processes: one budget over all of them, and a process that dies loses nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.journal.samples import a_reply, a_request, change, create_run
from tests.run.counting_server import ADDRESS, CountingServer, three_places
from tests.run.suites import SMALL, run_suite

from autoreason.errors import BudgetReached, InvalidInput
from autoreason.events import AnyEvent, RunStarted
from autoreason.journal import Journal
from autoreason.models.budget import CostBound
from autoreason.run import workers
from autoreason.run.cells import open_budget, open_tracker
from autoreason.run.recorded import resume
from autoreason.settings import Budget, Models, Settings
from autoreason.studies.lab_suite import CellFinished
from autoreason.task import Task

TALKATIVE = """\
import os
from autoreason.testing import EchoModel

class Talkative(EchoModel):
    def __init__(self, address):
        super().__init__()

    async def ask(self, request, on_signal=None):
        print("a line")
        os.system("echo another")
        assert os.read(0, 1) == b""
        return await super().ask(request, on_signal)
"""

CUT_OFF = """\
from pathlib import Path
from psycopg import connect
from autoreason.testing import EchoModel

class CutOff(EchoModel):
    def __init__(self, address):
        super().__init__()

    async def ask(self, request, on_signal=None):
        cut = Path(__file__).with_name("cut")
        if not cut.exists():
            cut.touch()
            with connect({url!r}) as connection:
                connection.execute({cut!r})
        return await super().ask(request, on_signal)
"""
CUT = """\
SELECT pg_terminate_backend(pid) FROM pg_locks JOIN autoreason.locks
ON classid::bigint = (key >> 32) & 4294967295 AND objid::bigint = key & 4294967295
WHERE locktype = 'advisory' AND run LIKE '%.%'
"""
"""Ends the connection of the process that has a cell locked."""


def children() -> list[int]:
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in found if "autoreason.run.workers" in command(pid)]


def command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def wait_late(pid: int, options: int, waitpid: Any = os.waitpid) -> tuple[int, int]:
    """Leave an ended process unnoticed for a moment, in which anybody else could wait for it."""
    if not options:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        time.sleep(0.1)
    waited: tuple[int, int] = waitpid(pid, options)
    return waited


async def test_cells_in_other_processes_end_as_in_this_one(
    tmp_path: Path,
    journal: Journal,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(os, "waitpid", wait_late)
    here = await run_suite(tmp_path, journal, model="echo/echo")
    there = await run_suite(tmp_path, journal, model="echo/echo", workers=2)
    assert there.report.pairs == here.report.pairs
    assert there.calls == here.calls
    assert not children()
    assert "child process" not in caplog.text


async def test_cells_are_recorded_on_a_server_by_a_process_that_is_replaced_without_connection(
    tmp_path: Path, postgres_url: str
) -> None:
    model = tmp_path / "model.py"
    model.write_text(CUT_OFF.format(url=postgres_url, cut=CUT))
    with Journal.open(postgres_url, create=True) as journal:
        result = await run_suite(tmp_path, journal, SMALL, model=f"{model}:CutOff/x", workers=1)
        assert (tmp_path / "cut").exists()
        assert result.status == "done"
        assert len(journal.cells(result.run)) == 4
        assert result.calls == journal.row(result.run).spent.calls


async def test_a_limit_holds_over_all_processes_and_the_rest_follows(
    tmp_path: Path, journal: Journal
) -> None:
    calls = 29
    options: dict[str, Any] = {"model": "echo/echo", "workers": 2}
    paused = await run_suite(tmp_path, journal, **options, budget=Budget(calls=calls))
    assert paused.status == "budget"
    assert paused.calls <= calls
    ended = await resume.aio(paused.run, journal=journal, budget=Budget(calls=5000))
    assert ended.status == "done"
    assert ended.calls == (await run_suite(tmp_path, journal, **options)).calls


async def test_a_process_that_is_killed_is_replaced_and_its_cells_go_on(
    tmp_path: Path, journal: Journal
) -> None:
    killed: list[int] = []

    def kill(event: AnyEvent) -> None:
        # Both may be on their way out or in, for a moment.
        alive = children() if isinstance(event, CellFinished) and len(killed) < 3 else []
        if alive:
            killed.append(alive[0])
            os.kill(killed[-1], signal.SIGKILL)

    options: dict[str, Any] = {"model": "echo/echo", "workers": 2, "budget": Budget(calls=5000)}
    result = await run_suite(tmp_path, journal, **options, on_event=kill)
    assert len(killed) == 3
    assert result.status == "done"
    whole = await run_suite(tmp_path, journal, model="echo/echo")
    assert result.report.pairs == whole.report.pairs
    assert result.calls == whole.calls


async def test_what_a_model_prints_in_another_process_goes_to_standard_error(
    tmp_path: Path, journal: Journal, capfd: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "talkative.py"
    model.write_text(TALKATIVE)
    address = f"{model}:Talkative/x"
    result = await run_suite(tmp_path, journal, SMALL, model=address, workers=1)
    assert result.status == "done"
    printed = capfd.readouterr()
    assert not printed.out
    assert printed.err.split("\n").count("a line") == result.calls
    assert printed.err.split("\n").count("another") == result.calls


async def test_a_process_that_cannot_be_understood_ends_before_another_has_its_cells(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive: list[int] = []

    def read(data: bytes) -> Any:
        alive.append(len(children()))
        if len(alive) == 1:
            raise msgspec.DecodeError
        return read_outcome(data)

    read_outcome = workers.read_outcome
    monkeypatch.setattr(workers, "read_outcome", read)
    result = await run_suite(tmp_path, journal, SMALL, model="echo/echo", workers=1)
    assert result.status == "done"
    assert max(alive) == 1


async def test_a_providers_limit_holds_over_all_processes(tmp_path: Path, journal: Journal) -> None:
    async with three_places(journal), CountingServer(delay=0.02).serving() as server:
        server.refusing = 2.0
        result = await run_suite(
            tmp_path, journal, model=ADDRESS, base_url=server.url, parallel=16, workers=2
        )
    assert result.status == "done"
    assert server.most == 3
    # In the time that the provider asks for, only the two that had a place already can come.
    assert max(later - sooner for sooner, later in pairwise(server.arrived)) >= 0.6


async def test_processes_end_with_their_scheduler(tmp_path: Path, journal: Journal) -> None:
    started = asyncio.create_task(run_suite(tmp_path, journal, model="echo/echo", workers=1))
    deadline = time.monotonic() + 30
    while not children() and time.monotonic() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    started.cancel()
    await asyncio.gather(started, return_exceptions=True)
    assert not children()


async def test_a_model_that_is_an_object_stays_here(tmp_path: Path, journal: Journal) -> None:
    with pytest.raises(InvalidInput, match="stays in this process"):
        await run_suite(tmp_path, journal, workers=2)


async def test_a_limit_counts_every_suite_that_was_added_to(journal: Journal) -> None:
    for suite, base in (("one", None), ("two", "one"), ("three", "two"), ("other", None)):
        create_run(journal, suite, forked_from=base)
        create_run(journal, f"{suite}.0001")
        await journal.record_reply(f"{suite}.0001", a_request(), a_reply())
    for suite, calls in (("one", 1), ("two", 2), ("three", 3)):
        budget = open_budget(journal, Budget(calls=9), suite)
        assert budget is not None
        assert budget.used.calls == calls


async def test_calls_under_way_at_a_kill_count_until_they_are_answered(journal: Journal) -> None:
    create_run(journal, "one")
    create_run(journal, "one.0001")
    for key, replies in (("lost", 0), ("lost", 0), ("also", 0), ("answered", 1)):
        journal.record_request("one.0001", a_request(key))
        if replies:
            await journal.record_reply("one.0001", a_request(key), a_reply())
    for calls in (3, 3):
        budget = open_budget(journal, Budget(calls=9), "one")
        assert budget is not None
        assert budget.used.calls == calls
        await journal.flush()
        journal.record_request("one.0001", a_request("also"))
    await journal.record_reply("one.0001", a_request("also"), a_reply())
    await journal.record_reply("one.0001", a_request("lost"), a_reply())
    budget = open_budget(journal, Budget(calls=9), "one")
    assert budget is not None
    assert budget.used.calls == 3


async def test_a_time_limit_counts_every_suite_that_was_added_to(journal: Journal) -> None:
    settings = Settings(models=Models.judging("echo/echo"), seed=1)
    started = RunStarted(task=Task(brief="a"), settings=settings, prompts={}, version="")
    await journal.begin_run("a", "", started, "one")
    await journal.record_reply("one", a_request(), a_reply())
    an_hour_before = "UPDATE events SET at = datetime(at, '-1 hour') || '+00:00'"
    change(str(journal.place), an_hour_before)
    for suite, base in (("two", "one"), ("other", None)):
        create_run(journal, suite, forked_from=base)
    budget = Budget(seconds=3600)
    other, two = (open_tracker(journal, budget, suite) for suite in ("other", "two"))
    assert other is not None
    assert two is not None
    await other.reserve(CostBound(1, 1, None))
    with pytest.raises(BudgetReached, match="time limit"):
        await two.reserve(CostBound(1, 1, None))
