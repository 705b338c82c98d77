"""Parts of a run: strategies and panels side by side, each with its own keys, seed and story."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from autoreason.events import AnyEvent, PartEvent
from autoreason.exchange import GuidanceQuery, Query, Reply, Request
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import Emit, JobContext
from autoreason.jobs.randomness import draw
from autoreason.jobs.tasks import cancel, use_in_order
from autoreason.keys import sub_key
from autoreason.settings import Settings
from autoreason.task import Task

T = TypeVar("T")
Work = Callable[[Emit], Coroutine[Any, Any, T]]


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


def part_context(
    context: JobContext,
    part: str,
    emit: Emit,
    task: Task,
    settings: Settings,
    allowance: Allowance | None = None,
    *,
    seed_name: str | None = None,
) -> JobContext:
    """A context within a context, with its own keys, seed and story, and perhaps an allowance.

    Parts of the same `seed_name` draw alike, so that they differ only in what they do.
    """

    async def ask(request: Request | Query[Any]) -> Any:
        if isinstance(request, GuidanceQuery):
            # Guidance is for a run that a person follows, not for one of many.
            return ""
        answer = await context.ask(changed(request, key=sub_key(part, request.key)))
        if allowance and isinstance(answer, Reply):
            allowance.take(answer)
        return answer

    def emit_part(event: AnyEvent) -> None:
        emit(PartEvent(part=part, event=event))

    seed = draw(context.settings.seed, seed_name or part).getrandbits(32)
    return replace(
        context,
        task=task,
        settings=changed(settings, seed=seed),
        ask=ask,
        emit=emit_part,
        allowance=allowance,
        # Panels that failed are counted by the job, not by its parts.
        recovery=changed(context.recovery, failed_panels=0),
    )
