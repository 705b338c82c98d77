"""An evaluator that is a function of the caller: it runs in the caller's process, in a thread."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autoreason.artifacts.evaluation_source import EvaluationSource
from autoreason.artifacts.evaluator.bench import Bench
from autoreason.artifacts.evaluator.look_values import TAIL, read_measurement
from autoreason.artifacts.evaluator.saved_evaluation import write_files
from autoreason.artifacts.measurement import Look, LookOutcome, Measurement

Evaluate = Callable[[Path, int, list[Any]], Any]
"""Given the artifact's folder, the seed and the items; returns a number, or a dictionary of numbers."""


class CallerEvaluator(Bench):
    """Measures with a function of the caller."""

    level = "caller"

    def __init__(
        self,
        evaluate: Evaluate,
        source: EvaluationSource = EvaluationSource(evaluate=""),  # noqa: B008
        *,
        parallel: int = 1,
        run: str = "",
    ) -> None:
        super().__init__(source, parallel=parallel, run=run)
        self._evaluate = evaluate

    async def take(self, look: Look, items: Sequence[Any], slot: int) -> Measurement:  # noqa: ARG002
        """Call the function with the artifact in a folder."""
        return await asyncio.to_thread(self._call, look, list(items))

    def _call(self, look: Look, items: list[Any]) -> Measurement:
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
        return read_measurement(text, self.source.metric, "")


def _as_number(value: object) -> float:
    """A number of another library, such as NumPy's."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"the evaluator returned a {type(value).__name__}, which is no number")
    return float(value)
