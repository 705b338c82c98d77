"""The loop's client of the evaluator: starts its process, asks for looks, and never sees an item."""

from __future__ import annotations

from secrets import token_hex

from autoreason.artifacts.evaluator.evaluator_messages import (
    EvaluationOpened,
    MeasureRequest,
    OpenEvaluation,
    reply_decoder,
)
from autoreason.artifacts.measurement import Files, Look, Measurement
from autoreason.programs.examiner.service import ServiceClient


class EvaluatorClient(ServiceClient[EvaluationOpened]):
    """Client of an evaluator in another process, which is started once more if it dies."""

    service = "autoreason.artifacts.evaluator"
    name = "the evaluator"
    subject = "look"
    decoder = reply_decoder

    @classmethod
    async def open(
        cls,
        digest: str,
        *,
        run: str = "",
        start: Files | None = None,
        unsafe: bool = False,
        parallel: int = 1,
        probe: str = "",
    ) -> EvaluatorClient:
        """An evaluator for a saved evaluation, with as many looks at a time as `parallel`."""
        client = cls(
            OpenEvaluation(
                digest=digest,
                run=run or token_hex(8),
                start=start or {},
                unsafe=unsafe,
                parallel=parallel,
                probe=probe,
            )
        )
        await client.start()
        return client

    @property
    def level(self) -> str:
        """How artifacts are kept from everything else."""
        return self._opened.level

    async def measure(self, look: Look) -> Measurement:
        """Take one look; many requests can be open at a time."""
        measurement: Measurement = await self.ask(
            MeasureRequest(number=next(self._numbers), look=look)
        )
        return measurement
