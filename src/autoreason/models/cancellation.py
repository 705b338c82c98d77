"""Ending calls that only wait, for their turn or for a retry: none of their requests is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from autoreason.errors import Stopped

T = TypeVar("T")
STOPPED = "a person stopped the run"


class InterruptibleCall:
    """A call that can be ended without loss while it only waits."""

    def __init__(self) -> None:
        self.idle = 0
        """How many idle sections it is in."""
        self._task: asyncio.Task[Any] | None = None
        self._ended = False

    async def reply(self, asking: Awaitable[T]) -> T:
        """The reply, or `Stopped` where the call was ended while it waited."""
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
                raise Stopped(STOPPED) from None
            raise
        finally:
            _THIS.reset(before)
            if self._ended:
                task.uncancel()

    def end_if_idle(self) -> None:
        """End it, unless a request is on its way."""
        if self.idle and self._task and not self._ended:
            self._ended = True
            self._task.cancel()


_THIS: ContextVar[InterruptibleCall | None] = ContextVar("call", default=None)


@contextmanager
def idle_section() -> Iterator[None]:
    """A section in which a call only waits."""
    call = _THIS.get()
    if call is None:
        yield
        return
    call.idle += 1
    try:
        yield
    finally:
        call.idle -= 1
