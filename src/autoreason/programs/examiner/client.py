"""The loop's client of the examiner: starts its process, sends requests, and never sees a private test."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from autoreason.programs.assignment import Examination, Examined, Observed, Probe
from autoreason.programs.examiner.messages import (
    ExamineRequest,
    ObserveRequest,
    OpenReply,
    OpenRequest,
    examiner_decoder,
)
from autoreason.programs.examiner.service import ServiceClient

if TYPE_CHECKING:
    pass

_DIGEST = re.compile(r"[0-9a-f]{64}")


class ExaminerClient(ServiceClient[OpenReply]):
    """Client of an examiner in another process, which is started once more if it dies."""

    service = "autoreason.programs.examiner"
    name = "the examiner"
    subject = "program"
    decoder = examiner_decoder

    @classmethod
    async def open(
        cls,
        source: Path | str,
        *,
        unsafe: bool = False,
        workers: int | None = None,
        only: tuple[str, ...] = (),
        seconds: float | None = None,
        memory_mb: int | None = None,
    ) -> ExaminerClient:
        """An examiner for a file of problems, or for a saved set by its digest.

        Limits given here replace those of every problem, in the saved copy as well.
        """
        saved = isinstance(source, str) and _DIGEST.fullmatch(source)
        return await cls.connect(
            OpenRequest(
                source="" if saved else str(source),
                digest=str(source) if saved else "",
                only=only,
                seconds=seconds,
                memory_mb=memory_mb,
                unsafe=unsafe,
                workers=workers,
            )
        )

    async def examine(self, examination: Examination) -> Examined:
        """The verdict on one program; many requests can be open at a time."""
        examination = replace(examination, program=_sendable(examination.program))
        request = ExamineRequest(number=next(self._numbers), examination=examination)
        examined: Examined = await self.ask(request)
        return examined

    async def observe(self, probe: Probe) -> Observed:
        """What one program does on inputs without known answers."""
        probe = replace(probe, program=_sendable(probe.program))
        observed: Observed = await self.ask(ObserveRequest(number=next(self._numbers), probe=probe))
        return observed

    async def start(self) -> None:
        """Start the process; from then on the saved copy is used, even if the file changes."""
        first = getattr(self, "reply", None)
        await super().start()
        if first is not None:
            # A saved copy does not know what its file had besides.
            self.reply = replace(self.reply, broken=first.broken)
        assert isinstance(self._opening, OpenRequest)
        self._opening = OpenRequest(
            digest=self.reply.digest,
            unsafe=self._opening.unsafe,
            workers=self._opening.workers,
        )


def _sendable(program: str) -> str:
    """A program without characters that cannot be encoded, which a model may write."""
    return program.encode("utf-8", "replace").decode()
