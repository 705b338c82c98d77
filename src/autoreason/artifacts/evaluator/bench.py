"""How looks are taken, whatever measures: so many at a time, with their time, and no word of a sealed item."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from subprocess import SubprocessError
from typing import Any

from msgspec.structs import replace

from autoreason.artifacts.evaluator.look_values import measured, without_sealed_text
from autoreason.artifacts.evaluator.saved_evaluation import record_opening
from autoreason.artifacts.measurement import Look, LookOutcome, Measurement
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.errors import InvalidInput


class Bench:
    """Takes looks on the items of an evaluation."""

    level: str
    """How artifacts are kept from everything else."""

    def __init__(
        self, source: EvaluationSource, *, parallel: int, run: str, guards: Collection[str] = ()
    ) -> None:
        self.source = source
        self._names = {source.metric, *guards}
        """The numbers of sealed looks that may leave: any other name could be an item's text."""
        self.run = run
        """Which run it measures for, where a sealed set is counted as opened."""
        self._slots = LookSlots(parallel)

    async def take(self, look: Look, items: Sequence[Any], slot: int) -> Measurement:
        """Measure; `TimeoutError` where that takes too long, other errors where the evaluator cannot be run."""
        raise NotImplementedError

    async def measure(self, look: Look) -> Measurement:
        """Take one look; once more where the evaluator itself could not be run."""
        async with self._slots.take(alone=look.alone) as slot:
            result = await self._measure(look, slot)
            if result.outcome is LookOutcome.EVALUATOR_ERROR:
                result = await self._measure(look, slot)
        return without_sealed_text(result, self._names) if look.sealed else result

    async def _measure(self, look: Look, slot: int) -> Measurement:
        pool, started = self.source.sealed if look.sealed else self.source.items, time.monotonic()
        opened = 0
        try:
            if max(look.items, default=-1) >= len(pool):
                raise InvalidInput(f"there are only {len(pool)} items")
            if look.sealed:
                opened = record_opening(pool, self.run)
            result = await self.take(look, [pool[place] for place in look.items], slot)
        except TimeoutError:
            result = Measurement(outcome=LookOutcome.TIMEOUT)
        except (OSError, InvalidInput, SubprocessError) as error:
            result = Measurement(outcome=LookOutcome.EVALUATOR_ERROR, detail=str(error))
        seconds = time.monotonic() - started
        result = replace(result, opened=opened)
        return measured(result, self.source.limits, seconds=seconds, level=self.level)


class LookSlots:
    """So many looks at a time, each with a number; one that is to be alone waits for all others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._free = list(range(count))
        self._alone = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def take(self, *, alone: bool) -> AsyncIterator[int]:
        """A slot, or all of them."""
        async with self._changed:
            self._alone += alone
            try:
                await self._changed.wait_for(lambda: self._is_free(alone=alone))
            except BaseException:
                self._alone -= alone
                self._changed.notify_all()
                raise
            taken = [self._free.pop() for _ in range(self._count if alone else 1)]
        try:
            yield taken[0]
        finally:
            async with self._changed:
                self._alone -= alone
                self._free += taken
                self._changed.notify_all()

    def _is_free(self, *, alone: bool) -> bool:
        if alone:
            return len(self._free) == self._count
        return bool(self._free) and not self._alone
