"""The fork server of one core: started when it is first needed, and again after it died."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from autoreason.programs.sandbox.fork_server import READY
from autoreason.programs.sandbox.idle import load_per_core
from autoreason.programs.sandbox.processes import wait_or_kill
from autoreason.programs.sandbox.spawn import ForkServer, Isolation, start_fork_server
from autoreason.programs.sandbox.wire import MAX_MESSAGE_BYTES

START_SECONDS = 30.0
"""How long a fork server may take to warm up."""
END_SECONDS = 2.0
"""How long one may take to end before it is killed."""


class ServerSlot:
    """A slot for one program at a time, and the fork server that runs it."""

    def __init__(self, isolation: Isolation, number: int, python: str | None) -> None:
        self._isolation, self._number, self._python = isolation, number, python
        self._server: ForkServer | None = None
        self._closed = False
        self._lock = asyncio.Lock()

    async def get_server(self) -> ForkServer:
        """The fork server, ready to serve."""
        async with self._lock:
            if self._server is not None and not self._server.is_alive():
                await self._end()
            if self._closed:
                raise OSError("it is closed")
            if self._server is None:
                self._server = await self._start()
            return self._server

    async def discard(self, server: ForkServer) -> None:
        """End a server that no longer works, unless that was done already."""
        async with self._lock:
            if server is self._server:
                await self._end()

    async def close(self) -> None:
        """End the server and everything it started, for good."""
        self._closed = True
        async with self._lock:
            await self._end()

    async def _start(self) -> ForkServer:
        server = start_fork_server(self._isolation, number=self._number, python=self._python)
        try:
            message, _ = await receive(server.control, START_SECONDS * load_per_core())
            if message == READY:
                return server
            raise OSError(server.last_error() or "the fork server did not start")
        except BaseException:
            await _end(server)
            raise

    async def _end(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await _end(server)


async def receive(
    sock: socket.socket, seconds: float | None, descriptors: int = 1
) -> tuple[bytes, list[int]]:
    """The next message and the descriptors that come with it; empty where the other end is closed."""
    sock.setblocking(False)
    async with asyncio.timeout(seconds):
        try:
            return await _receive(sock, descriptors)
        except ConnectionError:
            # Raised once where the other end left something unread; earlier messages can be read after it.
            with suppress(ConnectionError):
                return await _receive(sock, descriptors)
            return b"", []


async def _receive(sock: socket.socket, count: int) -> tuple[bytes, list[int]]:
    while True:
        with suppress(BlockingIOError):
            message, descriptors, _, _ = socket.recv_fds(
                sock, MAX_MESSAGE_BYTES, count, socket.MSG_CMSG_CLOEXEC
            )
            return message, descriptors
        await wait_readable(sock)


async def wait_readable(descriptor: socket.socket | int) -> None:
    """Wait until there is something to read, or until the process of a handle has ended."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def _end(server: ForkServer) -> None:
    server.close()
    await wait_or_kill(server.process, END_SECONDS)
