"""The sandbox on Linux: a fork server a core, a session a program, a process a run."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import get_args

from autoreason.sandbox.base import SOURCE_LIMIT, Ended, Level, Limits, Part, Ran, Session
from autoreason.sandbox.launch import Server, Walls, launch
from autoreason.sandbox.server import READY
from autoreason.sandbox.wire import LARGEST, Opening, Reply

START_SECONDS = 30.0
"""How long a fork server may take to warm up."""
SLACK_SECONDS = 20.0
"""How much longer than a run's last second its reply may take on a busy machine."""
ERRORS_KEPT = 32 << 10
"""Bytes of standard error that are kept: its end."""

_COMPILING = {"SIGXCPU": 24, "SIGSEGV": 11, "SIGBUS": 7, "SIGABRT": 6}
"""How a solution process dies when a program takes the compiler too far."""


class LinuxSandbox:
    """Fork servers, one a core, and who is using them."""

    def __init__(
        self, walls: Walls, *, workers: int | None = None, python: str | None = None
    ) -> None:
        self._walls = walls
        self._python = python
        self._workers = workers or len(os.sched_getaffinity(0))
        self._servers: list[asyncio.Task[Server] | None] = [None] * self._workers
        self._free: asyncio.LifoQueue[int] = asyncio.LifoQueue()
        for number in reversed(range(self._workers)):
            self._free.put_nowait(number)
        self._turn = 0
        self._closed = False

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
        number = await self._free.get() if slotted else self._next()
        session = LinuxSession(self, number, opening, limits)
        try:
            yield session
        finally:
            session.close()
            if slotted:
                self._free.put_nowait(number)

    async def close(self) -> None:
        """End every process it started."""
        self._closed = True
        tasks = [task for task in self._servers if task is not None]
        self._servers = [None] * self._workers
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Server):
                await _end(ended)

    async def server(self, number: int) -> Server:
        """The fork server of a slot, started where there is none or it has died."""
        if self._closed:
            raise OSError("it is closed")
        task = self._servers[number]
        if task is not None and task.done() and not _serves(task):
            await self.discard(number)
            task = None
        if task is None:
            task = asyncio.create_task(self._start(number))
            self._servers[number] = task
        return await asyncio.shield(task)

    async def discard(self, number: int) -> None:
        """Give up a fork server that is no use; the next who needs one starts another."""
        task, self._servers[number] = self._servers[number], None
        if task is not None and not task.exception():
            await _end(task.result())

    async def _start(self, number: int) -> Server:
        server = launch(self._walls, number=number, python=self._python)
        try:
            if await _receive(server.control, START_SECONDS) == READY:
                return server
            raise OSError(server.said() or "the fork server did not start")
        except BaseException:
            await _end(server)
            raise

    def _next(self) -> int:
        self._turn = (self._turn + 1) % self._workers
        return self._turn


class LinuxSession:
    """One program in a solution process, begun anew where that one was lost."""

    def __init__(
        self, sandbox: LinuxSandbox, number: int, opening: Opening, limits: Limits
    ) -> None:
        self._sandbox, self._number = sandbox, number
        self._opening, self._limits = opening, limits
        self._socket: socket.socket | None = None
        self._replied = False

    async def run(self, stdin: bytes, *, channel: int | None = None) -> Ran:
        """Run it in a fresh process; `channel` is a connected socket it finds as descriptor 3."""
        with memory_files(stdin) as files:
            try:
                reply = await self._ask([*files, *([] if channel is None else [channel])])
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

    async def _ask(self, descriptors: list[int]) -> Reply:
        session = self._socket or await self._begin()
        socket.send_fds(session, [b"run"], descriptors)
        message = await _receive(session, 3 * self._limits.seconds + SLACK_SECONDS)
        if not message:
            await self._sandbox.discard(self._number)
            raise OSError("the fork server died")
        return Reply.unpack(message)

    async def _begin(self) -> socket.socket:
        server = await self._sandbox.server(self._number)
        session, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = session
        with theirs:
            socket.send_fds(server.control, [b"session"], [theirs.fileno()])
        session.send(self._opening.pack())
        return session

    def _told(self, reply: Reply, out: int, err: int) -> Ran:
        if reply.ended == "died":
            died_compiling = not self._replied and reply.status in _COMPILING.values()
            self.close()
            return _not_compiled(reply.status) if died_compiling else _lost(reply.status)
        self._replied = True
        ended = _ending(reply.ended)
        errors = os.fstat(err).st_size
        kept = os.pread(err, ERRORS_KEPT, max(0, errors - ERRORS_KEPT))
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

    async def run(self, stdin: bytes, *, channel: int | None = None) -> Ran:  # noqa: ARG002
        """Ends as a program does that cannot be compiled."""
        said = f"SyntaxError: the source is {self._size:,} bytes long; at most {SOURCE_LIMIT:,} are run\n"
        return Ran(ended="exit", status=1, stderr=said.encode())


def _serves(task: asyncio.Task[Server]) -> bool:
    return not task.cancelled() and task.exception() is None and task.result().alive()


def _not_compiled(number: int) -> Ran:
    if number == _COMPILING["SIGXCPU"]:
        return Ran(ended="cpu", detail="compiling the program took too long")
    said = "SyntaxError: the program crashes the compiler\n"
    return Ran(ended="signal", status=number, stderr=said.encode())


def _lost(status: int) -> Ran:
    return Ran(ended="broken", detail=f"the solution process ended with status {status}")


def _ending(name: str) -> Ended:
    return next((each for each in get_args(Ended) if each == name), "broken")


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


async def _receive(sock: socket.socket, seconds: float) -> bytes:
    """The next message; nothing where the other end is gone."""
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        try:
            return await loop.sock_recv(sock, LARGEST)
        except ConnectionError:
            return b""


async def _end(server: Server) -> None:
    """Wait for a server's end, and make one if it does not come."""
    server.leave()
    for _ in range(400):
        if not server.alive():
            return
        await asyncio.sleep(0.005)
    server.process.kill()
    server.process.wait()
