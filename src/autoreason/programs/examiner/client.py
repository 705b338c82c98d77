"""The loop's client of the examiner: starts its process, sends requests, and never sees a private test."""

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

from autoreason.errors import AutoreasonError, InvalidInput, ProviderFailed
from autoreason.programs.assignment import Assignment, Examination, Examined, Observed, Probe
from autoreason.programs.examiner.messages import (
    ErrorReply,
    ExamineReply,
    ExamineRequest,
    ObserveReply,
    ObserveRequest,
    OpenReply,
    OpenRequest,
    encode_frame,
    read_examiner_message,
)
from autoreason.programs.sandbox.processes import wait_or_kill

if TYPE_CHECKING:
    from autoreason.programs.problems.sets import BrokenRecord

_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_ATTEMPTS = 2
_EXIT_SECONDS = 5.0
"""Seconds the process has to exit by itself."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


class _PendingRequest(Struct):
    """A request that is not answered yet."""

    request: ExamineRequest | ObserveRequest
    future: asyncio.Future[Any]
    attempts: int = 1


class ExaminerClient:
    """Client of an examiner in another process, which is started once more if it dies."""

    def __init__(self, opening: OpenRequest) -> None:
        self._opening = opening
        self._numbers = count()
        self._pending: dict[int, _PendingRequest] = {}
        self._connection: _Connection | None = None
        self._listener: asyncio.Task[None] | None = None
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
        """An examiner for a file of problems, or for a saved set by its digest.

        Limits given here replace those of every problem, in the saved copy as well.
        """
        saved = isinstance(source, str) and _DIGEST.fullmatch(source)
        client = cls(
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
        await client._start()
        return client

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The problems without their private tests."""
        return self._opened.assignments

    @property
    def broken(self) -> tuple[BrokenRecord, ...]:
        """Records of the file that could not be used."""
        return self._opened.broken

    @property
    def format(self) -> str:
        """The format of the file's records."""
        return self._opened.format

    @property
    def level(self) -> str:
        """The level of the sandbox."""
        return self._opened.level

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why no better sandbox works here."""
        return self._opened.reasons

    @property
    def digest(self) -> str:
        """The digest under which the set is saved."""
        return self._opened.digest

    async def examine(self, examination: Examination) -> Examined:
        """The verdict on one program; many requests can be open at a time."""
        examination = replace(examination, program=_sendable(examination.program))
        request = ExamineRequest(number=next(self._numbers), examination=examination)
        examined: Examined = await self._ask(request)
        return examined

    async def observe(self, probe: Probe) -> Observed:
        """What one program does on inputs without known answers."""
        probe = replace(probe, program=_sendable(probe.program))
        observed: Observed = await self._ask(
            ObserveRequest(number=next(self._numbers), probe=probe)
        )
        return observed

    async def _ask(self, request: ExamineRequest | ObserveRequest) -> Any:
        if self._closed:
            raise ProviderFailed("the examiner is closed; resume the run to open it again")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request.number] = _PendingRequest(request, future)
        try:
            await self._send(request)
            return await future
        finally:
            self._pending.pop(request.number, None)

    async def close(self) -> None:
        """Close the connection, and wait for the process to end."""
        self._closed = True
        self._fail_all(ProviderFailed("the examiner was closed; resume the run to ask again"))
        try:
            if self._listener is not None:
                self._listener.cancel()
                await asyncio.wait([self._listener])
        finally:
            if self._connection is not None:
                await self._connection.close()

    async def _start(self) -> None:
        self._connection = await _Connection.connect()
        try:
            self._opened = await self._connection.open(self._opening)
        except BaseException:
            await self._connection.close()
            raise
        # From now on the saved copy is used, even if the file changes.
        self._opening = OpenRequest(
            digest=self._opened.digest,
            unsafe=self._opening.unsafe,
            workers=self._opening.workers,
        )
        self._listener = asyncio.create_task(self._listen(self._connection))

    async def _listen(self, connection: _Connection) -> None:
        try:
            while (message := await read_examiner_message(connection.reader)) is not None:
                if (
                    isinstance(message, ExamineReply | ObserveReply | ErrorReply)
                    and message.number in self._pending
                ):
                    _resolve(self._pending[message.number].future, message)
            await connection.close()
            await self._restart()
        except Exception as error:
            # Any error: without a listener, pending requests would wait for ever.
            self._closed = True
            self._fail_all(
                ProviderFailed(f"the examiner died and cannot be started again: {error}")
            )

    async def _restart(self) -> None:
        """Start the process again and resend requests; one over which it died twice is not resent."""
        for pending in self._pending.values():
            pending.attempts += 1
            if pending.attempts > _MAX_ATTEMPTS and not pending.future.done():
                pending.future.set_exception(
                    ProviderFailed("the examiner died twice over one program; see `doctor`")
                )
        first = self._opened
        await self._start()
        # A saved copy does not know the file it came from.
        self._opened = replace(self._opened, format=first.format, broken=first.broken)
        for pending in list(self._pending.values()):
            if not pending.future.done():
                await self._send(pending.request)

    async def _send(self, request: ExamineRequest | ObserveRequest) -> None:
        assert self._connection is not None
        # The listener notices a dead connection and resends every request.
        with suppress(OSError):
            await self._connection.send(request)

    def _fail_all(self, error: AutoreasonError) -> None:
        for pending in self._pending.values():
            if not pending.future.done():
                pending.future.set_exception(error)


def _resolve(
    future: asyncio.Future[Any], message: ExamineReply | ObserveReply | ErrorReply
) -> None:
    if future.done():
        return
    if isinstance(message, ErrorReply):
        future.set_exception(_error_of(message))
    else:
        future.set_result(message.result)


def _sendable(program: str) -> str:
    """A program without characters that cannot be encoded, which a model may write."""
    return program.encode("utf-8", "replace").decode()


def _error_of(refusal: ErrorReply) -> AutoreasonError:
    return InvalidInput(refusal.message) if refusal.user_error else ProviderFailed(refusal.message)


class _Connection:
    """The examiner's process and the socket that is its standard input."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process, self.reader, self._writer = process, reader, writer

    @classmethod
    async def connect(cls) -> _Connection:
        """Start the process; Ctrl-C in the terminal does not reach it."""
        local, remote = socket.socketpair()
        with remote:
            try:
                process = _start_process(remote.fileno())
            except OSError as error:
                local.close()
                raise ProviderFailed(
                    f"the examiner's process cannot be started ({error}); see `autoreason doctor`"
                ) from None
        try:
            reader, writer = await asyncio.open_connection(sock=local)
        except BaseException:
            await wait_or_kill(process, 0)
            raise
        return cls(process, reader, writer)

    async def open(self, opening: OpenRequest) -> OpenReply:
        """Open a set in the process."""
        with suppress(OSError):
            await self.send(opening)
        message = await read_examiner_message(self.reader)
        if isinstance(message, OpenReply):
            return message
        if isinstance(message, ErrorReply):
            raise _error_of(message)
        raise ProviderFailed("the examiner's process ended at its start; see `autoreason doctor`")

    async def send(self, message: OpenRequest | ExamineRequest | ObserveRequest) -> None:
        """Send a message."""
        self._writer.write(encode_frame(message))
        await self._writer.drain()

    async def close(self) -> None:
        """Close the socket, which ends the process; kill it if it does not exit."""
        self._writer.close()
        try:
            await wait_or_kill(self._process, _EXIT_SECONDS)
        finally:
            # Data it never read would stay in the buffer.
            self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


def _start_process(stdin: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "autoreason.programs.examiner"],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: each for name, each in os.environ.items() if not _SECRET_NAME.search(name)},
        start_new_session=True,
    )
