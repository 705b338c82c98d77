"""The loop's client of the examiner: its messages, its process started, and never a private test seen."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autoreason.programs.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.programs.examiner.service import ServiceClient
from autoreason.programs.problems.problem import BrokenRecord


class OpenRequest(Struct, frozen=True, kw_only=True):
    """Asks to open a set of problems, and how to examine it."""

    source: str = ""
    """A file to read; or"""
    digest: str = ""
    """the digest under which an earlier examiner saved the set."""
    only: tuple[str, ...] = ()
    """Ids of the problems wanted; all if empty."""
    seconds: float | None = None
    """The time limit of every problem, instead of its own."""
    memory_mb: int | None = None
    """The memory limit of every problem, instead of its own."""
    unsafe: bool = False
    workers: int | None = None


class OpenReply(Struct, frozen=True, kw_only=True):
    """The set without its private tests, and the sandbox in use."""

    digest: str
    assignments: tuple[Assignment, ...]
    broken: tuple[BrokenRecord, ...]
    level: str


_DIGEST = re.compile(r"[0-9a-f]{64}")


class ExaminerClient(ServiceClient[OpenReply]):
    """Client of an examiner in another process, which is started once more if it dies."""

    service = "autoreason.programs.examiner.process"
    name = "the examiner"
    subject = "program"
    opened = OpenReply

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
        examination = replace(examination, program=_sendable(examination.program))
        return await self.call("examine", examination, Examined)

    async def observe(self, probe: Probe) -> Observed:
        probe = replace(probe, program=_sendable(probe.program))
        return await self.call("observe", probe, Observed)

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
