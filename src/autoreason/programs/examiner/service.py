"""A service in a process of its own: its client, which starts it again if it dies, and its loop.

Either side sends frames; the first of each opens the service, the others are calls of its methods and their results.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec
from msgspec import Raw, Struct

from autoreason.errors import AutoreasonError, InvalidInput, ProviderFailed
from autoreason.programs.sandbox.base import printable, wait_or_kill

_HEADER = 4
_MAX_ATTEMPTS = 2
_EXIT_SECONDS = 5.0
"""Seconds the process has to exit by itself."""
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_PR_SET_DUMPABLE = 4

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode
Opened = TypeVar("Opened")
R = TypeVar("R")
M = TypeVar("M")


class ServiceCall(Struct, frozen=True, array_like=True):
    """One call of a method; the one that opens the service has no method."""

    number: int
    method: str
    argument: Raw


class ServiceReply(Struct, frozen=True, array_like=True):
    """What a call came to: a result, or why there is none in one sentence."""

    number: int
    result: Raw = Raw(_encode(None))
    error: str = ""
    user_error: bool = True
    """Whether the user can fix it; otherwise the service itself failed."""


def encode_frame(message: object) -> bytes:
    body = _encode(message)
    return len(body).to_bytes(_HEADER, "big") + body


async def read_frame(reader: asyncio.StreamReader, kind: type[M]) -> M | None:
    """The next message; None when the other side has disconnected."""
    try:
        header = await reader.readexactly(_HEADER)
        return _decode(await reader.readexactly(int.from_bytes(header, "big")), type=kind)
    except (asyncio.IncompleteReadError, OSError):
        return None


class _PendingCall(Struct):
    call: ServiceCall
    future: asyncio.Future[Raw]
    attempts: int = 1


class ServiceClient(Generic[Opened]):
    """Client of a service in another process, which is started once more if it dies."""

    service: ClassVar[str]
    """The module whose `main` is the service."""
    name: ClassVar[str]
    """In messages: "the examiner"."""
    subject: ClassVar[str]
    opened: ClassVar[type[Any]]

    def __init__(self, opening: Struct) -> None:
        self._opening = opening
        self._numbers = count(1)
        self._pending: dict[int, _PendingCall] = {}
        self._connection: _Connection | None = None
        self._listener: asyncio.Task[None] | None = None
        self._closed = False
        self.reply: Opened
        """What the service said when it had opened."""

    @classmethod
    async def connect(cls, opening: Struct) -> Self:
        client = cls(opening)
        await client.start()
        return client

    async def start(self) -> None:
        self._connection = connection = await _Connection.connect(self)
        try:
            await self._send(ServiceCall(0, "", Raw(_encode(self._opening))))
            message = await read_frame(connection.reader, ServiceReply)
            if message is None:
                raise ProviderFailed(f"{self.name} ended at its start; see `autoreason doctor`")
            if message.error:
                raise self._error_of(message)
            self.reply = _decode(message.result, type=self.opened)
        except BaseException:
            await connection.close()
            raise
        self._listener = asyncio.create_task(self._listen(connection))

    async def call(self, method: str, argument: object, kind: type[R]) -> R:
        """What a method returns; many calls can be open at a time."""
        if self._closed:
            raise ProviderFailed(f"{self.name} is closed; resume the run to open it again")
        call = ServiceCall(next(self._numbers), method, Raw(_encode(argument)))
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._pending[call.number] = _PendingCall(call, future)
        try:
            await self._send(call)
            return _decode(await future, type=kind)
        finally:
            self._pending.pop(call.number, None)

    async def close(self) -> None:
        self._closed = True
        self._fail_all(ProviderFailed(f"{self.name} was closed; resume the run to ask again"))
        try:
            if self._listener is not None:
                self._listener.cancel()
                await asyncio.wait([self._listener])
        finally:
            if self._connection is not None:
                await self._connection.close()

    async def _listen(self, connection: _Connection) -> None:
        try:
            while (message := await read_frame(connection.reader, ServiceReply)) is not None:
                pending = self._pending.get(message.number)
                if pending is None or pending.future.done():
                    continue
                if message.error:
                    pending.future.set_exception(self._error_of(message))
                else:
                    pending.future.set_result(message.result)
            await connection.close()
            await self._restart()
        except Exception as error:
            # Any error: without a listener, pending calls would wait for ever.
            self._closed = True
            self._fail_all(ProviderFailed(f"{self.name} died and cannot be started again: {error}"))

    async def _restart(self) -> None:
        """Start the process again and resend calls; one over which it died twice is not resent."""
        for pending in self._pending.values():
            pending.attempts += 1
            if pending.attempts > _MAX_ATTEMPTS and not pending.future.done():
                pending.future.set_exception(
                    ProviderFailed(f"{self.name} died twice over one {self.subject}; see `doctor`")
                )
        await self.start()
        for pending in list(self._pending.values()):
            if not pending.future.done():
                await self._send(pending.call)

    async def _send(self, call: ServiceCall) -> None:
        """Send a call; the listener notices a dead connection and sends it again."""
        assert self._connection is not None
        with suppress(OSError):
            await self._connection.send(call)

    def _error_of(self, refusal: ServiceReply) -> AutoreasonError:
        if refusal.user_error:
            return InvalidInput(refusal.error)
        return ProviderFailed(f"{self.name} failed: {refusal.error}")

    def _fail_all(self, error: AutoreasonError) -> None:
        for pending in self._pending.values():
            if not pending.future.done():
                pending.future.set_exception(error)


class _Connection:
    """The service's process and the socket that is its standard input."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process, self.reader, self._writer = process, reader, writer

    @classmethod
    async def connect(cls, client: ServiceClient[Any]) -> _Connection:
        """Start the process; Ctrl-C in the terminal does not reach it."""
        local, remote = socket.socketpair()
        with remote:
            try:
                process = _start_process(client.service, remote.fileno())
            except OSError as error:
                local.close()
                raise ProviderFailed(
                    f"{client.name}'s process cannot be started ({error}); see `autoreason doctor`"
                ) from None
        try:
            reader, writer = await asyncio.open_connection(sock=local)
        except BaseException:
            await wait_or_kill(process, 0)
            raise
        return cls(process, reader, writer)

    async def send(self, message: object) -> None:
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


def _start_process(service: str, stdin: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", f"from {service} import main; main()"],
        stdin=stdin,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: each for name, each in os.environ.items() if not _SECRET_NAME.search(name)},
        start_new_session=True,
    )


Method = tuple[type[Any], Callable[[Any], Awaitable[object]]]
"""The type of a method's argument, and the method."""


class Served(Protocol):
    """What a service answers from, once it is open."""

    @property
    def opened(self) -> Struct: ...

    @property
    def methods(self) -> Mapping[str, Method]: ...

    async def close(self) -> None: ...


def run_service(kind: type[M], open_: Callable[[M], Served]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # Let no other process of this user read this process's memory.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    asyncio.run(_serve(socket.socket(fileno=0), kind, open_))


async def _serve(connection: socket.socket, kind: type[M], open_: Callable[[M], Served]) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        opening = await read_frame(reader, ServiceCall)
        if opening is None:
            return
        try:
            served = open_(_decode(opening.argument, type=kind))
        except AutoreasonError as error:
            writer.write(encode_frame(_refusal(error, 0)))
            return
        try:
            writer.write(encode_frame(ServiceReply(0, Raw(_encode(served.opened)))))
            # Many calls at a time; those still open when the client disconnects are cancelled.
            tasks: set[asyncio.Task[None]] = set()
            while (call := await read_frame(reader, ServiceCall)) is not None:
                task = asyncio.create_task(_handle(call, served, writer))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await served.close()
    finally:
        with suppress(OSError):
            writer.close()
            await writer.wait_closed()


async def _handle(call: ServiceCall, served: Served, writer: asyncio.StreamWriter) -> None:
    try:
        kind, method = served.methods[call.method]
        result = await method(_decode(call.argument, type=kind))
        reply = ServiceReply(call.number, Raw(_encode(result)))
    except Exception as error:
        reply = _refusal(error, call.number)
    writer.write(encode_frame(reply))
    with suppress(OSError):
        await writer.drain()


def _refusal(error: Exception, number: int) -> ServiceReply:
    if isinstance(error, InvalidInput):
        return ServiceReply(number, error=str(error))
    message = printable(f"{type(error).__name__}: {error}")
    return ServiceReply(number, error=message, user_error=False)
