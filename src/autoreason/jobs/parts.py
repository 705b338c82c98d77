"""Parts of a run: strategies and panels held side by side, each with its own keys, seed and story."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from autoreason.events import AnyEvent, PartEvent
from autoreason.exchange import Outcome, Reply, Request, is_model
from autoreason.jobs.allowance import Allowance
from autoreason.jobs.context import Emit, JobContext
from autoreason.jobs.randomness import draw
from autoreason.jobs.tasks import cancel, use_in_order
from autoreason.settings import Settings
from autoreason.task import Task

T = TypeVar("T")
Work = Callable[[Emit], Coroutine[Any, Any, T]]
_NOBODY = Reply(outcome=Outcome.EMPTY, text="", model="person")


class _Lane:
    """Holds events back until everything before has been told."""

    def __init__(self, emit: Emit) -> None:
        self._tell = emit
        self._waiting: list[AnyEvent] | None = []

    def emit(self, event: AnyEvent) -> None:
        if self._waiting is None:
            self._tell(event)
        else:
            self._waiting.append(event)

    def open(self) -> None:
        # Open only once all of it is told: where telling fails, what comes later must not get ahead of it.
        for event in self._waiting or ():
            self._tell(event)
        self._waiting = None


async def side_by_side(emit: Emit, works: Sequence[Work[T]]) -> list[T]:
    """All at once; what they tell comes in their order, whichever reply came first."""
    lanes = [_Lane(emit) for _ in works]
    results: list[T] = []
    if lanes:
        lanes[0].open()

    def take(result: T) -> None:
        results.append(result)
        if len(results) < len(lanes):
            lanes[len(results)].open()

    await use_in_order([work(lane.emit) for work, lane in zip(works, lanes, strict=True)], take)
    return results


async def in_windows(
    works: Iterable[Callable[[], Coroutine[Any, Any, None]]], width: int, ahead: int
) -> None:
    """As many as there may be: `width` are at work, and none is begun more than `ahead` after the first unfinished.

    What they tell comes as it happens: they must be parts that have nothing to do with each other. After a failure
    nothing new is begun, and all that are begun end before it is raised: a run that is taken up again begins the
    same ones, so that nothing they recorded is forgotten.
    """
    coming = iter(works)
    room = asyncio.Semaphore(width)
    begun: deque[asyncio.Task[None]] = deque()
    failure: Exception | None = None

    async def at_work(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with room:
            await work()

    try:
        while True:
            while failure is None and len(begun) < ahead and (work := next(coming, None)):
                begun.append(asyncio.create_task(at_work(work)))
            if not begun:
                break
            try:
                await begun[0]
            except Exception as raised:
                failure = failure or raised
            begun.popleft()
        if failure:
            raise failure
    finally:
        await cancel(begun)


def part_of(
    context: JobContext,
    part: str,
    emit: Emit,
    task: Task,
    settings: Settings,
    allowance: Allowance | None = None,
    *,
    shared_draft: bool = False,
    luck: str | None = None,
) -> JobContext:
    """A venue within a venue: keys, seed and story of its own, and perhaps something to spend.

    Parts of the same `luck` draw alike, so that what they do differently is all that sets them apart.
    """

    async def ask(request: Request) -> Reply:
        if request.role == "person":
            # Guidance is for a run that a person follows, not for one of many.
            return _NOBODY
        reply = await context.ask(changed(request, key=f"{part}/{request.key}"))
        if allowance and is_model(request.role):
            allowance.take(reply)
        return reply

    def tell_part(event: AnyEvent) -> None:
        emit(PartEvent(part=part, event=event))

    seed = draw(context.settings.seed, luck or part).getrandbits(32)
    return replace(
        context,
        task=task,
        settings=changed(settings, seed=seed),
        ask=ask,
        emit=tell_part,
        allowance=allowance,
        shared_draft=shared_draft,
    )
