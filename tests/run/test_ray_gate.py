"""The gate of a cluster: another takes its place and grants nothing twice, and dead workers lose their places."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from tests.journal.samples import create_run
from tests.patience import PATIENCE
from tests.run.test_call_gate import REPLY, small_limiter

from autoreason.errors import JournalError
from autoreason.events import RunStarted
from autoreason.exchange import Message as Said
from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.models.budget import CostBound
from autoreason.run.cell_messages import (
    Enter,
    FromGate,
    Granted,
    Opening,
    Recall,
    Release,
    Reserve,
    Settle,
    ToGate,
)
from autoreason.run.ray_gate import Account, Declaration, GateActor, SuiteOpening
from autoreason.settings import Budget, Models, Settings
from autoreason.task import Task

SUITE = "20260101-amber-fox"
OTHER_SUITE = "20260101-blue-hare"
CELL = f"{SUITE}.0001"
REQUEST = Request(
    role="author",
    key="draft/try/0",
    model="echo/echo",
    messages=(Said("user", "Explain tides."),),
    max_tokens=50,
)


def opening(url: str) -> SuiteOpening:
    """Of the first suite, without limits."""
    return SuiteOpening(
        account=Account(suite=SUITE, budget=Budget()),
        worker=Opening(journal=url, base_url=None, allow_http=False),
        cluster="acme",
    )


class Worker:
    """A worker as the gate sees it: locked in the journal, in a session of its own."""

    def __init__(self, name: str, url: str, account: Account) -> None:
        self.name = f"{opening(url).lock_prefix}{name}"
        self.account = account
        self.journal = Journal.open(url, create=False)
        self._lock = self.journal.lock(self.name)
        self._lock.__enter__()
        self.epoch = 0
        self._answers: list[Granted] = []
        self.heard: list[FromGate] = []

    def die(self) -> None:
        """Lose the session, and so the lock."""
        self._lock.__exit__(None, None, None)
        self.journal.close()

    async def declare(
        self, gate: GateActor, *granted: Enter | Reserve, used: CostBound | None = None
    ) -> None:
        self.epoch += 1
        by_run = {CELL: used} if used else {}
        declaration = Declaration(
            account=self.account, granted=list(granted), waiting=[], used=by_run
        )
        await gate.declare(self.name, self.epoch, msgspec.json.encode(declaration))

    async def tell(self, gate: GateActor, *messages: ToGate) -> bool:
        """Whether the gate takes it in."""
        return self._hear(await gate.tell(self.name, self.epoch, msgspec.json.encode(messages)))

    async def granted(self, gate: GateActor, number: int) -> list[Granted]:
        """So many answers."""
        async with asyncio.timeout(PATIENCE):
            while len(self._answers) < number:
                await self.hear(gate)
        answers, self._answers = self._answers, []
        return answers

    async def hear(self, gate: GateActor) -> None:
        """What the gate says next."""
        assert self._hear(await gate.poll(self.name, self.epoch))

    def _hear(self, data: bytes | None) -> bool:
        answers = msgspec.json.decode(data or b"[]", type=list[FromGate])
        self.heard += answers
        self._answers += [each for each in answers if isinstance(each, Granted)]
        return data is not None


class Cluster:
    """Gates and workers, without Ray."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._gates: list[GateActor] = []
        self._workers: list[Worker] = []
        self.drivers: dict[str, ExitStack] = {}
        """The locks of suites."""

    def worker(self, name: str, suite: str = SUITE, **budget: Any) -> Worker:
        """Another worker."""
        account = Account(suite=suite, budget=Budget(**budget))
        self._workers.append(Worker(name, self._url, account))
        return self._workers[-1]

    def gate(self) -> GateActor:
        """A gate as Ray creates it."""
        self._gates.append(GateActor(opening(self._url), small_limiter))
        return self._gates[-1]

    async def close(self) -> None:
        """End all of them."""
        for gate in self._gates:
            if gate._watching:
                gate._watching.cancel()
                await asyncio.gather(gate._watching, return_exceptions=True)
            gate._journal.close()
        for worker in self._workers:
            with suppress(JournalError):
                worker.die()


@pytest.fixture
async def cluster(postgres_url: str) -> AsyncIterator[Cluster]:
    """On a journal of its own, with two suites."""
    with Journal.open(postgres_url, create=True) as journal:
        cluster = Cluster(postgres_url)
        for suite in (SUITE, OTHER_SUITE):
            create_run(journal, suite)
            cluster.drivers[suite] = ExitStack()
            cluster.drivers[suite].enter_context(journal.lock(suite))
        yield cluster
        await cluster.close()
        for driver in cluster.drivers.values():
            driver.close()


def place(number: int) -> Enter:
    return Enter(number=number, provider="acme")


def money(number: int) -> Reserve:
    return Reserve(number=number, run=CELL, upper=CostBound(1, 100, None))


async def record(journal: Journal, *, new: bool = True, key: str = "draft/try/0") -> None:
    """A cell with a reply."""
    settings = Settings(models=Models.judging("echo/echo"), seed=1)
    if new:
        started = RunStarted(task=Task(brief="a"), settings=settings, prompts={}, version="")
        await journal.begin_run("a", "", started, CELL)
    await journal.record_reply(CELL, msgspec.structs.replace(REQUEST, key=key), REPLY)


async def test_a_gate_that_takes_anothers_place_waits_for_all_workers_that_live(
    cluster: Cluster,
) -> None:
    one, other = cluster.worker("one"), cluster.worker("other")
    gate = cluster.gate()
    assert not await one.tell(gate, place(1))
    await one.declare(gate, place(1), place(2))
    await one.tell(gate, place(3), place(4))
    polling = asyncio.create_task(one.granted(gate, 1))
    await asyncio.sleep(0.5)
    assert not polling.done()
    await other.declare(gate)
    # Two of three places were taken before.
    assert await polling == [Granted(number=3)]
    await one.tell(gate, Release(number=1))
    assert await one.granted(gate, 1) == [Granted(number=4)]


async def test_a_dead_workers_places_are_free_again_and_what_it_recorded_counts(
    cluster: Cluster,
) -> None:
    dead, other = cluster.worker("dead", calls=3), cluster.worker("other", calls=3)
    gate = cluster.gate()
    await dead.declare(gate)
    await other.declare(gate)
    await dead.tell(gate, *map(place, (1, 2, 3)), *map(money, (4, 5, 6)))
    await dead.granted(gate, 6)
    # Paid for and recorded, and killed before the gate heard of it.
    await record(dead.journal)
    dead.die()
    await other.tell(gate, *map(place, (1, 2, 3)), *map(money, (4, 5, 6)))
    granted = await other.granted(gate, 5)
    assert [each.number for each in granted if not each.refusal] == [1, 2, 3, 4, 5]
    await other.tell(gate, Settle(number=4, reply=REPLY), Settle(number=5, reply=REPLY))
    (refused,) = await other.granted(gate, 1)
    assert refused.limit == "calls"


async def test_a_suite_whose_process_is_gone_is_granted_nothing(cluster: Cluster) -> None:
    one, other = cluster.worker("one"), cluster.worker("other", OTHER_SUITE)
    gate = cluster.gate()
    await one.declare(gate)
    await other.declare(gate)
    await one.tell(gate, place(1))
    assert await one.granted(gate, 1) == [Granted(number=1, spare=True)]
    cluster.drivers[SUITE].close()
    async with asyncio.timeout(PATIENCE):
        while Recall(provider="acme") not in one.heard:
            await one.hear(gate)
    await one.tell(gate, place(2))
    polling = asyncio.create_task(one.granted(gate, 1))
    await other.tell(gate, place(1))
    assert await other.granted(gate, 1)
    await asyncio.sleep(0.5)
    assert not polling.done()
    with one.journal.lock(SUITE):
        assert [each.number for each in await polling] == [2]


async def test_a_cell_that_goes_on_elsewhere_is_counted_from_the_record(cluster: Cluster) -> None:
    one, other = cluster.worker("one", calls=2), cluster.worker("other", calls=2)
    gate = cluster.gate()
    await one.declare(gate)
    await other.declare(gate)
    await one.tell(gate, money(1))
    await one.granted(gate, 1)
    await record(one.journal)
    await one.tell(gate, Settle(number=1, reply=REPLY))
    # Recorded twice, reported once; the other reserves for the same cell before the death is noticed.
    await record(one.journal, new=False, key="draft/try/1")
    await other.tell(gate, money(1))
    (refused,) = await other.granted(gate, 1)
    assert refused.limit == "calls"


async def test_a_new_gate_counts_cells_as_declared_and_the_others_as_recorded(
    cluster: Cluster,
) -> None:
    worker = cluster.worker("one", calls=4)
    await record(worker.journal)
    for used, left in ((CostBound(3, 10, Decimal(0)), 1), (None, 3)):
        gate = cluster.gate()
        await worker.declare(gate, used=used)
        await worker.tell(gate, *map(money, range(left + 1)))
        granted = await worker.granted(gate, left)
        assert [each.number for each in granted] == list(range(left))


async def test_suites_share_the_places_of_a_provider_and_have_money_of_their_own(
    cluster: Cluster,
) -> None:
    one, other = cluster.worker("one", calls=1), cluster.worker("other", OTHER_SUITE, calls=1)
    gate = cluster.gate()
    await one.declare(gate, place(1), place(2), money(3))
    await one.tell(gate, place(4), place(5))
    polling = asyncio.create_task(one.granted(gate, 1))
    await asyncio.sleep(0.5)
    # What the other suite was granted is not known yet.
    assert not polling.done()
    await other.declare(gate, place(1))
    await other.tell(gate, place(2), money(3))
    assert await other.granted(gate, 1) == [Granted(number=3)]
    await one.tell(gate, Release(number=1))
    assert await polling == [Granted(number=4)]
    one.die()
    assert await other.granted(gate, 1) == [Granted(number=2)]


async def test_a_suite_that_is_resumed_has_its_new_limits(cluster: Cluster) -> None:
    before, other = cluster.worker("before", calls=1), cluster.worker("other", OTHER_SUITE)
    gate = cluster.gate()
    await other.declare(gate)
    await before.declare(gate)
    await before.tell(gate, money(1))
    await before.granted(gate, 1)
    await record(before.journal)
    before.die()
    after = cluster.worker("after", calls=3)
    await after.declare(gate)
    await after.tell(gate, *map(money, (1, 2, 3)))
    assert [each.number for each in await after.granted(gate, 2)] == [1, 2]


async def test_a_worker_that_dies_after_its_suite_was_resumed_leaves_the_new_limits(
    cluster: Cluster,
) -> None:
    before = cluster.worker("before", calls=1)
    gate = cluster.gate()
    await before.declare(gate)
    one = cluster.worker("one", calls=2)
    await one.declare(gate)
    before.die()
    async with asyncio.timeout(PATIENCE):
        while before.name in gate._mailboxes:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await one.tell(gate, money(1), money(2))
    assert len(await one.granted(gate, 2)) == 2
    await one.tell(gate, Settle(number=1, reply=REPLY), Settle(number=2, reply=REPLY))
    other = cluster.worker("other", calls=2)
    await other.declare(gate)
    await other.tell(gate, Reserve(number=1, run=f"{SUITE}.0002", upper=CostBound(1, 100, None)))
    (refused,) = await other.granted(gate, 1)
    assert refused.limit == "calls"
