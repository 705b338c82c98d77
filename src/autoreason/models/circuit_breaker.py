"""A circuit breaker: when a provider is down, all calls to it end together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import Model, OnSignal, Reply, Request
from autoreason.models.log import LOG
from autoreason.models.wrapper import WrapperModel

Sleep = Callable[[float], Awaitable[object]]

OUTAGE = frozenset({Failure.OVERLOADED, Failure.TIMEOUT, Failure.CONNECTION, Failure.BROKEN_REPLY})
"""Failures of a provider that is down. One that answers "slow down" or "wrong key" is up."""


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
        """Whether calls are refused now; the one that may probe after the pause is not."""
        if self._open_until is None:
            return False
        return self._probing or self._clock() < self._open_until

    def check(self) -> None:
        """Refuse at once while the provider is taken to be down."""
        if self.is_open:
            raise ProviderFailed(
                f"{self._provider} has failed {self._failures} times in a row, last: {self._last}; "
                "the run is paused, `autoreason resume` goes on when it is back"
            )

    @contextmanager
    def track(self) -> Iterator[None]:
        """One call to the provider; the circuit breaker learns from how it ends."""
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
        if failed.failure not in OUTAGE:
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
    """The message of a failure, without its full stop."""
    return str(failed).rstrip(". ") or failed.failure.value.replace("_", " ")


class GuardedModel(WrapperModel):
    """A model whose calls pass a circuit breaker."""

    def __init__(self, model: Model, breaker: CircuitBreaker) -> None:
        super().__init__(model)
        self._breaker = breaker

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request, unless the provider is down."""
        with self._breaker.track():
            return await self._model.ask(request, on_signal)
