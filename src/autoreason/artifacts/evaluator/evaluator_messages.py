"""Messages between the loop and the evaluator's process."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from autoreason.artifacts.measurement import Files, Look, Measurement
from autoreason.programs.examiner.service import ErrorReply


class OpenEvaluation(Struct, frozen=True, kw_only=True, tag=True):
    """Asks to open a saved evaluation."""

    digest: str
    run: str
    """Who asks: a run opens a sealed set once, however often it is resumed."""
    start: Files = {}
    """The artifact at the start, whose words are no sign of copying."""
    unsafe: bool = False
    parallel: int = 1
    probe: str = ""
    """A folder that both jails may write to, where attacks leave what they got hold of."""


class EvaluationOpened(Struct, frozen=True, kw_only=True, tag=True):
    """The evaluation is open."""

    level: str
    """How artifacts are kept from everything else."""


class MeasureRequest(Struct, frozen=True, kw_only=True, tag=True):
    """Asks for one look."""

    number: int
    look: Look


class MeasureReply(Struct, frozen=True, kw_only=True, tag=True):
    """What came of it."""

    number: int
    result: Measurement


request_decoder = msgspec.msgpack.Decoder(OpenEvaluation | MeasureRequest)
reply_decoder = msgspec.msgpack.Decoder(EvaluationOpened | MeasureReply | ErrorReply)
