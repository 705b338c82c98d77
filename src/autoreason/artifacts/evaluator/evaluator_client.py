"""The loop's client of the evaluator: starts its process, asks for looks, and never sees an item."""

from __future__ import annotations

from secrets import token_hex

import msgspec
from msgspec import Struct, field

from autoreason.artifacts.measurement import Files, Look, Measurement
from autoreason.programs.examiner.service import ErrorReply, ServiceClient


class OpenEvaluation(Struct, frozen=True, kw_only=True, tag=True):
    """Asks to open a saved evaluation."""

    digest: str
    run: str = field(default_factory=lambda: token_hex(8))
    """Who asks: a run opens a sealed set once, however often it is resumed."""
    start: Files = {}
    """The artifact at the start, whose words are no sign of copying."""
    unsafe: bool = False
    parallel: int = 1
    """Looks at a time."""
    guards: tuple[str, ...] = ()
    """Numbers that must hold, which looks at sealed items tell besides the metric."""
    probe: str = ""
    """A folder that both jails may write to, where attacks leave what they got hold of."""


class Reach(Struct, frozen=True, kw_only=True):
    """What an artifact could do beside the evaluator, for a check."""

    languages: list[str] = []
    """Those that the evaluator could run, in which an artifact may attack it."""
    gap: str = ""
    """Why attacks in these languages are not enough, in words; empty where they are."""
    exposed: list[str] = []
    """Files of the task that the artifact could read."""


class EvaluationOpened(Struct, frozen=True, kw_only=True, tag=True):
    """The evaluation is open."""

    level: str
    """How artifacts are kept from everything else."""
    reach: Reach


class MeasureRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Asks for one look."""

    number: int
    look: Look


class MeasureReply(Struct, frozen=True, kw_only=True, tag=True):
    """What came of it."""

    number: int
    result: Measurement


request_decoder = msgspec.msgpack.Decoder(OpenEvaluation | MeasureRequest)


class EvaluatorClient(ServiceClient[EvaluationOpened]):
    """Client of an evaluator in another process, which is started once more if it dies."""

    service = "autoreason.artifacts.evaluator"
    name = "the evaluator"
    subject = "look"
    decoder = msgspec.msgpack.Decoder(EvaluationOpened | MeasureReply | ErrorReply)

    async def measure(self, look: Look) -> Measurement:
        """Take one look; many requests can be open at a time."""
        request = MeasureRequest(number=next(self._numbers), look=look)
        measurement: Measurement = await self.ask(request)
        return measurement
