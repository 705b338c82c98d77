"""Ending calls: without loss while they only wait, for their turn or for a retry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from autoreason.errors import Interruption

T = TypeVar("T")
STOPPED = "a person stopped the run"


class InterruptibleCall:
    """A call that can be ended; without loss while it only waits."""

    def __init__(self, *, timed: bool = False) -> None:
        self.timed = timed
        """Whether it waits no longer than a time limit."""
        self.idle = 0
        """How many idle sections it is in."""
        self.last_failure = ""
        """What the provider answered when it was asked last, if that was no reply."""
        self._task: asyncio.Task[Any] | None = None
        self._ended: Interruption | None = None

    async def reply(self, asking: Awaitable[T]) -> T:
        """The reply, or the interruption that the call was ended with."""
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
    """A section in which a call only waits, perhaps because of a failure."""
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
