"""Adaptive concurrency: more calls at once while they succeed, half when the provider refuses."""

from __future__ import annotations

import asyncio
from collections import deque
from math import inf
from typing import Protocol

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import Model, OnSignal, Reply, Request
from autoreason.models.cancellation import idle_section
from autoreason.models.log import LOG, kind_of
from autoreason.models.wrapper import WrapperModel

REMOTE = 32


class Limiter(Protocol):
    """Places for calls to one provider: of this process, or shared with others."""

    @property
    def limit(self) -> int | None:
        """How many calls may run now; None where another process decides that."""
        ...

    async def enter(self) -> None:
        """Wait for a place."""
        ...

    def widen(self) -> None:
        """The call that leaves next succeeded."""
        ...

    def narrow(self, retry_after: float | None = None) -> None:
        """The call that leaves next was refused, because there are too many."""
        ...

    def leave(self) -> None:
        """Give the place back."""
        ...


class ConcurrencyLimiter:
    """A limit of concurrent calls to one provider: first come, first served, adapted to what it accepts.

    Belongs to the event loop it is used in.
    """

    def __init__(
        self,
        start: int = REMOTE,
        *,
        max_limit: int | None = None,
        window: float = 1.0,
        max_pause: float = 120.0,
    ) -> None:
        self._width = float(start)
        self._max_limit = float(max_limit or 16 * start)
        self._window = window
        self._max_pause = max_pause
        self.inside = 0
        """How many calls run."""
        self._queue: deque[asyncio.Future[None]] = deque()
        self._narrowed_at = -inf
        self._paused_until = -inf
        self._reopening: asyncio.TimerHandle | None = None

    @property
    def limit(self) -> int:
        """How many calls may run now."""
        return int(self._width)

    async def enter(self) -> None:
        """Wait for a place."""
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

    def restore(self) -> None:
        """Count a call that has a place already, from a limiter which is gone."""
        self.inside += 1

    def leave(self) -> None:
        """Give the place back."""
        self.inside -= 1
        self._admit()

    def widen(self) -> None:
        """A call succeeded: one more place per `limit` such calls, if all places were taken."""
        if self.inside >= self.limit:
            # A provider that has never refused is probed: twice the places with every round.
            step = 1.0 if self._narrowed_at == -inf else 1.0 / self._width
            self._width = min(self._max_limit, self._width + step)
            self._admit()

    def narrow(self, retry_after: float | None = None) -> None:
        """The provider wants fewer calls: half the places, and none starts for as long as it asks."""
        now = asyncio.get_running_loop().time()
        # Calls sent together are refused together: that is one sign, not many.
        if now - self._narrowed_at >= self._window:
            self._narrowed_at = now
            self._width = max(1.0, self._width / 2)
        # A call that has to wait longer than this gives up; so must those in the queue.
        if retry_after and retry_after <= self._max_pause:
            self._pause(now + retry_after)

    def _pause(self, until: float) -> None:
        if until <= self._paused_until:
            return
        self._paused_until = until
        if self._reopening:
            self._reopening.cancel()
        self._reopening = asyncio.get_running_loop().call_at(until, self._reopen)

    def _reopen(self) -> None:
        self._reopening = None
        self._admit()

    def _admit(self) -> None:
        while self._queue and self.inside < self.limit and not self._reopening:
            turn = self._queue.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)


class LimitedModel(WrapperModel):
    """A model whose calls go through a shared limiter."""

    def __init__(self, model: Model, limiter: Limiter) -> None:
        super().__init__(model)
        self._limiter = limiter

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request when there is a place for it."""
        await self._limiter.enter()
        try:
            reply = await self._model.ask(request, on_signal)
            self._limiter.widen()
            return reply
        except CallFailed as failed:
            if failed.failure in (Failure.RATE_LIMIT, Failure.OVERLOADED):
                self._limiter.narrow(failed.retry_after)
                at_once = self._limiter.limit or "fewer"
                LOG.info("%s: at most %s at once now: %s", self.address, at_once, kind_of(failed))
            raise
        finally:
            self._limiter.leave()
