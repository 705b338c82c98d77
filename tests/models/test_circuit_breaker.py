"""When a provider is down, calls to it end at once; when it is back, they go through again."""

from __future__ import annotations

import asyncio

import pytest
from tests.patience import PATIENCE

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import Message, Request
from autoreason.models.circuit_breaker import CircuitBreaker, GuardedModel
from autoreason.models.doubles import ScriptedModel

REQUEST = Request(
    role="judge",
    key="pass/1/judge/0/try/0",
    model="acme/large",
    messages=(Message("user", "Which is best?"),),
    max_tokens=100,
)


class Clock:
    """Time that passes when told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


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


def test_a_success_in_between_starts_the_count_anew(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, times=7)
    clock.now += 20
    succeed(breaker)
    fail(breaker, times=7)
    clock.now += 20
    assert not breaker.is_open


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


def test_a_long_silence_before_a_blow_does_not_count(breaker: CircuitBreaker, clock: Clock) -> None:
    succeed(breaker)
    clock.now += 600
    fail(breaker, times=32)
    assert not breaker.is_open


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


async def test_no_call_is_sent_while_it_is_open(breaker: CircuitBreaker, clock: Clock) -> None:
    open_up(breaker, clock)
    model = ScriptedModel(["never heard"], address="acme/large")
    guarded = GuardedModel(model, breaker)
    with pytest.raises(ProviderFailed):
        await guarded.ask(REQUEST)
    assert model.requests == []
    assert guarded.address == "acme/large"


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


async def test_back_off_ends_by_itself_while_it_is_closed(breaker: CircuitBreaker) -> None:
    waits = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    await breaker.wait(30, note)
    assert waits == [30]


async def test_a_broken_sleep_is_not_hidden(breaker: CircuitBreaker) -> None:
    async def broken(_seconds: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await breaker.wait(1, broken)


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


def test_a_probe_that_fails_means_another_rest(breaker: CircuitBreaker, clock: Clock) -> None:
    open_up(breaker, clock)
    clock.now += 60
    fail(breaker)
    assert breaker.is_open
    clock.now += 60
    succeed(breaker)
    assert not breaker.is_open


def test_a_probe_that_is_cancelled_leaves_its_place_to_another(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    open_up(breaker, clock)
    clock.now += 60
    with pytest.raises(asyncio.CancelledError), breaker.track():
        raise asyncio.CancelledError
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
