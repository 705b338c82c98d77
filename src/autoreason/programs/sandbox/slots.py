"""A core's fork server: started when it is first needed, and again when it was lost."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from autoreason.programs.sandbox.fork_server import READY
from autoreason.programs.sandbox.idle import crowding
from autoreason.programs.sandbox.processes import see_off
from autoreason.programs.sandbox.spawn import Isolation, Server, launch
from autoreason.programs.sandbox.wire import LARGEST

START_SECONDS = 30.0
"""How long a fork server may take to warm up."""
END_SECONDS = 2.0
"""How long one may take to end before it is killed."""


class Slot:
    """Room for one program at a time, and the server that runs it."""

    def __init__(self, walls: Isolation, number: int, python: str | None) -> None:
        self._walls, self._number, self._python = walls, number, python
        self._server: Server | None = None
        self._closed = False
        self._changing = asyncio.Lock()

    async def server(self) -> Server:
        """The fork server, ready to serve."""
        async with self._changing:
            if self._server is not None and not self._server.alive():
                await self._end()
            if self._closed:
                raise OSError("it is closed")
            if self._server is None:
                self._server = await self._start()
            return self._server

    async def lose(self, server: Server) -> None:
        """Give up a server that is no use, unless that was done already."""
        async with self._changing:
            if server is self._server:
                await self._end()

    async def close(self) -> None:
        """End the server, and everything it started; there will be no other."""
        self._closed = True
        async with self._changing:
            await self._end()

    async def _start(self) -> Server:
        server = launch(self._walls, number=self._number, python=self._python)
        try:
            message, _ = await receive(server.control, START_SECONDS * crowding())
            if message == READY:
                return server
            raise OSError(server.said() or "the fork server did not start")
        except BaseException:
            await _end(server)
            raise

    async def _end(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await _end(server)


async def receive(sock: socket.socket, seconds: float) -> tuple[bytes, list[int]]:
    """The next message and the descriptors that come with it; nothing where the other end is gone."""
    sock.setblocking(False)
    async with asyncio.timeout(seconds):
        try:
            return await _receive(sock)
        except ConnectionError:
            # Told once where the other end left something unread; what it had said before comes after that.
            with suppress(ConnectionError):
                return await _receive(sock)
            return b"", []


async def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    while True:
        with suppress(BlockingIOError):
            message, descriptors, _, _ = socket.recv_fds(sock, LARGEST, 1, socket.MSG_CMSG_CLOEXEC)
            return message, descriptors
        await _readable(sock)


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)


async def _end(server: Server) -> None:
    server.leave()
    await see_off(server.process, END_SECONDS)
