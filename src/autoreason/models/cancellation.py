"""Calls that only wait, for their turn or to be tried again: nothing is under way in them, so they may be ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from autoreason.errors import Stopped
from autoreason.exchange import Reply

STOPPED = "a person stopped the run"


class InterruptibleModel:
    """A call that can be ended at no loss while it rests."""

    def __init__(self) -> None:
        self.rests = 0
        """In how many places it only waits now."""
        self._task: asyncio.Task[Any] | None = None
        self._ended = False

    async def reply(self, asking: Awaitable[Reply]) -> Reply:
        """What comes of it, or `Stopped` where it was ended while it rested."""
        self._task = task = asyncio.current_task()
        assert task is not None
        cancelled = task.cancelling()
        # Tasks that a model starts on the way belong to the same call: they inherit the context.
        before = _THIS.set(self)
        try:
            return await asking
        except asyncio.CancelledError:
            # Whoever else cancelled the task meanwhile has the last word.
            if self._ended and task.cancelling() == cancelled + 1:
                raise Stopped(STOPPED) from None
            raise
        finally:
            _THIS.reset(before)
            if self._ended:
                task.uncancel()

    def end_rest(self) -> None:
        """End it, unless a request is on its way."""
        if self.rests and self._task and not self._ended:
            self._ended = True
            self._task.cancel()


_THIS: ContextVar[InterruptibleModel | None] = ContextVar("call", default=None)


@contextmanager
def idle_section() -> Iterator[None]:
    """While a call does nothing but wait."""
    call = _THIS.get()
    if call is None:
        yield
        return
    call.rests += 1
    try:
        yield
    finally:
        call.rests -= 1
