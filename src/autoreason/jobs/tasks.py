"""Concurrent work: results in order, and nothing left running."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from autoreason.events import AnyEvent

T = TypeVar("T")
Emit = Callable[[AnyEvent], None]
Work = Callable[[Emit], Coroutine[Any, Any, T]]


async def use_in_order(work: list[Coroutine[Any, Any, T]], use: Callable[[T], object]) -> None:
    """Use results in the order of the work, as soon as those before are used; all ends before a failure is raised.

    Calls next to the one that failed are paid for, so they are awaited and recorded.
    """
    tasks = [asyncio.ensure_future(item) for item in work]
    failure: Exception | None = None
    try:
        for task in tasks:
            try:
                result = await task
            except Exception as raised:
                failure = failure or raised
            else:
                if not failure:
                    use(result)
        if failure:
            raise failure
    finally:
        await cancel(tasks)


async def cancel(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel tasks and wait until they have ended: what they record later could conflict with other records."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _EventBuffer:
    """Buffers events until everything before has been emitted."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._waiting: list[AnyEvent] | None = []

    def emit(self, event: AnyEvent) -> None:
        if self._waiting is None:
            self._emit(event)
        else:
            self._waiting.append(event)

    def open(self) -> None:
        # Open only once all are emitted: where that fails, later events must not overtake them.
        for event in self._waiting or ():
            self._emit(event)
        self._waiting = None


async def side_by_side(emit: Emit, works: Sequence[Work[T]]) -> list[T]:
    """All at once; their events come in the order of the works, whichever reply came first."""
    buffers = [_EventBuffer(emit) for _ in works]
    results: list[T] = []
    if buffers:
        buffers[0].open()

    def take(result: T) -> None:
        results.append(result)
        if len(results) < len(buffers):
            buffers[len(results)].open()

    await use_in_order(
        [work(buffer.emit) for work, buffer in zip(works, buffers, strict=True)], take
    )
    return results


async def run_in_windows(
    works: Iterable[Callable[[], Coroutine[Any, Any, None]]], width: int, ahead: int
) -> None:
    """Run any number: `width` at a time, none started more than `ahead` after the first unfinished one.

    Their events come as they happen, so the works must be independent of each other. After a failure no new one is
    started, and all that were started end before it is raised: a resumed run starts the same ones, so that none of
    their records is left unused.
    """
    remaining = iter(works)
    room = asyncio.Semaphore(width)
    started: deque[asyncio.Task[None]] = deque()
    failure: Exception | None = None

    async def at_work(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with room:
            await work()

    try:
        while True:
            while failure is None and len(started) < ahead and (work := next(remaining, None)):
                started.append(asyncio.create_task(at_work(work)))
            if not started:
                break
            try:
                await started[0]
            except Exception as raised:
                failure = failure or raised
            started.popleft()
        if failure:
            raise failure
    finally:
        await cancel(started)
