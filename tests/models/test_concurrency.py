"""The gate holds back no more than it must, lets in no more than it may, and forgets nobody."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.asking import request

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.models.doubles import ScriptedModel
from autoreason.models.layers import ConcurrencyLimiter, RetryingModel, RetryPolicy

REQUEST = request()

T = TypeVar("T")


class _Leap(selectors.SelectSelector):
    """Waits for no timer: the clock leaps to it. With no timer to wait for, all are stuck."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits and nobody will wake them")
        self.now += timeout
        return super().select(0)


class LeapingLoop(asyncio.SelectorEventLoop):
    """An event loop in which waiting takes no time."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.now


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=LeapingLoop) as runner:
        return runner.run(work)


def once(model: ScriptedModel, limiter: ConcurrencyLimiter) -> RetryingModel:
    return RetryingModel(model, limiter=limiter, policy=RetryPolicy(tries=1, busy_tries=1))


def now() -> float:
    return asyncio.get_running_loop().time()


calls = st.lists(
    st.tuples(
        st.floats(0, 3),  # comes
        st.floats(0, 3),  # takes
        st.none() | st.floats(0, 5),  # is cancelled
        st.sampled_from(["well", "busy", "pause", "broken"]),  # ends
    ),
    max_size=40,
)


@given(st.integers(1, 6), calls)
def test_never_too_many_inside_and_everyone_finishes(
    start: int, plan: list[tuple[float, float, float | None, str]]
) -> None:
    limiter = ConcurrencyLimiter(start, max_limit=8)
    entered: list[int] = []

    async def call(comes: float, takes: float, ends: str) -> None:
        await asyncio.sleep(comes)
        await limiter.enter()
        entered.append(limiter.inside)
        try:
            assert limiter.inside <= max(8, start)
            await asyncio.sleep(takes)
            if ends == "well":
                limiter.widen()
            elif ends != "broken":
                limiter.narrow(1.5 if ends == "pause" else None)
        finally:
            limiter.leave()

    async def all_calls() -> None:
        tasks = []
        for comes, takes, cancelled, ends in plan:
            task = asyncio.ensure_future(call(comes, takes, ends))
            tasks.append(task)
            if cancelled is not None:
                asyncio.get_running_loop().call_later(cancelled, task.cancel)
        for end in await asyncio.gather(*tasks, return_exceptions=True):
            assert end is None or isinstance(end, asyncio.CancelledError)
        # Whatever happened, nothing is left inside and a newcomer gets in.
        assert limiter.inside == 0
        assert 1 <= limiter.limit <= 8
        await limiter.enter()

    run(all_calls())
    assert len(entered) >= sum(cancelled is None for _, _, cancelled, _ in plan)


@given(st.integers(1, 5), st.integers(1, 30))
def test_a_steady_gate_never_lets_in_more_than_its_limit(limit: int, count: int) -> None:
    limiter = ConcurrencyLimiter(limit)
    max_limit = 0

    async def call() -> None:
        nonlocal max_limit
        await limiter.enter()
        max_limit = max(max_limit, limiter.inside)
        await asyncio.sleep(1)
        limiter.leave()

    async def all_calls() -> float:
        await asyncio.gather(*(call() for _ in range(count)))
        return now()

    took = run(all_calls())
    assert max_limit == min(limit, count)
    assert took == pytest.approx(-(-count // limit))


def test_first_come_first_served() -> None:
    limiter = ConcurrencyLimiter(1)
    order = []

    async def call(number: int) -> None:
        await limiter.enter()
        order.append(number)
        await asyncio.sleep(1)
        limiter.leave()

    async def all_calls() -> None:
        await asyncio.gather(*(call(number) for number in range(10)))

    run(all_calls())
    assert order == list(range(10))


@pytest.mark.parametrize("balked", [False, True])
def test_it_widens_while_it_is_full_and_all_goes_well(balked: bool) -> None:
    async def work() -> list[int]:
        limiter = ConcurrencyLimiter(8 if balked else 4)
        if balked:
            limiter.narrow()
        limited = once(ScriptedModel(lambda _: "fine", latency=1), limiter)
        seen = []
        for _ in range(3):
            await asyncio.gather(*(limited.ask(REQUEST) for _ in range(limiter.limit + 10)))
            seen.append(limiter.limit)
        return seen

    first, second, third = run(work())
    assert 4 < first < second < third
    # One that never balked is tried out quickly, one that did with care.
    assert (third < 20) == balked


@pytest.mark.parametrize("failure", [Failure.RATE_LIMIT, Failure.OVERLOADED])
def test_a_burst_of_refusals_halves_it_once(failure: Failure) -> None:
    async def work() -> list[int]:
        limiter = ConcurrencyLimiter(32)
        limited = once(ScriptedModel(lambda _: CallFailed(failure, "slow down")), limiter)
        seen = []
        for _ in range(7):
            await asyncio.gather(*(limited.ask(REQUEST) for _ in range(32)), return_exceptions=True)
            seen.append(limiter.limit)
            await asyncio.sleep(1)
        return seen

    assert run(work()) == [16, 8, 4, 2, 1, 1, 1]


@pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.BAD_REQUEST, Failure.CONNECTION])
def test_other_failures_leave_it_as_it_is(failure: Failure) -> None:
    async def work() -> tuple[int, int]:
        limiter = ConcurrencyLimiter(32)
        limited = once(ScriptedModel(lambda _: CallFailed(failure, "no")), limiter)
        with pytest.raises(ProviderFailed):
            await limited.ask(REQUEST)
        return limiter.limit, limiter.inside

    assert run(work()) == (32, 0)


@pytest.mark.parametrize("reported", [(20,), (20, 10), (10, 20)])
def test_when_asked_to_wait_every_call_waits(reported: tuple[float, ...]) -> None:
    async def work() -> None:
        limiter = ConcurrencyLimiter(4)

        async def enter() -> None:
            await limiter.enter()
            limiter.leave()

        for seconds in reported:
            limiter.narrow(retry_after=seconds)
        tasks = [asyncio.ensure_future(enter()) for _ in range(10)]
        await asyncio.sleep(19.9)
        assert limiter.inside == 0
        assert not any(task.done() for task in tasks)
        await asyncio.gather(*tasks)
        assert now() == pytest.approx(20)

    run(work())


def test_a_place_given_to_a_call_that_is_cancelled_at_that_moment_goes_to_the_next() -> None:
    async def work() -> None:
        limiter = ConcurrencyLimiter(1)
        await limiter.enter()
        first = asyncio.ensure_future(limiter.enter())
        second = asyncio.ensure_future(limiter.enter())
        await asyncio.sleep(0)
        limiter.leave()
        first.cancel()
        await second
        assert first.cancelled()
        assert limiter.inside == 1

    run(work())
