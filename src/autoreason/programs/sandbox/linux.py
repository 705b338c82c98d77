"""The sandbox on Linux: a fork server a core, a session a program, a process a run."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from itertools import cycle
from typing import get_args

from autoreason.programs.sandbox.base import SOURCE_LIMIT, Ended, Level, Limits, Part, Ran, Session
from autoreason.programs.sandbox.idle import Idle, most_idle, pid_of
from autoreason.programs.sandbox.slots import Slot, receive
from autoreason.programs.sandbox.spawn import Isolation, Server
from autoreason.programs.sandbox.wire import RUN, STOP, Opening, Reply

SLACK_SECONDS = 20.0
"""How much longer than a run's last second its reply may take."""
ERRORS_KEPT = 32 << 10
"""Bytes of standard error that are kept: its end."""

_COMPILING = {"SIGXCPU": 24, "SIGSEGV": 11, "SIGBUS": 7, "SIGABRT": 6}
"""How a solution process dies when a program takes the compiler too far."""


class LinuxSandbox:
    """Fork servers, one a core, and who is using them."""

    def __init__(
        self, walls: Isolation, *, workers: int | None = None, python: str | None = None
    ) -> None:
        self._walls = walls
        count = workers or len(os.sched_getaffinity(0))
        self._slots = [Slot(walls, number, python) for number in range(count)]
        self._free: asyncio.LifoQueue[Slot] = asyncio.LifoQueue()
        for slot in reversed(self._slots):
            self._free.put_nowait(slot)
        self._turns = cycle(self._slots)

    @property
    def level(self) -> Level:
        """How well it holds."""
        return self._walls.level

    @asynccontextmanager
    async def open(
        self, source: str, limits: Limits, *, part: Part = "program"
    ) -> AsyncIterator[Session]:
        """A program ready to run; what belongs to the tests needs no slot."""
        size = len(source.encode("utf-8", "surrogatepass"))
        if size > SOURCE_LIMIT:
            yield TooLong(size)
            return
        opening = Opening(part, limits.seconds, limits.memory, limits.output, source)
        slotted = part in ("program", "candidate")
        slot = await self._free.get() if slotted else next(self._turns)
        session = LinuxSession(slot, opening, limits)
        try:
            yield session
        finally:
            session.close()
            if slotted:
                self._free.put_nowait(slot)

    async def close(self) -> None:
        """End every process it started."""
        async with asyncio.TaskGroup() as group:
            for slot in self._slots:
                group.create_task(slot.close())


class LinuxSession:
    """One program in a solution process, begun anew where that one was lost."""

    def __init__(self, slot: Slot, opening: Opening, limits: Limits) -> None:
        self._slot, self._opening, self._limits = slot, opening, limits
        self._server: Server | None = None
        self._socket: socket.socket | None = None
        self._replied = False

    async def run(
        self, stdin: bytes, *, channel: int | None = None, idle: Idle | None = None
    ) -> Ran:
        """Run it in a fresh process; `channel` is a connected socket it finds as descriptor 3."""
        with memory_files(stdin) as files:
            given = [*files, *([] if channel is None else [channel])]
            try:
                reply = await self._ask(given, Idle() if idle is None else idle)
            except (OSError, TimeoutError) as error:
                self.close()
                return Ran(ended="broken", detail=f"the sandbox failed: {str(error) or 'no reply'}")
            except BaseException:
                self.close()
                raise
            return self._told(reply, *files[1:])

    def close(self) -> None:
        """Let go of the solution process, which ends."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._replied = None, False

    async def _ask(self, descriptors: list[int], idle: Idle) -> Reply:
        session = self._socket or await self._begin()
        socket.send_fds(session, [RUN], descriptors)
        most, running, stopped = most_idle(self._limits.seconds), False, False
        while True:
            try:
                message, handles = await receive(session, idle.next_look(most))
            except TimeoutError:
                idled = idle.look()
                if idled >= most + SLACK_SECONDS:
                    raise
                if idled >= most and running and not stopped:
                    session.send(STOP)
                    stopped = True
                continue
            if not message:
                if self._server is not None:
                    await self._slot.lose(self._server)
                raise OSError("the fork server died")
            reply = Reply.unpack(message)
            if reply.ended != "running":
                return reply
            running = True
            for handle in handles:
                idle.add(pid_of(handle), since=reply.wall)
                os.close(handle)

    async def _begin(self) -> socket.socket:
        self._server = await self._slot.server()
        session, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = session
        with theirs:
            socket.send_fds(self._server.control, [b"session"], [theirs.fileno()])
        session.send(self._opening.pack())
        return session

    def _told(self, reply: Reply, out: int, err: int) -> Ran:
        if reply.ended == "died":
            died_compiling = not self._replied and reply.status in _COMPILING.values()
            self.close()
            return _not_compiled(reply.status) if died_compiling else _lost(reply.status)
        self._replied = True
        errors = os.fstat(err).st_size
        kept = os.pread(err, ERRORS_KEPT, max(0, errors - ERRORS_KEPT))
        ended = _ending(reply.ended)
        if ended in ("exit", "signal") and reply.status and _ran_out_of_memory(kept):
            ended = "memory"
        return Ran(
            ended=ended,
            status=reply.status,
            seconds=reply.seconds,
            wall=reply.wall,
            memory=reply.memory,
            stdout=_read(out, self._limits.output),
            stderr=kept,
            detail=kept.decode(errors="replace").strip() if ended == "broken" else "",
        )


class TooLong:
    """A program whose source is not even looked at."""

    def __init__(self, size: int) -> None:
        self._size = size

    async def run(self, stdin: bytes, **_: object) -> Ran:  # noqa: ARG002
        """Ends as a program does that cannot be compiled."""
        said = f"SyntaxError: the source is {self._size:,} bytes long; at most {SOURCE_LIMIT:,} are run\n"
        return Ran(ended="exit", status=1, stderr=said.encode())


def _not_compiled(number: int) -> Ran:
    if number == _COMPILING["SIGXCPU"]:
        return Ran(ended="cpu", detail="compiling the program took too long")
    said = "SyntaxError: the program crashes the compiler\n"
    return Ran(ended="signal", status=number, stderr=said.encode())


def _lost(status: int) -> Ran:
    return Ran(ended="broken", detail=f"the solution process ended with status {status}")


def _ending(name: str) -> Ended:
    return next((each for each in get_args(Ended) if each == name), "broken")


def _ran_out_of_memory(errors: bytes) -> bool:
    last = errors.rstrip().rpartition(b"\n")[2]
    return last.startswith((b"MemoryError", b"OSError: [Errno 12]"))


def _read(descriptor: int, most: int) -> bytes:
    parts = []
    at = 0
    while at < most and (part := os.pread(descriptor, most - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


@contextmanager
def memory_files(stdin: bytes) -> Iterator[list[int]]:
    """Memory files for a run: what it reads, which nobody can change, and what it writes."""
    with ExitStack() as stack:
        files = []
        for name in ("stdin", "stdout", "stderr"):
            flags = os.MFD_CLOEXEC | (os.MFD_ALLOW_SEALING if name == "stdin" else 0)
            files.append(os.memfd_create(name, flags))
            stack.callback(os.close, files[-1])
        view = memoryview(stdin)
        while view:
            view = view[os.write(files[0], view) :]
        os.lseek(files[0], 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(files[0], fcntl.F_ADD_SEALS, seals)
        yield files
