"""Layers around a model: retries, a limit of calls at once, a circuit breaker; what users bring is checked."""

from __future__ import annotations

import asyncio
import time
from asyncio import CancelledError, current_task
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeVar

import msgspec

from autoreason.errors import CallFailed, Failure, Interruption, ProviderFailed
from autoreason.exchange import CallRetried, Model, OnSignal, Reply, Request
from autoreason.models.transport import LOG, attempt, kind_of
from autoreason.plugins import describe, first_line


class WrapperModel:
    """A model around another one; what it adds is in its `ask`."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def address(self) -> str:
        return self._model.address

    async def close(self) -> None:
        await self._model.close()


T = TypeVar("T")


class InterruptibleCall:
    """A call that can be ended; without loss while it only waits."""

    def __init__(self, *, timed: bool = False) -> None:
        self.timed = timed
        """Whether it waits no longer than a time limit."""
        self.idle = 0
        """How many idle sections it is in."""
        self.last_failure = ""
        """What the provider answered when it was asked last, if that was not a reply."""
        self._task: asyncio.Task[Any] | None = None
        self._ended: Interruption | None = None

    async def reply(self, asking: Awaitable[T]) -> T:
        self._task = task = asyncio.current_task()
        assert task is not None
        cancelled = task.cancelling()
        # Tasks that a model starts on the way belong to the same call: they inherit the context.
        before = _THIS.set(self)
        try:
            return await asking
        except asyncio.CancelledError:
            # Another cancellation of the task takes precedence.
            if self._ended and task.cancelling() == cancelled + 1:
                raise self._ended from None
            raise
        finally:
            _THIS.reset(before)
            if self._ended:
                task.uncancel()

    def end(self, interruption: Interruption, *, at_once: bool = False) -> None:
        """End it, unless a request is on its way that is still waited for."""
        if (self.idle or at_once) and self._task and not self._ended:
            self._ended = interruption
            self._task.cancel()


_THIS: ContextVar[InterruptibleCall | None] = ContextVar("call", default=None)


@contextmanager
def idle_section(failure: str = "") -> Iterator[None]:
    call = _THIS.get()
    if call is None:
        yield
        return
    call.last_failure = failure or call.last_failure
    call.idle += 1
    try:
        yield
    finally:
        call.idle -= 1


Sleep = Callable[[float], Awaitable[object]]

_OUTAGE = frozenset({Failure.OVERLOADED, Failure.TIMEOUT, Failure.CONNECTION, Failure.BROKEN_REPLY})
"""Failures of a provider that is down. One that answers "slow down" or "wrong key" is up."""
_BUSY = (Failure.RATE_LIMIT, Failure.OVERLOADED)


class CircuitBreaker:
    """Shared by all calls to one provider; opens when they fail in a row for a while, probes after a pause."""

    def __init__(
        self,
        provider: str,
        *,
        max_failures: int = 8,
        span: float = 20.0,
        rest: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._max_failures = max_failures
        # One incident can break every call under way, and a server that restarts is away for
        # seconds; only failing for a while is an outage.
        self._span = span
        self._rest = rest
        self._clock = clock
        self._failures = 0
        self._since = 0.0
        self._last = ""
        self._open_until: float | None = None
        self._probing = False
        self._waits: set[asyncio.Future[object]] = set()

    @property
    def is_open(self) -> bool:
        if self._open_until is None:
            return False
        return self._probing or self._clock() < self._open_until

    def check(self) -> None:
        if self.is_open:
            raise ProviderFailed(
                f"{self._provider} has failed {self._failures} times in a row, last: {self._last}; "
                "the run is paused, `autoreason resume` goes on when it is back"
            )

    @contextmanager
    def track(self) -> Iterator[None]:
        self.check()
        probe = self._open_until is not None
        if probe:
            self._probing = True
        try:
            yield
        except CallFailed as failed:
            self._failed(failed, probe)
            raise
        else:
            self._close()
        finally:
            if probe:
                self._probing = False

    async def wait(self, seconds: float, sleep: Sleep = asyncio.sleep) -> None:
        """Sleep between two tries; ends at once, and raises, when the circuit breaker opens."""
        self.check()
        pause = asyncio.ensure_future(sleep(seconds))
        self._waits.add(pause)
        try:
            await asyncio.wait((pause,))
        finally:
            self._waits.discard(pause)
            pause.cancel()
        if not pause.cancelled():
            pause.result()
        self.check()

    def _failed(self, failed: CallFailed, probe: bool) -> None:
        if failed.failure not in _OUTAGE:
            self._close()
            return
        now = self._clock()
        if not self._failures:
            self._since = now
        self._failures += 1
        self._last = failure_message(failed)
        shut = self._open_until is None
        down = self._failures >= self._max_failures and now - self._since >= self._span
        if probe or (shut and down):
            self._open_until = now + self._rest
            LOG.info("%s is down; nothing is sent for %g s", self._provider, self._rest)
            for pause in self._waits:
                pause.cancel()

    def _close(self) -> None:
        if self._open_until is not None:
            LOG.info("%s is back", self._provider)
        self._failures = 0
        self._open_until = None


def failure_message(failed: CallFailed) -> str:
    return str(failed).rstrip(". ") or failed.failure.value.replace("_", " ")


class Limiter(Protocol):
    """Places for calls to one provider, of this process or shared with others.

    `widen` says that the call which leaves next succeeded, `narrow` that it was refused.
    """

    @property
    def limit(self) -> int | None:
        """How many calls may run now; None where another process decides that."""
        ...

    async def enter(self) -> None: ...
    def widen(self) -> None: ...
    def narrow(self, retry_after: float | None = None) -> None: ...
    def leave(self) -> None: ...


class Width(msgspec.Struct):
    """How many calls to a provider may run at once, adapted to what it accepts; times are those of one clock."""

    width: float
    most: float
    narrowed: float | None = None
    """When it last refused a call."""
    paused: float = 0.0
    """Until when no call starts."""
    window: float = 1.0
    max_pause: float = 120.0

    def widen(self) -> None:
        # A provider that has never refused is probed: twice the places with every round.
        step = 1.0 if self.narrowed is None else 1.0 / self.width
        self.width = min(self.most, self.width + step)

    def narrow(self, now: float, retry_after: float | None) -> None:
        """The provider wants fewer calls: half the places, and none starts for as long as it asks."""
        # Calls sent together are refused together: that is one sign, not many.
        if self.narrowed is None or not 0 <= now - self.narrowed < self.window:
            self.narrowed = now
            self.width = max(1.0, self.width / 2)
        # A call that has to wait longer than this gives up; so must those in the queue.
        if retry_after and retry_after <= self.max_pause:
            self.paused = max(self.paused, now + retry_after)

    def places(self, now: float) -> int:
        return 0 if now < self.paused <= now + self.max_pause else int(self.width)


class ConcurrencyLimiter:
    """A limit of concurrent calls to one provider: first come, first served, adapted to what it accepts.

    Belongs to the event loop it is used in.
    """

    def __init__(
        self,
        start: int = 32,
        *,
        max_limit: int | None = None,
        window: float = 1.0,
        max_pause: float = 120.0,
    ) -> None:
        most = float(max_limit or 16 * start)
        self.width = Width(float(start), most, window=window, max_pause=max_pause)
        self.inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._reopening: asyncio.TimerHandle | None = None

    @property
    def limit(self) -> int:
        return int(self.width.width)

    async def enter(self) -> None:
        # No call is overtaken here: there is a queue only while the limiter is full or paused.
        if self.inside < self.limit and not self._reopening:
            self.inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            with idle_section():
                await turn
        except asyncio.CancelledError:
            # Given a place and cancelled in the same moment: the place goes to the next.
            if not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        self.inside -= 1
        self._admit()

    def widen(self) -> None:
        if self.inside >= self.limit:
            self.width.widen()
            self._admit()

    def narrow(self, retry_after: float | None = None) -> None:
        loop, before = asyncio.get_running_loop(), self.width.paused
        self.width.narrow(loop.time(), retry_after)
        if self.width.paused > before:
            if self._reopening:
                self._reopening.cancel()
            self._reopening = loop.call_at(self.width.paused, self._reopen)

    def _reopen(self) -> None:
        self._reopening = None
        self._admit()

    def _admit(self) -> None:
        while self._queue and self.inside < self.limit and not self._reopening:
            turn = self._queue.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)


_FIXES = {
    Failure.BAD_KEY: "does not accept the key ({why}); check the key for {provider}",
    Failure.NO_CREDIT: "gives no more credit ({why}); top up there",
    Failure.NO_ACCESS: "cannot be used from here ({why}); fix that",
    Failure.BAD_REQUEST: "does not accept the request ({why}); check that the model exists there "
    "and takes this much text",
}


@dataclass(frozen=True)
class RetryPolicy:
    """How long one call is tried. Waits are in seconds."""

    tries: int = 6
    """Enough for an outage of a quarter of a minute."""
    busy_tries: int = 10
    """For a provider that is up but limits the rate: limits per minute take a minute to pass."""
    first_wait: float = 1.0
    """Longest wait after the first failure; doubles with each further one."""
    max_wait: float = 30.0
    max_retry_after: float = 120.0
    """Asked to wait longer than this, a call gives up at once."""

    def wait(self, failures: int, retry_after: float | None, rng: Random) -> float:
        """Seconds until the next try: as long as the provider asks, with jitter."""
        # No more than 64 doublings: a float has no room for the powers beyond.
        ceiling = min(self.max_wait, self.first_wait * 2.0 ** min(failures - 1, 64))
        return (retry_after or 0.0) + rng.uniform(ceiling / 2, ceiling)


class RetryingModel(WrapperModel):
    """A model that is asked again when a call fails temporarily.

    A call in back-off takes no place in the limiter. The circuit breaker counts every try, and a call that
    waited for a place learns of an outage before it is sent. Both are one each per provider, shared by its models.
    """

    def __init__(
        self,
        model: Model,
        *,
        limiter: Limiter | None = None,
        breaker: CircuitBreaker | None = None,
        policy: RetryPolicy | None = None,
        rng: Random | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._limiter = limiter
        self._breaker = breaker or CircuitBreaker(model.address.partition("/")[0])
        self._policy = policy or RetryPolicy()
        # Only spreads calls over time; nothing a run records depends on it.
        self._rng = rng or Random()
        self._sleep = sleep

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        self._breaker.check()
        failures = 0
        while True:
            try:
                with attempt(request.key, failures + 1):
                    return await self._ask_once(request, on_signal)
            except CallFailed as failed:
                failures += 1
                if given_up := self._give_up(failed, failures):
                    LOG.info("%s given up, attempt %d: %s", request.key, failures, kind_of(failed))
                    raise ProviderFailed(given_up) from failed
                wait = self._policy.wait(failures, failed.retry_after, self._rng)
                reason = failure_message(failed)
                LOG.info("%s again in %.1f s: %s", request.key, wait, kind_of(failed))
            # Outside the handler, so that what ends the wait is not chained to the failure.
            if on_signal:
                on_signal(CallRetried(request.key, reason, wait))
            with idle_section(reason):
                await self._breaker.wait(wait, self._sleep)

    async def _ask_once(self, request: Request, on_signal: OnSignal | None) -> Reply:
        limiter = self._limiter
        if limiter:
            await limiter.enter()
        try:
            with self._breaker.track():
                reply = await self._model.ask(request, on_signal)
            if limiter:
                limiter.widen()
            return reply
        except CallFailed as failed:
            if limiter and failed.failure in _BUSY:
                limiter.narrow(failed.retry_after)
                at_once = limiter.limit or "fewer"
                LOG.info("%s: at most %s at once now: %s", self.address, at_once, kind_of(failed))
            raise
        finally:
            if limiter:
                limiter.leave()

    def _give_up(self, failed: CallFailed, failures: int) -> str | None:
        """Why there is no further try, as one sentence with the fix."""
        why, address = failure_message(failed), self.address
        provider = address.partition("/")[0]
        if failed.failure in _FIXES and not failed.retry:
            who = address if failed.failure is Failure.BAD_REQUEST else provider
            fix = _FIXES[failed.failure].format(provider=provider, why=why)
            return f"{who} {fix}, then `autoreason resume`"
        if failed.retry is False:
            return f"{address} failed and soon would again ({why}); `autoreason resume` later"
        if (failed.retry_after or 0.0) > self._policy.max_retry_after:
            wait = f"{failed.retry_after:.0f} seconds"
            return f"{provider} asks us to wait {wait} ({why}); `autoreason resume` after that"
        policy = self._policy
        if failures >= (policy.busy_tries if failed.failure in _BUSY else policy.tries):
            times = "once" if failures == 1 else f"{failures} times"
            return f"{address} failed {times}, last: {why}; `autoreason resume` when it is back"
        return None


_MAX_NUMBER = 10**12
"""No call takes as many tokens, dollars or seconds, and the sum over a run can still be recorded."""


class UserModel(WrapperModel):
    """A model of the user's own: its mistakes are failures of a provider."""

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request; what goes wrong with a connection may be tried again, a mistake in the code is not."""
        try:
            reply = await self._model.ask(request, on_signal)
        except (CallFailed, ProviderFailed) as error:
            error.args = (first_line(error),)
            raise
        except OSError as error:
            raise CallFailed(Failure.CONNECTION, self._describe(error)) from error
        except (Exception, CancelledError, SystemExit) as error:
            if _is_cancelled(error):
                raise
            raise ProviderFailed(
                f"the model {self.address} raised {self._describe(error)}; "
                "correct it, then resume the run"
            ) from error
        return self._checked(reply)

    async def close(self) -> None:
        """Close the model within; a run that is over does not fail because of it."""
        try:
            await self._model.close()
        except (Exception, CancelledError, SystemExit) as error:
            if _is_cancelled(error):
                raise
            LOG.warning("%s cannot be closed: %s", self.address, type(error).__name__)

    def _checked(self, reply: object) -> Reply:
        """The reply as it will be recorded; what could not be recorded or counted is refused."""
        try:
            if not isinstance(reply, Reply):
                raise TypeError(f"{type(reply).__name__} in place of a Reply")
            found = msgspec.json.decode(msgspec.json.encode(reply), type=Reply)
            numbers = (*msgspec.structs.astuple(found.usage), found.cost, found.seconds)
            if not all(each is None or 0 <= each <= _MAX_NUMBER for each in numbers):
                raise ValueError(f"a number that is not between 0 and {_MAX_NUMBER:,}")
        except (msgspec.MsgspecError, ArithmeticError, TypeError, ValueError) as error:
            raise ProviderFailed(
                f"the model {self.address} gave no valid reply ({first_line(error)}); "
                "correct it, then resume the run"
            ) from error
        return found if found.model else msgspec.structs.replace(found, model=self.address)

    def _describe(self, error: BaseException) -> str:
        code = getattr(self._model.ask, "__code__", None)
        return describe(error, code and code.co_filename)


def _is_cancelled(error: BaseException) -> bool:
    """Whether the call is being cancelled, not just a model that raises what a cancellation does."""
    task = current_task()
    return isinstance(error, CancelledError) and task is not None and task.cancelling() > 0
