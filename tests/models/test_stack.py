"""The layers together: retried from outside, limited within, and stopped by an outage."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

import pytest
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import CallRetried, Message, Reply, Request, Signal
from autoreason.models.circuit_breaker import CircuitBreaker
from autoreason.models.concurrency import ConcurrencyLimiter
from autoreason.models.doubles import Answer, ScriptedModel
from autoreason.models.retry import RetryPolicy
from autoreason.models.stack import stack

REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="acme/large",
    messages=(Message("user", "Which is best?"),),
    max_tokens=100,
)


class Clock:
    """Time that passes with every nap, and only then."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class Together:
    """Time that passes for all who sleep at once, as far as the next to wake."""

    def __init__(self) -> None:
        self._now = 0.0
        self._asleep: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = count()

    def __call__(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        awake = asyncio.Event()
        heappush(self._asleep, (self._now + seconds, next(self._numbers), awake))
        await awake.wait()

    async def until_done(self, calls: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
        """What comes of calls that run side by side."""
        tasks = asyncio.gather(*calls, return_exceptions=True)
        while not tasks.done():
            for _ in range(10):
                await asyncio.sleep(0)
            if self._asleep:
                self._now, _, awake = heappop(self._asleep)
                awake.set()
        return list(await tasks)


async def test_a_stacked_model_is_a_model() -> None:
    model = stack(
        ScriptedModel(["hello"], address="acme/large"),
        limiter=ConcurrencyLimiter(),
        breaker=CircuitBreaker("acme"),
    )
    assert model.address == "acme/large"
    assert (await model.ask(REQUEST)).text == "hello"
    await model.close()


async def test_signals_come_through_all_layers() -> None:
    refused = CallFailed(Failure.RATE_LIMIT, "slow down")
    heard: list[Signal] = []
    inner = ScriptedModel([refused, "well then"], address="acme/large")
    model = stack(
        inner, limiter=ConcurrencyLimiter(), breaker=CircuitBreaker("acme"), sleep=Clock().sleep
    )
    await model.ask(REQUEST, heard.append)
    assert [type(signal).__name__ for signal in heard] == ["CallRetried"] + ["TextArrived"] * 2


async def test_a_call_in_back_off_holds_no_place() -> None:
    limiter = ConcurrencyLimiter(1)
    held = []

    async def look(_seconds: float) -> None:
        held.append(limiter.inside)

    lost = CallFailed(Failure.CONNECTION, "lost")
    inner = ScriptedModel([lost, "fine"], address="acme/large")
    model = stack(inner, limiter=limiter, breaker=CircuitBreaker("acme"), sleep=look)
    await model.ask(REQUEST)
    assert held == [0]


async def test_rate_limits_alone_never_look_like_an_outage() -> None:
    clock = Clock()
    under_way = 0

    async def overlap(_seconds: float) -> None:
        nonlocal under_way
        await asyncio.sleep(0)
        under_way -= 1

    def one_at_a_time(_request: Request) -> Answer:
        nonlocal under_way
        under_way += 1
        return "fine" if under_way == 1 else CallFailed(Failure.RATE_LIMIT, "one at a time")

    breaker = CircuitBreaker("acme", clock=clock)
    inner = ScriptedModel(one_at_a_time, address="acme/large", latency=1, sleep=overlap)
    policy = RetryPolicy(busy_tries=1000)
    model = stack(
        inner,
        limiter=ConcurrencyLimiter(window=0),
        breaker=breaker,
        policy=policy,
        sleep=clock.sleep,
    )
    replies = await asyncio.gather(*(model.ask(REQUEST) for _ in range(600)))
    assert {reply.text for reply in replies} == {"fine"}
    assert not breaker.is_open


async def test_an_outage_ends_all_calls_after_few_tries_instead_of_many() -> None:
    clock = Clock()
    sent = 0

    def down(_request: Request) -> Answer:
        nonlocal sent
        sent += 1
        return CallFailed(Failure.CONNECTION, "no route to host")

    inner = ScriptedModel(down, address="acme/large")
    breaker = CircuitBreaker("acme", clock=clock)
    model = stack(
        inner, limiter=ConcurrencyLimiter(32), breaker=breaker, rng=Random(3), sleep=clock.sleep
    )
    heard: list[Signal] = []
    ends = await asyncio.gather(
        *(model.ask(REQUEST, heard.append) for _ in range(600)), return_exceptions=True
    )
    assert {type(end) for end in ends} == {ProviderFailed}
    assert "in a row, last: no route to host" in str(ends[-1])
    assert sent < 700, "600 calls of 5 tries would be 3000"
    assert sum(isinstance(signal, CallRetried) for signal in heard) < 700
    with pytest.raises(ProviderFailed):
        await model.ask(REQUEST)
    clock.now += 60
    inner_again = ScriptedModel(["back"], address="acme/large")
    model = stack(inner_again, limiter=ConcurrencyLimiter(32), breaker=breaker)
    assert (await model.ask(REQUEST)).text == "back"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("away", "held_out"), [(4, True), (15, True), (120, False)])
async def test_many_calls_outlast_a_blip_together_and_give_up_on_an_outage_together(
    seed: int, away: float, held_out: bool
) -> None:
    clock = Together()

    def back_later(_request: Request) -> Answer:
        return "back" if clock() >= away else CallFailed(Failure.CONNECTION, "no route to host")

    model = stack(
        ScriptedModel(back_later, address="acme/large"),
        limiter=ConcurrencyLimiter(20),
        breaker=CircuitBreaker("acme", clock=clock),
        rng=Random(seed),
        sleep=clock.sleep,
    )
    ends = await clock.until_done([model.ask(REQUEST) for _ in range(20)])
    assert {type(end) for end in ends} == {Reply if held_out else ProviderFailed}
    assert clock() < 40


async def test_a_call_queued_at_the_gate_learns_of_the_outage_before_it_is_sent() -> None:
    clock = Clock()
    breaker = CircuitBreaker("acme", max_failures=2, span=0, clock=clock)
    release = asyncio.Event()

    async def wait_for_release(_seconds: float) -> None:
        await release.wait()

    lost = CallFailed(Failure.TIMEOUT, "no answer")
    inner = ScriptedModel(lambda _: lost, address="acme/large", latency=1, sleep=wait_for_release)
    model = stack(inner, limiter=ConcurrencyLimiter(2), breaker=breaker, sleep=clock.sleep)
    tasks = [asyncio.ensure_future(model.ask(REQUEST)) for _ in range(10)]
    await asyncio.sleep(0)
    release.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(end) for end in ends} == {ProviderFailed}
    assert len(inner.requests) == 2


async def test_a_new_call_does_not_queue_for_a_provider_that_is_down() -> None:
    breaker = CircuitBreaker("acme", max_failures=1, span=0, clock=Clock())

    async def for_ever(_seconds: float) -> None:
        await asyncio.Event().wait()

    hanging = ScriptedModel(lambda _: "never", address="acme/large", latency=1, sleep=for_ever)
    limiter = ConcurrencyLimiter(1)
    model = stack(hanging, limiter=limiter, breaker=breaker)
    stuck = asyncio.ensure_future(model.ask(REQUEST))
    await asyncio.sleep(0)
    with pytest.raises(CallFailed), breaker.track():
        raise CallFailed(Failure.CONNECTION, "no route to host")
    with pytest.raises(ProviderFailed):
        await asyncio.wait_for(model.ask(REQUEST), PATIENCE)
    stuck.cancel()
    await asyncio.wait((stuck,))
    assert limiter.inside == 0
