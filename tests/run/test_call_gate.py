"""One gate for all processes: no more places than the limit, no more money than the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from random import Random

import pytest

from autoreason.errors import BudgetReached
from autoreason.exchange import Outcome, Reply, Usage
from autoreason.models.budget import BudgetTracker, CostBound
from autoreason.models.layers import ConcurrencyLimiter
from autoreason.run.call_gate import CallGate, GateSession
from autoreason.run.cell_messages import Enter, FromGate, Reserve, ToGate
from autoreason.run.gate_client import GateClient, RemoteBudget
from autoreason.settings import Budget

UPPER = CostBound(1, 100, None)
REPLY = Reply(
    outcome=Outcome.OK, text="Long.", model="acme/large", usage=Usage(input=3, output=4), seconds=0
)


def small_limiter(_provider: str) -> ConcurrencyLimiter:
    """Three places, and never more."""
    return ConcurrencyLimiter(3, max_limit=3)


class Process:
    """One that runs cells: its end of the gate, and the gate's end of it."""

    def __init__(self, gate: CallGate) -> None:
        self.client = GateClient(self._send)
        self.session = GateSession(gate, self._answer)
        self.limiter = self.client.limiter("acme")
        self.budget = RemoteBudget(self.client, "suite.0001")

    def _send(self, message: ToGate) -> None:
        asyncio.get_running_loop().call_soon(self.session.take, message)

    def _answer(self, message: FromGate) -> None:
        asyncio.get_running_loop().call_soon(self.client.take, message)


async def settle() -> None:
    """Let everything that can happen now happen."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_processes_together_have_no_more_places_than_the_limit_and_all_get_one() -> None:
    gate = CallGate(limiter=small_limiter)
    chance, inside, most, done = Random(1), 0, 0, 0

    async def call(process: Process) -> None:
        nonlocal inside, most, done
        await process.limiter.enter()
        inside += 1
        most = max(most, inside)
        for _ in range(chance.randrange(5)):
            await asyncio.sleep(0)
        inside -= 1
        process.limiter.widen()
        process.limiter.leave()
        done += 1

    processes = [Process(gate) for _ in range(4)]
    calls = [asyncio.create_task(call(chance.choice(processes))) for _ in range(60)]
    for each in calls[::7]:
        each.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await settle()
    assert most == 3
    assert done == 60 - len(calls[::7])
    for process in processes:
        process.client.return_spare()
    await settle()
    assert gate.limiter("acme").inside == 0


async def test_a_place_that_is_granted_to_a_call_which_is_gone_goes_to_the_next() -> None:
    gate = CallGate(limiter=lambda _: ConcurrencyLimiter(1, max_limit=1))
    one, other = Process(gate), Process(gate)
    gone = asyncio.create_task(one.limiter.enter())
    # Granted, and not heard of yet.
    while not gate.limiter("acme").inside:  # noqa: ASYNC110
        await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait_for(other.limiter.enter(), 5)
    assert gate.limiter("acme").inside == 1


async def test_a_refusal_that_one_process_meets_holds_for_all() -> None:
    gate = CallGate(limiter=lambda _: ConcurrencyLimiter(8))
    one, other = Process(gate), Process(gate)
    await one.limiter.enter()
    one.limiter.narrow(0.05)
    one.limiter.leave()
    await settle()
    assert gate.limiter("acme").limit == 4
    entering = asyncio.create_task(other.limiter.enter())
    await settle()
    assert not entering.done()
    await asyncio.wait_for(entering, 5)


async def test_money_is_reserved_for_all_processes_together() -> None:
    gate = CallGate(BudgetTracker(Budget(calls=2)))
    one, other = Process(gate), Process(gate)
    first, second = await one.budget.reserve(UPPER), await other.budget.reserve(UPPER)
    third = asyncio.create_task(one.budget.reserve(UPPER))
    await settle()
    assert not third.done()
    one.budget.settle(first, REPLY)
    other.budget.release(second)
    one.budget.settle(await third, REPLY)
    with pytest.raises(BudgetReached, match="the limit of 2 calls is reached") as reached:
        await other.budget.reserve(UPPER)
    assert reached.value.limit == "calls"
    assert gate.budget
    assert gate.budget.used == CostBound(2, 14, Decimal(0))


async def test_what_a_process_had_is_free_again_when_it_is_gone() -> None:
    gate = CallGate(BudgetTracker(Budget(calls=3)), small_limiter)
    gone, other = Process(gate), Process(gate)
    for _ in range(3):
        await gone.limiter.enter()
        await gone.budget.reserve(UPPER)
    waiting = [
        asyncio.create_task(each) for each in (gone.limiter.enter(), gone.budget.reserve(UPPER))
    ]
    await settle()
    gone.session.close()
    for _ in range(3):
        await asyncio.wait_for(other.limiter.enter(), 5)
        await asyncio.wait_for(other.budget.reserve(UPPER), 5)
    for each in waiting:
        each.cancel()


async def test_what_was_under_way_in_a_process_that_is_gone_counts_until_it_is_asked_again() -> (
    None
):
    gate = CallGate(BudgetTracker(Budget(calls=3)))
    gone, other = Process(gate), Process(gate)
    for _ in range(2):
        await gone.budget.reserve(UPPER)
    waiting = asyncio.create_task(other.budget.reserve(UPPER))
    gone.session.abandon()
    first = await asyncio.wait_for(waiting, 5)
    again = [await other.budget.reserve(UPPER._replace(calls=0)) for _ in range(2)]
    other.budget.settle(again[0], REPLY)
    other.budget.release(again[1])
    other.budget.settle(first, REPLY)
    await settle()
    assert gate.budget
    assert gate.budget.used.calls == 3
    with pytest.raises(BudgetReached, match="the limit of 3 calls is reached"):
        await other.budget.reserve(UPPER)


async def test_a_gate_that_replaces_another_counts_what_that_one_had_granted() -> None:
    before = Process(CallGate(BudgetTracker(Budget(calls=3)), small_limiter))
    for _ in range(2):
        await before.limiter.enter()
        await before.budget.reserve(UPPER)
    gate = CallGate(BudgetTracker(Budget(calls=3)), small_limiter)
    gate.opened.clear()
    other = Process(gate)
    entering = [asyncio.create_task(other.limiter.enter()) for _ in range(2)]
    await settle()
    assert not any(each.done() for each in entering)
    session = GateSession(gate, lambda _: None)
    granted: Sequence[Enter | Reserve] = before.client.granted
    session.restore(granted)
    gate.recount("suite.0001", CostBound(1, 10, None))
    gate.recount("suite.0001", CostBound(0, 0, None))
    gate.opened.set()
    await settle()
    assert [each.done() for each in entering] == [True, False]
    await other.budget.reserve(UPPER)
    reserving = asyncio.create_task(other.budget.reserve(UPPER))
    await settle()
    assert not reserving.done()
    session.close()
    await asyncio.wait_for(asyncio.gather(reserving, *entering), 5)


async def test_a_process_keeps_places_while_there_are_enough_and_returns_them_when_asked() -> None:
    gate = CallGate(limiter=lambda _: ConcurrencyLimiter(4, max_limit=4))
    one, other = Process(gate), Process(gate)
    for _ in range(3):
        await one.limiter.enter()
        one.limiter.leave()
    await settle()
    # Asked for once, used three times.
    assert gate.limiter("acme").inside == 1
    assert one.client.number() == 2
    for _ in range(4):
        await asyncio.wait_for(other.limiter.enter(), 5)
    assert gate.limiter("acme").inside == 4
    entering = asyncio.create_task(one.limiter.enter())
    await settle()
    assert not entering.done()
    other.limiter.leave()
    await asyncio.wait_for(entering, 5)


async def test_places_that_are_kept_are_given_up_when_the_provider_refuses() -> None:
    gate = CallGate(limiter=lambda _: ConcurrencyLimiter(8))
    one, other = Process(gate), Process(gate)
    await other.limiter.enter()
    await one.limiter.enter()
    one.limiter.leave()
    other.limiter.narrow(60.0)
    other.limiter.leave()
    await settle()
    assert gate.limiter("acme").inside == 0
    entering = asyncio.create_task(one.limiter.enter())
    await settle()
    assert not entering.done()
    entering.cancel()
