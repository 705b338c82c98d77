"""What each person sees, and in which order."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from autoreason.jobs.context import draw
from autoreason.studies.raters.packet import Packet
from autoreason.tournament.judges import balanced_orders


class RatingStep(Struct, frozen=True):
    """One screen: a text to rate, or the texts of a task to rank."""

    kind: Literal["text", "ranking"]
    task: int
    codes: tuple[str, ...]
    """The one text, or all of the task in the order in which they were shown."""


def plan(packet: Packet, seat: int) -> tuple[RatingStep, ...]:
    """The steps of the person in a seat: over people, every text is equally often in every place."""
    tasks = _order(packet, "tasks", [str(number) for number in range(len(packet.tasks))], seat)
    steps: list[RatingStep] = []
    for number in map(int, tasks):
        codes = _order(packet, f"task {number}", packet.tasks[number].codes, seat)
        steps += [RatingStep("text", number, (code,)) for code in codes]
        steps.append(RatingStep("ranking", number, codes))
    return tuple(steps)


def _order(
    packet: Packet, purpose: str, names: list[str] | tuple[str, ...], seat: int
) -> tuple[str, ...]:
    seed = draw(packet.orders_seed, purpose).getrandbits(32)
    return balanced_orders(names, seat + 1, seed)[seat]
