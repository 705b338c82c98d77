"""The loop's side of the examiner: starts its process, asks, and never sees a private test."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from autoreason.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.errors import AutoreasonError, InvalidInput, ProviderFailed
from autoreason.programs.examiner.messages import (
    Answer,
    Look,
    Opened,
    Opening,
    Question,
    Refusal,
    Seen,
    framed,
    read_told,
)
from autoreason.programs.sandbox.processes import wait_or_kill

if TYPE_CHECKING:
    from autoreason.programs.problems.sets import Broken

_DIGEST = re.compile(r"[0-9a-f]{64}")
_TRIES = 2
_PATIENCE = 5.0
"""Seconds the process has to leave by itself."""
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


class _Waiting(Struct):
    """A question that is not answered yet."""

    question: Question | Look
    answer: asyncio.Future[Any]
    tries: int = 1


class ExaminerClient:
    """Asks an examiner that runs in a process of its own; where that dies, it is started once more."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._numbers = count()
        self._waiting: dict[int, _Waiting] = {}
        self._line: _Line | None = None
        self._listening: asyncio.Task[None] | None = None
        self._closed = False

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
        """An examiner for a file of problems, or for a set that was kept, by its digest.

        Limits that are given stand in for those of every problem, in the copy that is kept as well.
        """
        kept = isinstance(source, str) and _DIGEST.fullmatch(source)
        client = cls(
            Opening(
                source="" if kept else str(source),
                digest=str(source) if kept else "",
                only=only,
                seconds=seconds,
                memory_mb=memory_mb,
                unsafe=unsafe,
                workers=workers,
            )
        )
        await client._start()
        return client

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The problems, as every role may see them."""
        return self._opened.assignments

    @property
    def broken(self) -> tuple[Broken, ...]:
        """Records of the file that could not be used."""
        return self._opened.broken

    @property
    def format(self) -> str:
        """The format of the file's records."""
        return self._opened.format

    @property
    def level(self) -> str:
        """How well the sandbox holds."""
        return self._opened.level

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a better sandbox is not to be had here."""
        return self._opened.reasons

    @property
    def digest(self) -> str:
        """The name under which the set is kept."""
        return self._opened.digest

    async def examine(self, examination: Examination) -> Examined:
        """The verdict on one program; many can be asked for at a time."""
        examination = replace(examination, program=_sendable(examination.program))
        question = Question(number=next(self._numbers), examination=examination)
        examined: Examined = await self._ask(question)
        return examined

    async def observe(self, probe: Probe) -> Observed:
        """What one program does on inputs whose answers nobody knows."""
        probe = replace(probe, program=_sendable(probe.program))
        observed: Observed = await self._ask(Look(number=next(self._numbers), probe=probe))
        return observed

    async def _ask(self, question: Question | Look) -> Any:
        if self._closed:
            raise ProviderFailed("the examiner is closed; resume the run to open it again")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[question.number] = _Waiting(question, answer)
        try:
            await self._send(question)
            return await answer
        finally:
            self._waiting.pop(question.number, None)

    async def close(self) -> None:
        """Hang up, and see the process off."""
        self._closed = True
        self._fail(ProviderFailed("the examiner was closed; resume the run to ask again"))
        try:
            if self._listening is not None:
                self._listening.cancel()
                await asyncio.wait([self._listening])
        finally:
            if self._line is not None:
                await self._line.hang_up()

    async def _start(self) -> None:
        self._line = await _Line.connect()
        try:
            self._opened = await self._line.open(self._opening)
        except BaseException:
            await self._line.hang_up()
            raise
        # From now on the kept copy is what counts, whatever becomes of the file.
        self._opening = Opening(
            digest=self._opened.digest,
            unsafe=self._opening.unsafe,
            workers=self._opening.workers,
        )
        self._listening = asyncio.create_task(self._listen(self._line))

    async def _listen(self, line: _Line) -> None:
        try:
            while (told := await read_told(line.reader)) is not None:
                if isinstance(told, Answer | Seen | Refusal) and told.number in self._waiting:
                    self._settle(self._waiting[told.number].answer, told)
            await line.hang_up()
            await self._restart()
        except Exception as error:
            # Whatever it is: without anybody who listens, they would wait for ever.
            self._closed = True
            self._fail(ProviderFailed(f"the examiner died and cannot be started again: {error}"))

    def _settle(self, answer: asyncio.Future[Any], told: Answer | Seen | Refusal) -> None:
        if answer.done():
            return
        if isinstance(told, Answer):
            answer.set_result(told.examined)
        elif isinstance(told, Seen):
            answer.set_result(told.observed)
        else:
            answer.set_exception(_error(told))

    async def _restart(self) -> None:
        """Start the process once more and ask again; what it died of twice is not asked a third time."""
        for waiting in self._waiting.values():
            waiting.tries += 1
            if waiting.tries > _TRIES and not waiting.answer.done():
                waiting.answer.set_exception(
                    ProviderFailed("the examiner died twice over one program; see `doctor`")
                )
        first = self._opened
        await self._start()
        # A kept copy knows nothing of the file it came from.
        self._opened = replace(self._opened, format=first.format, broken=first.broken)
        for waiting in list(self._waiting.values()):
            if not waiting.answer.done():
                await self._send(waiting.question)

    async def _send(self, question: Question | Look) -> None:
        assert self._line is not None
        # A line that is dead is noticed by whoever listens, and everything asked again.
        with suppress(OSError):
            await self._line.send(question)

    def _fail(self, error: AutoreasonError) -> None:
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(error)


def _sendable(program: str) -> str:
    """A model may write characters that are none."""
    return program.encode("utf-8", "replace").decode()


def _error(refusal: Refusal) -> AutoreasonError:
    return InvalidInput(refusal.sentence) if refusal.mistake else ProviderFailed(refusal.sentence)


class _Line:
    """A process and the socket that is its standard input."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process, self.reader, self._writer = process, reader, writer

    @classmethod
    async def connect(cls) -> _Line:
        """Start the process; Ctrl-C in the terminal does not reach it."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                process = _started(theirs.fileno())
            except OSError as error:
                ours.close()
                raise ProviderFailed(
                    f"the examiner's process cannot be started ({error}); see `autoreason doctor`"
                ) from None
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            await wait_or_kill(process, 0)
            raise
        return cls(process, reader, writer)

    async def open(self, opening: Opening) -> Opened:
        """The set as the process found it."""
        with suppress(OSError):
            await self.send(opening)
        told = await read_told(self.reader)
        if isinstance(told, Opened):
            return told
        if isinstance(told, Refusal):
            raise _error(told)
        raise ProviderFailed("the examiner's process ended at its start; see `autoreason doctor`")

    async def send(self, message: Opening | Question | Look) -> None:
        """Ask."""
        self._writer.write(framed(message))
        await self._writer.drain()

    async def hang_up(self) -> None:
        """Close the socket, which ends the process; one that stays is killed."""
        self._writer.close()
        try:
            await wait_or_kill(self._process, _PATIENCE)
        finally:
            # What it never read would be kept for it.
            self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


def _started(stdin: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "autoreason.programs.examiner"],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: each for name, each in os.environ.items() if not _SECRET.search(name)},
        start_new_session=True,
    )
