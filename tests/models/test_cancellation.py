"""A call that only waits can be ended; one that is under way cannot."""

from __future__ import annotations

import asyncio

import pytest

from autoreason.errors import Stopped
from autoreason.exchange import Outcome, Reply
from autoreason.models.cancellation import STOPPED, InterruptibleCall, idle_section

REPLY = Reply(outcome=Outcome.OK, text="Here.", model="acme/large")


async def test_a_call_is_ended_only_while_it_rests() -> None:
    rested, answered = asyncio.Event(), asyncio.Event()

    async def ask() -> Reply:
        with idle_section():
            await rested.wait()
        await answered.wait()
        return REPLY

    for ended in (True, False):
        call = InterruptibleCall()
        asking = asyncio.create_task(call.reply(ask()))
        await asyncio.sleep(0)
        if not ended:
            rested.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        call.end(Stopped(STOPPED))
        answered.set()
        if ended:
            with pytest.raises(Stopped, match="a person stopped the run"):
                await asking
        else:
            assert await asking == REPLY
        assert not asking.cancelling()
        answered.clear()


async def test_a_call_may_rest_in_a_task_of_its_own() -> None:
    async def rest() -> Reply:
        with idle_section():
            await asyncio.sleep(60)
        return REPLY

    async def ask() -> Reply:
        return await asyncio.create_task(rest())

    call = InterruptibleCall()
    asking = asyncio.create_task(call.reply(ask()))
    for _ in range(3):
        await asyncio.sleep(0)
    call.end(Stopped(STOPPED))
    with pytest.raises(Stopped):
        await asking


async def test_a_call_that_was_ended_can_be_followed_by_others() -> None:
    async def rest() -> Reply:
        with idle_section():
            await asyncio.sleep(60)
        return REPLY

    async def answer() -> Reply:
        await asyncio.sleep(0)
        return REPLY

    async def ask_twice() -> Reply:
        with pytest.raises(Stopped):
            await first.reply(rest())
        async with asyncio.timeout(60):
            return await InterruptibleCall().reply(answer())

    first = InterruptibleCall()
    asking = asyncio.create_task(ask_twice())
    await asyncio.sleep(0)
    first.end(Stopped(STOPPED))
    first.end(Stopped(STOPPED))
    assert await asking == REPLY


async def test_a_caller_who_leaves_takes_the_call_along() -> None:
    left = False

    async def ask() -> Reply:
        nonlocal left
        try:
            await asyncio.sleep(60)
        finally:
            left = True
        return REPLY

    asking = asyncio.create_task(InterruptibleCall().reply(ask()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert left


async def test_leaving_counts_for_more_than_the_end_of_a_rest() -> None:
    async def ask() -> Reply:
        with idle_section():
            await asyncio.sleep(60)
        return REPLY

    call = InterruptibleCall()
    asking = asyncio.create_task(call.reply(ask()))
    await asyncio.sleep(0)
    call.end(Stopped(STOPPED))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_call_under_way_is_ended_where_it_was_waited_for_long_enough() -> None:
    call = InterruptibleCall()
    asking = asyncio.create_task(call.reply(asyncio.sleep(60)))
    await asyncio.sleep(0)
    call.end(Stopped("long enough"), at_once=True)
    with pytest.raises(Stopped, match="long enough"):
        await asking


async def test_what_a_provider_answered_is_known_while_it_is_asked_again() -> None:
    async def ask() -> Reply:
        with idle_section("acme answered 429"):
            pass
        with idle_section():
            await asyncio.sleep(60)
        return REPLY

    call = InterruptibleCall()
    asking = asyncio.create_task(call.reply(ask()))
    await asyncio.sleep(0)
    assert call.last_failure == "acme answered 429"
    asking.cancel()


async def test_without_such_a_call_resting_is_only_waiting() -> None:
    with idle_section():
        await asyncio.sleep(0)
