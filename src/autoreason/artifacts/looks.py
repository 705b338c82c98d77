"""Taking looks: which seed and items a look has, what it is filed under, and that none is taken twice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autoreason.artifacts.measurement import (
    EndLookQuery,
    Files,
    KnownLookQuery,
    Look,
    LookOutcome,
    LookQuery,
    Measurement,
)
from autoreason.artifacts.research_task import ResearchTask
from autoreason.jobs.context import JobContext, cancel, draw, use_in_order
from autoreason.keys import sub_key

Taken = dict[int, asyncio.Task[Measurement]]
"""Looks at one artifact by number, also those under way."""
_LAST_LOOK = 1_000_000
"""Looks of the playoff and the end test are numbered from here, so that they share no seed with others."""


@dataclass
class Contender:
    """An artifact, the trial it comes from, and the looks that decided about it, by number."""

    trial: int
    """0 is the start."""
    files: Files
    carried: tuple[int, ...] = ()
    """Looks it was kept with, which it shares with the incumbent before it."""
    looks: dict[int, Measurement] = field(default_factory=dict)
    under_way: Taken = field(default_factory=dict)
    charged: set[int] = field(default_factory=set)
    """Looks that decisions were charged for: one that several trials share is paid for once."""

    def numbers(self, most: int) -> tuple[int, ...]:
        """The looks it has or may still be given."""
        fresh = (self.trial * most + each for each in range(most))
        return (*self.carried, *fresh)[:most]


class Looker:
    """Takes the looks of one job."""

    def __init__(self, context: JobContext, research: ResearchTask) -> None:
        self._context = context
        self._research = research
        self._sign = research.sign
        self._shared: set[asyncio.Task[Measurement]] = set()

    async def look(self, key: str, files: Files, number: int) -> Measurement:
        """Look at an artifact; looks of one number share seed and items."""
        return await self._ask(key, files, number, self._items(number))

    async def look_once(self, key: str, files: Files, number: int, taken: Taken) -> Measurement:
        """The same, unless the look is among those that were taken: then what that one shows."""
        if number in taken:
            known = await asyncio.shield(taken[number])
            return await self._ask(key, files, number, self._items(number), known=known)
        self._begin(self.look(key, files, number), number, taken)
        return await asyncio.shield(taken[number])

    async def again(self, contender: Contender, number: int) -> Measurement:
        """A look at an incumbent, taken once for all who compare themselves with it."""
        if number not in contender.looks:
            if number not in contender.under_way:
                name = f"incumbent/{contender.trial}" if contender.trial else "start"
                looking = self.look(sub_key(name, "look", number), contender.files, number)
                self._begin(looking, number, contender.under_way)
            contender.looks[number] = await asyncio.shield(contender.under_way[number])
        return contender.looks[number]

    def _begin(self, looking: Coroutine[Any, Any, Measurement], number: int, taken: Taken) -> None:
        """Begin a look that several may wait for: one of them that is cancelled must not end it."""
        taken[number] = looks = asyncio.ensure_future(looking)
        self._shared.add(looks)
        looks.add_done_callback(self._shared.discard)

    async def close(self) -> None:
        """End the looks that all who waited for them have left."""
        await cancel(self._shared)

    async def fresh(self, stage: str, files: Files, looks: int) -> list[Measurement]:
        """Looks whose seeds and items decided nothing before; of one stage all artifacts share them."""
        place = _LAST_LOOK if stage.startswith("playoff") else 2 * _LAST_LOOK
        return await in_order(
            self._ask(
                sub_key(stage, "look", each),
                files,
                place + each,
                self._items(place + each),
                kind=EndLookQuery,
            )
            for each in range(looks)
        )

    async def sealed(
        self, stage: str, files: Files, groups: Sequence[Sequence[int]]
    ) -> list[Measurement]:
        """One look at each group of sealed items."""
        return await in_order(
            self._ask(
                sub_key(stage, "look", each),
                files,
                2 * _LAST_LOOK + each,
                tuple(group),
                sealed=True,
                kind=EndLookQuery,
            )
            for each, group in enumerate(groups)
        )

    def value(self, measurement: Measurement) -> float | None:
        """Its number, higher is better; None where there is none."""
        if measurement.outcome is not LookOutcome.OK or measurement.value is None:
            return None
        return self._sign * measurement.value

    def by_item(self, measurement: Measurement) -> list[float]:
        """Its numbers item by item, higher is better."""
        return [self._sign * each for each in measurement.by_item]

    def values(self, looks: Mapping[int, Measurement]) -> dict[int, float]:
        """The numbers of those looks that have one."""
        found = {number: self.value(each) for number, each in looks.items()}
        return {number: value for number, value in found.items() if value is not None}

    async def _ask(
        self,
        key: str,
        files: Files,
        number: int,
        items: tuple[int, ...],
        *,
        sealed: bool = False,
        known: Measurement | None = None,
        kind: type[LookQuery] = LookQuery,
    ) -> Measurement:
        seed = draw(self._context.settings.seed, f"look/{number}").getrandbits(31)
        look = Look(files=files, seed=seed, items=items, sealed=sealed, alone=self._research.timed)
        if known is not None:
            return await self._context.ask(KnownLookQuery(key=key, look=look, known=known))
        return await self._context.ask(kind(key=key, look=look))

    def _items(self, number: int) -> tuple[int, ...]:
        """Drawn anew for every look where there are more than a look takes."""
        every = range(self._research.items)
        if not self._research.draws_items:
            return tuple(every)
        taken = self._research.per_look
        return tuple(
            sorted(draw(self._context.settings.seed, f"items/{number}").sample(every, taken))
        )


async def in_order(looks: Iterable[Coroutine[Any, Any, Measurement]]) -> list[Measurement]:
    """Looks side by side."""
    results: list[Measurement] = []
    await use_in_order(list(looks), results.append)
    return results


def split_sealed(items: int, groups: int, seed: int) -> list[list[int]]:
    """Sealed items in groups of nearly the same size, drawn at random: one look for each."""
    order = list(range(items))
    draw(seed, "sealed").shuffle(order)
    return [sorted(order[each::groups]) for each in range(min(groups, items))]
