"""Leases in the journal: all workers together have no more places than the limit, and no more money than the budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from tests.journal.samples import a_reply, a_request, create_run
from tests.patience import PATIENCE

from autoreason.errors import BudgetReached
from autoreason.exchange import Outcome, Reply, Usage
from autoreason.job_types import Lab
from autoreason.journal import Journal
from autoreason.journal.writer import HeldRows
from autoreason.models.budget import CostBound
from autoreason.models.layers import Width
from autoreason.run.cells import CellRun
from autoreason.run.leases import BASE, Lease, LeasedBudget, Leases, as_row, provider_account
from autoreason.run.result import StopSwitch
from autoreason.run.workers import CellWorker, Opening, WorkerExecutor, _Started, send_cell
from autoreason.settings import Budget, Models, Settings, make_settings
from autoreason.task import Task

SUITE, OTHER_SUITE = "20260101-amber-fox", "20260101-blue-hare"
CELL = f"{SUITE}.0001"
UPPER = CostBound(1, 100, None)
REPLY = Reply(
    outcome=Outcome.OK, text="Long.", model="acme/large", usage=Usage(input=3, output=4), seconds=0
)


class Worker:
    """What a worker leases, over a journal of its own in which it is locked."""

    def __init__(self, name: str, url: str) -> None:
        self.journal = Journal.open(url, create=False)
        self._lock = ExitStack()
        self._lock.enter_context(self.journal.lock(name))
        self.leases = Leases(self.journal, name)
        self.limiter = self.leases.limiter("acme")

    def budget(self, suite: str = SUITE, *, calls: int) -> LeasedBudget:
        return self.leases.budget(suite, Budget(calls=calls))

    async def die(self) -> None:
        """Do nothing any more, and lose the lock."""
        if self.leases._deciding:
            self.leases._deciding.cancel()
            await asyncio.gather(self.leases._deciding, return_exceptions=True)
        self.leases._table.close()
        self._lock.close()
        self.journal.close()


class Suites:
    """A journal, its workers and its table of leases."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.journal = Journal.open(url, create=True)
        self.table = self.journal.open_leases()
        self.workers: list[Worker] = []

    def worker(self) -> Worker:
        self.workers.append(Worker(f"worker-{len(self.workers)}", self.url))
        return self.workers[-1]

    def scheduler(self, calls: int) -> WorkerExecutor:
        models, budget = Models.judging("echo/echo"), Budget(calls=calls)
        settings = Settings(models=models, seed=1, budget=budget)
        return WorkerExecutor(Lab(workers=1), self.journal, settings, StopSwitch())

    async def rows(self, account: str, **new: Lease | Width) -> dict[str, str]:
        """The rows of an account, perhaps with another one; `base` is that of nobody."""

        def decide(rows: HeldRows, _now: float) -> dict[str, str]:
            rows[account] |= {BASE if k == "base" else k: as_row(v) for k, v in new.items()}
            return rows[account]

        return await self.table.update([account], decide)

    async def places(self, number: int) -> None:
        width = Width(float(number), float(number))
        await self.rows(provider_account("acme"), base=width)


@pytest.fixture(params=["file", "server"])
async def suites(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str
) -> AsyncIterator[Suites]:
    """On each kind of database."""
    suites = Suites(postgres_url if request.param == "server" else str(tmp_path / "journal.db"))
    yield suites
    for worker in suites.workers:
        await worker.die()
    suites.table.close()
    suites.journal.close()


async def soon(task: asyncio.Task[object]) -> bool:
    """Whether something happens within the time in which all workers have decided."""
    await asyncio.wait([task], timeout=0.7)
    return task.done()


async def test_workers_have_no_more_places_than_the_limit_and_all_calls_get_one(
    suites: Suites,
) -> None:
    await suites.places(3)
    chance, inside, most, done = Random(1), 0, 0, 0

    async def call(worker: Worker) -> None:
        nonlocal inside, most, done
        await worker.limiter.enter()
        inside += 1
        most = max(most, inside)
        try:
            await asyncio.sleep(0.01 * chance.random())
            worker.limiter.widen()
            done += 1
        finally:
            inside -= 1
            worker.limiter.leave()

    workers = [suites.worker() for _ in range(3)]
    calls = [asyncio.create_task(call(chance.choice(workers))) for _ in range(60)]
    await asyncio.sleep(0.05)
    gone = [each for each in calls[::7] if each.cancel()]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*calls, return_exceptions=True)
    assert most == 3
    assert done >= 60 - len(gone)
    async with asyncio.timeout(PATIENCE):
        while await held(suites) != [Lease()] * 3:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def held(suites: Suites) -> list[Lease]:
    rows = await suites.rows(provider_account("acme"))
    return [msgspec.json.decode(rows[holder], type=Lease) for holder in rows if holder != BASE]


async def test_who_has_waited_longer_comes_first(suites: Suites) -> None:
    await suites.places(1)
    one, other = suites.worker(), suites.worker()
    await one.limiter.enter()
    waiting = asyncio.create_task(other.limiter.enter())
    assert not await soon(waiting)
    later = asyncio.create_task(one.limiter.enter())
    await asyncio.sleep(0.1)
    one.limiter.leave()
    await asyncio.wait_for(waiting, PATIENCE)
    assert not later.done()
    other.limiter.leave()
    await asyncio.wait_for(later, PATIENCE)


async def test_a_refusal_that_one_worker_meets_holds_for_all(suites: Suites) -> None:
    one, other = suites.worker(), suites.worker()
    for worker in (one, other):
        await worker.limiter.enter()
        worker.limiter.leave()
    await suites.places(8)
    await one.limiter.enter()
    one.limiter.narrow(1.5)
    one.limiter.leave()
    await asyncio.sleep(0.5)
    entering = asyncio.create_task(other.limiter.enter())
    assert not await soon(entering)
    await asyncio.wait_for(entering, PATIENCE)
    assert '"width":4.0' in (await suites.rows(provider_account("acme")))[BASE]


async def test_money_is_reserved_for_all_workers_together(suites: Suites) -> None:
    used = CostBound(3, 50, Decimal(0))
    await suites.rows(SUITE, base=Lease(used, used))
    one, other = (suites.worker().budget(calls=5) for _ in range(2))
    first, second = await one.reserve(UPPER), await other.reserve(UPPER)
    third = asyncio.create_task(one.reserve(UPPER))
    assert not await soon(third)
    one.settle(first, REPLY)
    other.release(second)
    one.settle(await asyncio.wait_for(third, PATIENCE), REPLY)
    with pytest.raises(BudgetReached, match="the limit of 5 calls is reached") as reached:
        await other.reserve(UPPER)
    assert reached.value.limit == "calls"
    assert one.used == CostBound(2, 14, Decimal(0))


async def test_a_dead_workers_places_are_free_again_and_what_it_recorded_counts(
    suites: Suites,
) -> None:
    await suites.places(3)
    for run in (SUITE, CELL):
        create_run(suites.journal, run)
    scheduler = suites.scheduler(calls=4)
    await scheduler._open(SUITE)
    dead, other = suites.worker(), suites.worker()
    money = dead.budget(calls=4)
    for _ in range(3):
        await dead.limiter.enter()
        await money.reserve(UPPER)
    # One paid for and recorded, one under way; then killed before the others knew of either.
    await suites.journal.record_reply(CELL, a_request("draft/try/0"), a_reply())
    suites.journal.record_request(CELL, a_request("draft/try/1"))
    await suites.journal.flush()
    suites.workers.remove(dead)
    await dead.die()
    for _ in range(3):
        await asyncio.wait_for(other.limiter.enter(), PATIENCE)

    class Gone:
        async def close(self) -> None:
            """It is."""

    started = _Started("worker-0", Gone())  # type: ignore[arg-type]
    started.cells.add(CELL)
    await scheduler._bury(started)
    budget = other.budget(calls=4)
    # What was under way counts until it is asked again, as none.
    again = await budget.reserve(UPPER._replace(calls=0))
    for reserved in [again, await budget.reserve(UPPER), await budget.reserve(UPPER)]:
        budget.settle(reserved, REPLY)
    with pytest.raises(BudgetReached, match="the limit of 4 calls is reached"):
        await budget.reserve(UPPER)
    await scheduler.close()
    assert "worker-0" not in await suites.rows(SUITE)


async def test_suites_share_places_and_have_money_of_their_own(suites: Suites) -> None:
    await suites.places(1)
    one, other = suites.worker(), suites.worker()
    await one.limiter.enter()
    entering = asyncio.create_task(other.limiter.enter())
    await one.budget(calls=1).reserve(UPPER)
    await asyncio.wait_for(other.budget(OTHER_SUITE, calls=1).reserve(UPPER), PATIENCE)
    assert not await soon(entering)
    one.limiter.leave()
    await asyncio.wait_for(entering, PATIENCE)


async def test_more_is_held_than_used_only_while_there_is_enough_and_nobody_waits(
    suites: Suites,
) -> None:
    await suites.places(8)
    one, other = suites.worker(), suites.worker()
    await one.limiter.enter()
    await one.limiter.enter()
    await asyncio.sleep(0.5)
    assert one.limiter.held.calls == 4
    for _ in range(6):
        await asyncio.wait_for(other.limiter.enter(), PATIENCE)
    await asyncio.sleep(0.5)
    assert (one.limiter.held.calls, other.limiter.held.calls) == (2, 6)


async def test_a_row_that_was_lost_is_soon_there_again(suites: Suites) -> None:
    worker = suites.worker()
    await worker.limiter.enter()
    account = provider_account("acme")
    await suites.table.update([account], lambda rows, _: rows[account].clear())
    await asyncio.sleep(0.6)
    assert "worker-0" in await suites.rows(account)


async def test_a_worker_whose_suite_nobody_drives_starts_nothing(suites: Suites) -> None:
    worker = suites.worker()
    await worker.limiter.enter()
    worker.leases.allow(allowed=False)
    entering = asyncio.create_task(worker.limiter.enter())
    assert not await soon(entering)
    worker.leases.allow(allowed=True)
    await asyncio.wait_for(entering, PATIENCE)


async def test_a_suite_that_is_resumed_waits_for_old_workers_and_has_its_new_limits(
    suites: Suites,
) -> None:
    create_run(suites.journal, SUITE)
    before = suites.worker()
    await before.budget(calls=1).reserve(UPPER)
    scheduler = suites.scheduler(calls=2)
    opening = asyncio.create_task(scheduler._open(SUITE))
    assert not await soon(opening)
    suites.workers.remove(before)
    await before.die()
    await asyncio.wait_for(opening, PATIENCE)
    after = suites.worker().budget(calls=2)
    for _ in range(2):
        await asyncio.wait_for(after.reserve(UPPER), PATIENCE)
    await scheduler.close()


async def test_a_cell_that_two_workers_are_sent_is_run_once(tmp_path: Path) -> None:
    url = str(tmp_path / "journal.db")
    with Journal.open(url, create=True) as journal, journal.lock(SUITE):
        settings = make_settings(Models.everywhere("echo/echo"), 1, strategy="single")
        cell = CellRun(run=CELL, part="a", task=Task(brief="Explain tides."), settings=settings)
        opening: Any = {"suite": SUITE, "budget": Budget(), "journal": url}
        opening |= {"base_url": None, "allow_http": False}
        workers = [CellWorker(Opening(worker=f"worker-{n}", **opening)) for n in range(3)]
        ended = await asyncio.gather(*(each.run(send_cell(cell)) for each in workers))
        assert ended[0].result
        assert ended[0].result.finished
        assert ended[1:] == ended[:1] * 2
        assert journal.row(CELL).spent.calls == 1
        for worker in workers:
            worker._watching.cancel()
            worker._lock.close()
            worker.journal.close()
