"""A process that holds the WebAssembly engine, from the side that gives it orders."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from autoreason.errors import InvalidInput
from autoreason.sandbox.base import ENGINE, Ran
from autoreason.sandbox.wasi_worker import (
    HEADER,
    LARGEST,
    Failed,
    Order,
    Read,
    Ready,
    Result,
    Told,
    Write,
    framed,
)

_GRACE = 5.0
"""Seconds after which an engine that should have stopped its guest is ended itself."""
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from autoreason.sandbox.wasi_worker import main; main(sys.argv[2])"
)
_ENVIRONMENT = ("SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
"""Without these a process cannot start on Windows, or finds no folder for its own temporary files."""


class Line:
    """The channel of one run, if it has one; to a guest that has none it is one that is closed."""

    def __init__(self, channel: int | None) -> None:
        self._socket = None if channel is None else _doubled(channel)

    async def read(self, size: int) -> bytes:
        """What the other side sent; nothing where it is gone."""
        if self._socket is None:
            return b""
        try:
            return await asyncio.get_running_loop().sock_recv(self._socket, size)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        """Send to the other side; where it is gone, the next read will tell."""
        if self._socket is not None:
            with suppress(OSError):
                await asyncio.get_running_loop().sock_sendall(self._socket, data)

    def close(self) -> None:
        """Let the other side know that nobody is here any more."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()


def _doubled(channel: int) -> socket.socket:
    """A socket of our own beside the caller's, who may close his at any time."""
    theirs = socket.socket(fileno=channel)
    try:
        ours = theirs.dup()
    finally:
        theirs.detach()
    ours.setblocking(False)
    return ours


class Engine:
    """One process that runs one guest at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin
        assert process.stdout
        self._to = process.stdin
        self._from = process.stdout
        self.usable = True
        """Runs nothing, and answers."""
        self.pid = process.pid

    @classmethod
    async def start(cls, cache: Path) -> Self:
        """Start one and wait until it is loaded; what it compiles is kept in `cache`."""
        engine = cls(
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", _START),
                *(json.dumps([folder for folder in sys.path if folder]), str(cache)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                start_new_session=True,
            )
        )
        said: Told = Failed("it ended at once")
        try:
            with suppress(asyncio.IncompleteReadError):
                said = await engine._take()
        finally:
            if not isinstance(said, Ready):
                await engine.end()
        if isinstance(said, Failed):
            raise InvalidInput(
                f"the WebAssembly engine does not start ({said.why}); reinstall it with"
                f" `pip install --force-reinstall {ENGINE}`, or run with --unsafe"
            )
        return engine

    async def run(self, order: Order, line: Line) -> Ran:
        """Run one guest, passing on what it says over its channel."""
        self.usable = False
        until = asyncio.get_running_loop().time() + order.wall
        try:
            async with asyncio.timeout_at(until + _GRACE):
                ran = await self._converse(order, line, until)
        except TimeoutError:
            return Ran(ended="wall", wall=order.wall + _GRACE, detail="it could not be stopped")
        except (OSError, asyncio.IncompleteReadError, msgspec.DecodeError):
            return Ran(ended="broken", detail="the WebAssembly engine ended or sent no message")
        self.usable = True
        return ran

    async def _converse(self, order: Order, line: Line, until: float) -> Ran:
        await self._tell(framed(order))
        while True:
            said = await self._take()
            answer = b""
            if isinstance(said, Result):
                return said.ran
            if isinstance(said, Failed):
                return Ran(ended="broken", detail=said.why)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    if isinstance(said, Write):
                        await line.write(said.data)
                    elif isinstance(said, Read):
                        answer = await line.read(said.size)
            await self._tell(framed(answer))

    async def _tell(self, message: bytes) -> None:
        self._to.write(message)
        await self._to.drain()

    async def _take(self) -> Told:
        size = int.from_bytes(await self._from.readexactly(HEADER), "big")
        if size > LARGEST:
            raise msgspec.DecodeError("too large")
        body = await self._from.readexactly(size)
        told: Told = msgspec.msgpack.decode(body, type=Told)
        return told

    async def end(self) -> None:
        """End the process, whatever it does."""
        self.usable = False
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        self._to.close()
