"""An evaluator that is a function of the caller: it runs in the caller's process, in a thread."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autoreason.artifacts.evaluator.look_slots import LookSlots
from autoreason.artifacts.evaluator.look_values import (
    TAIL,
    measured,
    read_measurement,
    without_sealed_text,
)
from autoreason.artifacts.evaluator.saved_evaluation import record_opening, write_files
from autoreason.artifacts.measurement import Look, LookOutcome, Measurement
from autoreason.artifacts.research_task import LookLimits

Evaluate = Callable[[Path, int, list[Any]], Any]
"""Given the artifact's folder, the seed and the items; returns a number, or a dictionary of numbers."""


class CallerEvaluator:
    """Measures with a function of the caller, as many at a time as `parallel`."""

    level = "caller"

    def __init__(
        self,
        evaluate: Evaluate,
        *,
        metric: str = "score",
        items: Sequence[Any] = (),
        sealed: Sequence[Any] = (),
        parallel: int = 1,
        run: str = "",
    ) -> None:
        self._evaluate, self._metric = evaluate, metric
        self._items, self._sealed = items, sealed
        self._slots = LookSlots(parallel)
        self.run = run
        """Which run it measures for, where a sealed set is counted as opened."""

    async def measure(self, look: Look) -> Measurement:
        """Call the function with the artifact in a folder."""
        async with self._slots.take(alone=look.alone):
            started = time.monotonic()
            result = await asyncio.to_thread(self._call, look)
        result = measured(
            result, LookLimits(), seconds=time.monotonic() - started, level=self.level
        )
        return without_sealed_text(result) if look.sealed else result

    async def close(self) -> None:
        """Nothing is open."""

    def _call(self, look: Look) -> Measurement:
        if look.sealed:
            record_opening(self._sealed, self.run)
        pool = self._sealed if look.sealed else self._items
        items = [pool[place] for place in look.items]
        with tempfile.TemporaryDirectory(prefix="autoreason-look-") as folder:
            write_files(Path(folder), look.files)
            try:
                value = self._evaluate(Path(folder), look.seed, items)
            except MemoryError:
                return Measurement(outcome=LookOutcome.MEMORY)
            except Exception as error:
                detail = f"{type(error).__name__}: {error}"[:TAIL]
                return Measurement(outcome=LookOutcome.FAILED, detail=detail)
        try:
            text = json.dumps(value, default=_as_number)
        except (TypeError, ValueError) as error:
            return Measurement(outcome=LookOutcome.INVALID, detail=str(error))
        return read_measurement(text, self._metric, "")


def _as_number(value: object) -> float:
    """A number of another library, such as NumPy's."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"the evaluator returned a {type(value).__name__}, which is no number")
    return float(value)
