"""A call that fails in passing is tried again; an outage ends all calls; one that only waits can be ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.asking import request
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, ProviderFailed, Stopped
from autoreason.exchange import CallRetried, Outcome, Reply, Request, Signal
from autoreason.models.doubles import Answer, ScriptedModel
from autoreason.models.layers import (
    CircuitBreaker,
    ConcurrencyLimiter,
    InterruptibleCall,
    RetryingModel,
    RetryPolicy,
    idle_section,
)

REQUEST = request()

# Retries

PASSING = sorted(failure for failure in Failure if failure.passing)
PERMANENT = sorted(failure for failure in Failure if not failure.passing)


class Trial:
    """A retried model with a script; waits are noted and take no time."""

    def __init__(self, *answers: Answer, policy: RetryPolicy | None = None) -> None:
        self.model = ScriptedModel(answers, address="acme/large")
        self.waits: list[float] = []
        self.signals: list[Signal] = []
        self.retrying = RetryingModel(
            self.model, policy=policy, rng=Random(7), sleep=self._note_the_wait
        )

    async def ask(self) -> Reply:
        return await self.retrying.ask(REQUEST, self.signals.append)

    @property
    def retries(self) -> list[CallRetried]:
        return [signal for signal in self.signals if isinstance(signal, CallRetried)]

    async def _note_the_wait(self, seconds: float) -> None:
        self.waits.append(seconds)


def failed(
    failure: Failure, retry_after: float | None = None, retry: bool | None = None
) -> CallFailed:
    return CallFailed(failure, "the server said so.", retry_after=retry_after, retry=retry)


@pytest.mark.parametrize("failure", PASSING)
async def test_a_passing_failure_is_tried_again_and_each_retry_signalled(failure: Failure) -> None:
    trial = Trial(failed(failure), failed(failure), "at last")
    assert (await trial.ask()).text == "at last"
    assert len(trial.model.requests) == 3
    assert [(sign.key, sign.reason, sign.wait) for sign in trial.retries] == [
        (REQUEST.key, "the server said so", wait) for wait in trial.waits
    ]


@pytest.mark.parametrize(
    ("failure", "fix"),
    [
        (Failure.BAD_KEY, "check the key for acme"),
        (Failure.BAD_REQUEST, "check that the model exists"),
        (Failure.NO_ACCESS, "fix that"),
        (Failure.NO_CREDIT, "top up"),
    ],
)
async def test_a_permanent_failure_is_never_tried_again_and_names_its_fix(
    failure: Failure, fix: str
) -> None:
    trial = Trial(failed(failure), "too late")
    with pytest.raises(
        ProviderFailed, match=rf"acme.*the server said so.*{fix}.*`autoreason resume`"
    ) as why:
        await trial.ask()
    assert len(trial.model.requests) == 1
    assert trial.waits == []
    assert isinstance(why.value.__cause__, CallFailed)


async def test_patience_ends_after_its_tries() -> None:
    trial = Trial(*[failed(Failure.TIMEOUT)] * 3, policy=RetryPolicy(tries=3))
    with pytest.raises(ProviderFailed, match=r"acme/large failed 3 times, last: the server"):
        await trial.ask()
    assert len(trial.waits) == 2


async def test_a_wait_asked_for_is_kept_and_one_beyond_patience_not_started() -> None:
    trial = Trial(failed(Failure.RATE_LIMIT, retry_after=20), "thanks")
    await trial.ask()
    assert 20 <= trial.waits[0] <= 21
    trial = Trial(failed(Failure.RATE_LIMIT, retry_after=3600), "too late")
    with pytest.raises(ProviderFailed, match="acme asks us to wait 3600 seconds"):
        await trial.ask()
    assert trial.waits == []


@pytest.mark.parametrize("failure", PASSING)
async def test_a_call_that_cannot_succeed_soon_is_not_tried_again(failure: Failure) -> None:
    trial = Trial(failed(failure, retry_after=20, retry=False), "too late")
    with pytest.raises(
        ProviderFailed, match=r"failed and soon would again \(the server said so\); `autoreason"
    ):
        await trial.ask()
    assert trial.waits == []


@pytest.mark.parametrize("failure", PERMANENT)
async def test_a_provider_that_asks_to_be_tried_again_is(failure: Failure) -> None:
    trial = Trial(failed(failure, retry=True), "at last")
    assert (await trial.ask()).text == "at last"


@given(st.integers(1, 5000), st.integers())
def test_waits_grow_and_are_capped(failures: int, seed: int) -> None:
    wait = RetryPolicy(first_wait=1, max_wait=30).wait(failures, None, Random(seed))
    longest = min(30, 2 ** (failures - 1))
    assert longest / 2 <= wait <= longest


async def test_a_call_cancelled_in_back_off_ends_and_leaves_nothing_running() -> None:
    sleeping = asyncio.Event()

    async def for_ever(_seconds: float) -> None:
        sleeping.set()
        await asyncio.Event().wait()

    model = ScriptedModel([failed(Failure.TIMEOUT)], address="acme/large")
    call = asyncio.ensure_future(
        RetryingModel(model, breaker=CircuitBreaker("acme"), sleep=for_ever).ask(REQUEST)
    )
    await sleeping.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


# The circuit breaker


class Clock:
    """Time that passes with every nap, and only then."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker("acme", max_failures=8, span=20, rest=60, clock=clock)


def fail(breaker: CircuitBreaker, failure: Failure = Failure.CONNECTION, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(CallFailed), breaker.track():
            raise CallFailed(failure, "no route to host.")


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.track():
        pass


def open_up(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, times=7)
    clock.now += 20
    fail(breaker)


def test_eight_failures_in_a_row_open_it(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, times=7)
    clock.now += 20
    breaker.check()
    fail(breaker)
    with pytest.raises(
        ProviderFailed, match="acme has failed 8 times in a row, last: no route to host; the"
    ):
        breaker.check()


def test_one_blow_that_breaks_all_calls_under_way_is_no_outage(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    fail(breaker, times=32)
    clock.now += 19
    fail(breaker, times=32)
    assert not breaker.is_open
    clock.now += 1
    fail(breaker)
    assert breaker.is_open


@pytest.mark.parametrize(
    "failure", [Failure.RATE_LIMIT, Failure.BAD_KEY, Failure.BAD_REQUEST, Failure.NO_CREDIT]
)
def test_a_provider_that_answers_no_is_not_down(
    breaker: CircuitBreaker, clock: Clock, failure: Failure
) -> None:
    fail(breaker, failure, times=100)
    clock.now += 20
    fail(breaker, failure)
    assert not breaker.is_open


async def test_calls_in_back_off_are_woken_when_it_opens(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    async def for_ever(_seconds: float) -> None:
        await asyncio.Event().wait()

    waiting = [asyncio.ensure_future(breaker.wait(30, for_ever)) for _ in range(5)]
    await asyncio.sleep(0)
    open_up(breaker, clock)
    ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), PATIENCE)
    assert [type(end) for end in ended] == [ProviderFailed] * 5


def test_after_a_rest_one_call_probes_while_the_others_stay_out(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    open_up(breaker, clock)
    clock.now += 59
    assert breaker.is_open
    clock.now += 1
    with breaker.track(), pytest.raises(ProviderFailed), breaker.track():
        pass
    succeed(breaker)
    assert not breaker.is_open


def test_a_probe_that_is_cancelled_leaves_its_place_and_one_that_fails_means_another_rest(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    open_up(breaker, clock)
    clock.now += 60
    with pytest.raises(asyncio.CancelledError), breaker.track():
        raise asyncio.CancelledError
    fail(breaker)
    assert breaker.is_open
    clock.now += 60
    succeed(breaker)
    assert not breaker.is_open


def test_a_call_sent_before_it_opened_closes_it_by_succeeding(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    with breaker.track():
        open_up(breaker, clock)
        assert breaker.is_open
    assert not breaker.is_open


def test_calls_sent_before_it_opened_do_not_lengthen_the_rest(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    def time_out_late() -> None:
        with breaker.track():
            open_up(breaker, clock)
            clock.now += 59
            raise CallFailed(Failure.TIMEOUT, "no answer")

    with pytest.raises(CallFailed, match="no answer"):
        time_out_late()
    assert breaker.is_open
    clock.now += 1
    assert not breaker.is_open


# Together with a limit of calls at once


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
        tasks = asyncio.gather(*calls, return_exceptions=True)
        while not tasks.done():
            for _ in range(10):
                await asyncio.sleep(0)
            if self._asleep:
                self._now, _, awake = heappop(self._asleep)
                awake.set()
        return list(await tasks)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("away", "held_out"), [(4, True), (15, True), (120, False)])
async def test_many_calls_outlast_a_blip_together_and_give_up_on_an_outage_together(
    seed: int, away: float, held_out: bool
) -> None:
    clock = Together()

    def back_later(_request: Request) -> Answer:
        return "back" if clock() >= away else CallFailed(Failure.CONNECTION, "no route to host")

    model = RetryingModel(
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
    model = RetryingModel(inner, limiter=ConcurrencyLimiter(2), breaker=breaker, sleep=clock.sleep)
    tasks = [asyncio.ensure_future(model.ask(REQUEST)) for _ in range(10)]
    await asyncio.sleep(0)
    release.set()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(end) for end in ends} == {ProviderFailed}
    assert len(inner.requests) == 2


# Calls that only wait

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
        call.end(Stopped("a person stopped the run"))
        answered.set()
        if ended:
            with pytest.raises(Stopped, match="a person stopped the run"):
                await asking
        else:
            assert await asking == REPLY
        assert not asking.cancelling()
        answered.clear()


async def test_leaving_counts_for_more_than_the_end_of_a_rest() -> None:
    async def ask() -> Reply:
        with idle_section():
            await asyncio.sleep(60)
        return REPLY

    call = InterruptibleCall()
    asking = asyncio.create_task(call.reply(ask()))
    await asyncio.sleep(0)
    call.end(Stopped("a person stopped the run"))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
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
