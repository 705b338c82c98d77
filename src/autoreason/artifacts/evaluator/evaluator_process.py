"""The evaluator's process: it alone reads items and the sealed set, and it ends when its client disconnects."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from autoreason.artifacts.evaluator.evaluator_messages import (
    EvaluationOpened,
    MeasureReply,
    MeasureRequest,
    OpenEvaluation,
    request_decoder,
)
from autoreason.artifacts.evaluator.function_look import FunctionBench
from autoreason.artifacts.evaluator.jail_watch import start_watch
from autoreason.artifacts.evaluator.look_slots import LookSlots
from autoreason.artifacts.evaluator.look_values import without_sealed_text
from autoreason.artifacts.evaluator.saved_evaluation import (
    SavedEvaluation,
    function_of,
    record_opening,
)
from autoreason.artifacts.measurement import Files, Look, LookOutcome, Measurement
from autoreason.artifacts.refusals import ItemWords
from autoreason.errors import AutoreasonError, InvalidInput
from autoreason.programs.examiner.service import ErrorReply, encode_frame, run_service
from autoreason.programs.sandbox.levels import open_sandbox

if TYPE_CHECKING:
    from autoreason.artifacts.evaluator.work_folder import WorkFolder


def main() -> None:
    """Serve the client at the other end of standard input, a socket, until it disconnects."""
    if sys.platform == "linux":
        start_watch()
    run_service(request_decoder, EvaluatorServer)


class EvaluatorServer:
    """One evaluation, its jails, and the connection to the client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._bench: EvaluatorBench | None = None

    def open(self, opening: OpenEvaluation) -> bool:
        """Open the evaluation and reply; False where that fails."""
        try:
            self._bench = EvaluatorBench(opening)
        except AutoreasonError as error:
            self._send(ErrorReply(message=str(error), user_error=isinstance(error, InvalidInput)))
            return False
        self._send(EvaluationOpened(level=self._bench.level))
        return True

    async def answer(self, request: MeasureRequest) -> None:
        """Take one look and send what came of it."""
        assert self._bench is not None
        try:
            result = await self._bench.measure(request.look)
        except Exception as error:
            result = _evaluator_error(f"the evaluator failed: {type(error).__name__}: {error}")
        self._send(MeasureReply(number=request.number, result=result))
        with suppress(OSError):
            await self._writer.drain()

    async def close(self) -> None:
        """End every process it started, and close the connection."""
        if self._bench is not None:
            await self._bench.close()
        self._writer.close()
        await self._writer.wait_closed()

    def _send(self, message: object) -> None:
        self._writer.write(encode_frame(message))


class EvaluatorBench:
    """A saved evaluation and what measures by it."""

    def __init__(self, opening: OpenEvaluation) -> None:
        self._opening = opening
        self._functions: FunctionBench | None = None
        self._folder: WorkFolder | None = None
        self._slots = LookSlots(opening.parallel)
        self._saved = SavedEvaluation(opening.digest)
        self._words = ItemWords((*self._saved.source.items, *self._saved.source.sealed))
        self._shared_runs: dict[int, int] = {}
        if function_of(self._saved.source.evaluate):
            sandbox = open_sandbox(unsafe=opening.unsafe, workers=opening.parallel)
            self._functions = FunctionBench(sandbox, self._saved.source)
            self.level: str = sandbox.level
            """How artifacts are kept from everything else."""
            return
        if sys.platform != "linux":
            raise InvalidInput(
                f"an evaluator that is a command needs Linux, and this is {sys.platform}: use a function "
                "(`evaluate: file.py:function`)"
            )
        from autoreason.artifacts.evaluator.command_jail import require_jail

        self.level = "none" if opening.unsafe else "bubblewrap"
        if not opening.unsafe:
            require_jail()
        from autoreason.artifacts.evaluator.work_folder import WorkFolder

        self._folder = WorkFolder(self._saved.source.files)

    async def measure(self, look: Look) -> Measurement:
        """Take one look; once more where the evaluator itself could not be run."""
        async with self._slots.take(alone=look.alone) as number:
            measurement = await self._measure(look, number)
            if measurement.outcome == LookOutcome.EVALUATOR_ERROR:
                measurement = await self._measure(look, number)
        if look.sealed:
            measurement = without_sealed_text(measurement)
        return replace(measurement, shared=self._shared(look.files))

    async def _measure(self, look: Look, number: int) -> Measurement:
        source = self._saved.source
        pool = source.sealed if look.sealed else source.items
        try:
            self._saved.verify()
            if self._folder is not None:
                self._folder.verify()
            items = [pool[place] for place in look.items]
        except InvalidInput as error:
            return _evaluator_error(str(error))
        except IndexError:
            return _evaluator_error(f"there are only {len(pool)} items")
        if look.sealed:
            record_opening(source.sealed, self._opening.run)
        if self._functions is not None:
            return await self._functions.take(look, items, number)
        from autoreason.artifacts.evaluator.command_look import CommandLook

        assert self._folder is not None
        taking = CommandLook(
            source,
            self._folder,
            number=number,
            unsafe=self._opening.unsafe,
            probe=Path(self._opening.probe) if self._opening.probe else None,
        )
        return await taking.take(look, items)

    def _shared(self, files: Files) -> int:
        """How many runs of words an artifact has from the items; most looks are at one that was looked at before."""
        mark = hash(frozenset(files.items()))
        if mark not in self._shared_runs:
            self._shared_runs[mark] = len(self._words.shared_runs(self._opening.start, files))
        return self._shared_runs[mark]

    async def close(self) -> None:
        """End every process it started."""
        if self._functions is not None:
            await self._functions.close()
        if self._folder is not None:
            self._folder.close()


def _evaluator_error(detail: str) -> Measurement:
    return Measurement(outcome=LookOutcome.EVALUATOR_ERROR, detail=detail)
