"""Parts of a run: strategies and panels held side by side, each with its own keys, seed and story."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from autoreason.events import AnyEvent, PartTold
from autoreason.exchange import Outcome, Reply, Request
from autoreason.settings import Settings
from autoreason.task import Task
from autoreason.tournament.allowance import Allowance
from autoreason.tournament.chance import draw
from autoreason.tournament.panel import in_order
from autoreason.tournament.venue import Tell, Venue

T = TypeVar("T")
Work = Callable[[Tell], Coroutine[Any, Any, T]]
_NOBODY = Reply(outcome=Outcome.EMPTY, text="", model="person")


class _Lane:
    """Holds events back until everything before has been told."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._waiting: list[AnyEvent] | None = []

    def tell(self, event: AnyEvent) -> None:
        if self._waiting is None:
            self._tell(event)
        else:
            self._waiting.append(event)

    def open(self) -> None:
        # Open only once all of it is told: where telling fails, what comes later must not get ahead of it.
        for event in self._waiting or ():
            self._tell(event)
        self._waiting = None


async def side_by_side(tell: Tell, works: Sequence[Work[T]]) -> list[T]:
    """All at once; what they tell comes in their order, whichever reply came first."""
    lanes = [_Lane(tell) for _ in works]
    results: list[T] = []
    if lanes:
        lanes[0].open()
    async for result in in_order(
        [work(lane.tell) for work, lane in zip(works, lanes, strict=True)]
    ):
        results.append(result)
        if len(results) < len(lanes):
            lanes[len(results)].open()
    return results


def part_of(
    venue: Venue,
    part: str,
    tell: Tell,
    task: Task,
    settings: Settings,
    allowance: Allowance | None = None,
) -> Venue:
    """A venue within a venue: keys, seed and story of its own, and perhaps something to spend."""

    async def ask(request: Request) -> Reply:
        if request.role == "person":
            # Guidance is for a run that a person follows, not for one of many.
            return _NOBODY
        reply = await venue.ask(changed(request, key=f"{part}/{request.key}"))
        if allowance:
            allowance.take(reply)
        return reply

    def tell_part(event: AnyEvent) -> None:
        tell(PartTold(part=part, event=event))

    seed = draw(venue.settings.seed, part).getrandbits(32)
    return replace(
        venue,
        task=task,
        settings=changed(settings, seed=seed),
        ask=ask,
        tell=tell_part,
        allowance=allowance,
    )
