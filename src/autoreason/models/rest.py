"""Calls that only wait, for their turn or to be tried again: nothing is under way in them, so they may be ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any

from autoreason.exchange import Reply


class Interruptible:
    """A call that can be ended at no loss while it rests."""

    def __init__(self, asking: Coroutine[Any, Any, Reply]) -> None:
        self.ended = False
        """Whether it was ended while it rested."""
        self._rests = 0
        context = copy_context()
        context.run(_THIS.set, self)
        # Tasks that a model starts on the way belong to the same call: they inherit the context.
        self._task = asyncio.create_task(asking, context=context)

    async def reply(self) -> Reply:
        """What comes of it; nobody else waits, so whoever is cancelled here cancels the call."""
        try:
            return await self._task
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    def end_rest(self) -> None:
        """End it, unless a request is on its way."""
        if self._rests:
            self.ended = True
            self._task.cancel()

    @contextmanager
    def _resting(self) -> Iterator[None]:
        self._rests += 1
        try:
            yield
        finally:
            self._rests -= 1


_THIS: ContextVar[Interruptible | None] = ContextVar("call", default=None)


@contextmanager
def resting() -> Iterator[None]:
    """While a call does nothing but wait."""
    call = _THIS.get()
    if call is None:
        yield
        return
    with call._resting():
        yield
