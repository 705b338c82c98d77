"""A call that only waits can be ended; one that is under way cannot."""

from __future__ import annotations

import asyncio

import pytest

from autoreason.exchange import Outcome, Reply
from autoreason.models.rest import Interruptible, resting

REPLY = Reply(outcome=Outcome.OK, text="Here.", model="acme/large")


async def test_a_call_is_ended_only_while_it_rests() -> None:
    rested, answered = asyncio.Event(), asyncio.Event()

    async def ask() -> Reply:
        with resting():
            await rested.wait()
        await answered.wait()
        return REPLY

    for ended in (True, False):
        call = Interruptible(ask())
        await asyncio.sleep(0)
        if not ended:
            rested.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        call.end_rest()
        answered.set()
        if ended:
            with pytest.raises(asyncio.CancelledError):
                await call.reply()
        else:
            assert await call.reply() == REPLY
        assert call.ended == ended
        answered.clear()


async def test_a_call_may_rest_in_a_task_of_its_own() -> None:
    async def rest() -> Reply:
        with resting():
            await asyncio.sleep(60)
        return REPLY

    async def ask() -> Reply:
        return await asyncio.create_task(rest())

    call = Interruptible(ask())
    for _ in range(3):
        await asyncio.sleep(0)
    call.end_rest()
    with pytest.raises(asyncio.CancelledError):
        await call.reply()
    assert call.ended


async def test_whoever_leaves_takes_the_call_along() -> None:
    left = asyncio.Event()

    async def ask() -> Reply:
        try:
            await asyncio.sleep(60)
        finally:
            left.set()
        return REPLY

    call = Interruptible(ask())
    waiting = asyncio.create_task(call.reply())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait_for(left.wait(), 1)
    assert not call.ended


async def test_without_such_a_call_resting_is_only_waiting() -> None:
    with resting():
        await asyncio.sleep(0)
