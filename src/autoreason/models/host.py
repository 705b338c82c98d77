"""Models that are answered from outside: their calls wait no longer than their run has other work."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from autoreason.errors import Interruption, InvalidInput
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.models.layers import idle_section
from autoreason.settings import HOST

Post = Callable[[Request], Awaitable[str | None]]
"""Stores a question, unless it is there; returns its answer, None where there is none yet."""
_NAME = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_QUIET = 0.02
"""Seconds with nothing else under way after which a run ends. Too few cost a resume and nothing else."""


class Parking:
    """Which calls of a run do something, and which only wait for answers from outside."""

    def __init__(self, post: Post, end: Callable[[int], Interruption]) -> None:
        """`end` is what each that waits is ended with, given how many there are."""
        self.post = post
        self._end = end
        self._busy = 0
        self._parked: list[asyncio.Future[NoReturn]] = []
        self._timer: asyncio.TimerHandle | None = None
        self.over: int | None = None
        """How many waited when nothing else was left; None before."""

    @contextmanager
    def busy(self, step: int = 1) -> Iterator[None]:
        """Count a call as one that does something, or with -1 as one that waits for others."""
        self._change(step)
        try:
            yield
        finally:
            self._change(-step)

    async def park(self) -> NoReturn:
        """Wait until nothing else is left, which ends the run."""
        call: asyncio.Future[NoReturn] = asyncio.get_running_loop().create_future()
        self._parked.append(call)
        try:
            with self.busy(-1), idle_section():
                await call
        finally:
            self._parked.remove(call)

    def _change(self, step: int) -> None:
        self._busy += step
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if self._parked and not self._busy:
            self._timer = asyncio.get_running_loop().call_later(_QUIET, self._finish)

    def _finish(self) -> None:
        self.over = len(self._parked)
        for call in self._parked:
            if not call.done():
                call.set_exception(self._end(self.over))


class HostModel:
    """A model of whatever the user runs this from; `parking` is that of the run that asks."""

    def __init__(self, address: str, parking: Parking | None = None) -> None:
        if not _NAME.fullmatch(address.removeprefix(f"{HOST}/")):
            raise InvalidInput(
                f"{address!r} is not the name of a model that is answered from outside; write {HOST}/NAME, "
                "with plain letters, digits, `.`, `_` and `-`"
            )
        self.address = address
        self._parking = parking

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:  # noqa: ARG002
        """The answer, if it is there; else the run ends when it has nothing else to do."""
        assert self._parking, f"only a run asks {self.address}"
        answer = await self._parking.post(request)
        if answer is None:
            await self._parking.park()
        return Reply(text=answer, model=self.address)

    async def close(self) -> None:
        """Nothing to close."""
