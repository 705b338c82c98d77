"""The outage guard: when a provider is down for everybody, nobody goes on trying alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from autoreason.errors import CallFailed, Failure, ProviderFailed
from autoreason.exchange import Model, OnSignal, Reply, Request
from autoreason.models.log import LOG

Sleep = Callable[[float], Awaitable[object]]

OUTAGE = frozenset({Failure.OVERLOADED, Failure.TIMEOUT, Failure.CONNECTION, Failure.BROKEN_REPLY})
"""What a provider that is down looks like. Whoever says "slow down" or "wrong key" is up."""


class CircuitBreaker:
    """Shared by all calls to one provider; opens when they fail in a row for a while, probes after a rest."""

    def __init__(
        self,
        provider: str,
        *,
        most: int = 8,
        span: float = 20.0,
        rest: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._most = most
        # One blow can break every call under way at once, and a server that starts again is away for
        # seconds; only failing for a while is an outage.
        self._span = span
        self._rest = rest
        self._clock = clock
        self._in_a_row = 0
        self._since = 0.0
        self._last = ""
        self._open_until: float | None = None
        self._probing = False
        self._naps: set[asyncio.Future[object]] = set()

    @property
    def is_open(self) -> bool:
        """Whether calls are refused now; not so for the one that may probe after the rest."""
        if self._open_until is None:
            return False
        return self._probing or self._clock() < self._open_until

    def check(self) -> None:
        """Refuse at once while the provider is taken to be down."""
        if self.is_open:
            raise ProviderFailed(
                f"{self._provider} has failed {self._in_a_row} times in a row, last: {self._last}; "
                "the run is paused, `autoreason resume` goes on when it is back"
            )

    @contextmanager
    def passage(self) -> Iterator[None]:
        """One call on its way to the provider; how it ends is what the guard knows."""
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
        """Sleep between two tries; ends at once, and raises, when the guard opens meanwhile."""
        self.check()
        nap = asyncio.ensure_future(sleep(seconds))
        self._naps.add(nap)
        try:
            await asyncio.wait((nap,))
        finally:
            self._naps.discard(nap)
            nap.cancel()
        if not nap.cancelled():
            nap.result()
        self.check()

    def _failed(self, failed: CallFailed, probe: bool) -> None:
        if failed.failure not in OUTAGE:
            self._close()
            return
        now = self._clock()
        if not self._in_a_row:
            self._since = now
        self._in_a_row += 1
        self._last = said(failed)
        shut = self._open_until is None
        down = self._in_a_row >= self._most and now - self._since >= self._span
        if probe or (shut and down):
            self._open_until = now + self._rest
            LOG.info("%s is down; nothing is sent for %g s", self._provider, self._rest)
            for nap in self._naps:
                nap.cancel()

    def _close(self) -> None:
        if self._open_until is not None:
            LOG.info("%s is back", self._provider)
        self._in_a_row = 0
        self._open_until = None


def said(failed: CallFailed) -> str:
    """What went wrong, fit to stand within a sentence."""
    return str(failed).rstrip(". ") or failed.failure.value.replace("_", " ")


class GuardedModel:
    """A model whose calls pass a guard."""

    def __init__(self, model: Model, guard: CircuitBreaker) -> None:
        self._model = model
        self._guard = guard

    @property
    def address(self) -> str:
        """`provider/model`."""
        return self._model.address

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request, unless the provider is down."""
        with self._guard.passage():
            return await self._model.ask(request, on_signal)

    async def close(self) -> None:
        """Close the model within."""
        await self._model.close()
