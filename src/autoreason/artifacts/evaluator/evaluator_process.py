"""The evaluator's process: it alone reads items and the sealed set, and it ends when its client disconnects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from autoreason.artifacts.evaluator.bench import Bench
from autoreason.artifacts.evaluator.evaluator_client import (
    EvaluationOpened,
    MeasureReply,
    MeasureRequest,
    OpenEvaluation,
    Reach,
    request_decoder,
)
from autoreason.artifacts.evaluator.function_look import FunctionEvaluator
from autoreason.artifacts.evaluator.jail_watch import start_watch
from autoreason.artifacts.evaluator.saved_evaluation import SavedEvaluation, function_of
from autoreason.artifacts.measurement import Files, Look, Measurement
from autoreason.artifacts.refusals import ItemWords
from autoreason.artifacts.research_task import EvaluationSource
from autoreason.errors import InvalidInput
from autoreason.programs.examiner.service import run_service
from autoreason.programs.sandbox.levels import open_sandbox

if TYPE_CHECKING:
    from autoreason.artifacts.evaluator.command_look import CommandEvaluator


def main() -> None:
    """Serve the client at the other end of standard input, a socket, until it disconnects."""
    if sys.platform == "linux":
        start_watch()
    run_service(request_decoder, SavedBench)


class SavedBench(Bench):
    """Takes looks by a saved evaluation, which is checked before each of them."""

    def __init__(self, opening: OpenEvaluation) -> None:
        self._saved = SavedEvaluation(opening.digest)
        source = self._saved.source
        super().__init__(source, parallel=opening.parallel, run=opening.run, guards=opening.guards)
        self._start = opening.start
        self._words = ItemWords((*source.items, *source.sealed))
        self._shared_runs: dict[int, int] = {}
        self._evaluator = _open_evaluator(source, opening)
        self.level = self._evaluator.level
        reach = self._evaluator.reach_of(opening.start) if opening.probe else Reach()
        self.opened = EvaluationOpened(level=self.level, reach=reach)

    async def answer(self, request: MeasureRequest) -> MeasureReply:
        """Take one look."""
        result = await self.measure(request.look)
        result = replace(result, shared=self._shared(request.look.files))
        return MeasureReply(number=request.number, result=result)

    async def take(self, look: Look, items: Sequence[Any], slot: int) -> Measurement:
        """Measure by the saved evaluator as it was saved."""
        self._saved.verify()
        return await self._evaluator.take(look, items, slot)

    def _shared(self, files: Files) -> int:
        """How many runs of words an artifact has from the items; most looks are at one that was looked at before."""
        mark = hash(frozenset(files.items()))
        if mark not in self._shared_runs:
            self._shared_runs[mark] = len(self._words.shared_runs(self._start, files))
        return self._shared_runs[mark]

    async def close(self) -> None:
        """End every process it started."""
        await self._evaluator.close()


def _open_evaluator(
    source: EvaluationSource, opening: OpenEvaluation
) -> FunctionEvaluator | CommandEvaluator:
    if function_of(source.evaluate):
        sandbox = open_sandbox(unsafe=opening.unsafe, workers=opening.parallel)
        return FunctionEvaluator(sandbox, source)
    if sys.platform != "linux":
        raise InvalidInput(
            f"an evaluator that is a command needs Linux, and this is {sys.platform}: use a function "
            "(`evaluate: file.py:function`)"
        )
    from autoreason.artifacts.evaluator.command_look import CommandEvaluator

    return CommandEvaluator(source, unsafe=opening.unsafe, probe=opening.probe)
