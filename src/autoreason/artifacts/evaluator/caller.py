"""An evaluator that is a function of the caller: it runs in the caller's process, in a thread."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from autoreason.artifacts.evaluator.bench import Bench
from autoreason.artifacts.evaluator.look_values import TAIL, read_measurement
from autoreason.artifacts.evaluator.saved_evaluation import write_files
from autoreason.artifacts.evaluator.work_folder import locked_folder, remove_leftovers
from autoreason.artifacts.measurement import Look, LookOutcome, Measurement
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.errors import InvalidInput

Evaluate = Callable[[Path, int, list[Any]], Any]
"""Given the artifact's folder, the seed and the items; returns a number, or a dictionary of numbers."""

_PREFIX = "autoreason-look-"


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
        guards: Collection[str] = (),
    ) -> None:
        check_evaluate(evaluate)
        super().__init__(source, parallel=parallel, run=run, guards=guards)
        self._evaluate = evaluate
        remove_leftovers(_PREFIX)

    async def take(self, look: Look, items: Sequence[Any], slot: int) -> Measurement:  # noqa: ARG002
        """Call the function with the artifact in a folder."""
        return await asyncio.to_thread(self._call, look, list(items))

    def _call(self, look: Look, items: list[Any]) -> Measurement:
        with locked_folder(_PREFIX) as folder:
            write_files(folder, look.files)
            try:
                value = self._evaluate(folder, look.seed, items)
            except KeyboardInterrupt:
                raise
            except MemoryError:
                return Measurement(outcome=LookOutcome.MEMORY)
            except BaseException as error:
                # Such as SystemExit: a look must not end the caller's program.
                return Measurement(outcome=LookOutcome.FAILED, detail=_explain(error))
        try:
            text = json.dumps(value, default=_as_number)
        except Exception as error:
            return Measurement(outcome=LookOutcome.INVALID, detail=_explain(error))
        return read_measurement(text, self.source.metric, "")


def check_evaluate(evaluate: Evaluate) -> None:
    """Refuse a function whose value is not a number yet."""
    if any(map(inspect.iscoroutinefunction, (evaluate, type(evaluate).__call__))):
        raise InvalidInput("`evaluate` is an async function; give one that returns the number")


def _explain(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text[:TAIL].encode(errors="replace").decode()


def _as_number(value: object) -> float:
    """A number of another library, such as NumPy's."""
    # NumPy's booleans have several names.
    if "bool" in type(value).__name__ or not hasattr(value, "__float__"):
        raise TypeError(f"the evaluator returned a {type(value).__name__}, which is no number")
    return float(value)
