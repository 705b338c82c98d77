"""The sandbox on Linux: one fork server per core, one session per program, one process per run."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from itertools import cycle
from typing import get_args

from autoreason.programs.sandbox.base import (
    ROLES_WITH_SLOT,
    SOURCE_LIMIT,
    EndReason,
    Level,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Session,
)
from autoreason.programs.sandbox.idle import IdleTimer, max_idle_seconds, pid_of
from autoreason.programs.sandbox.slots import ServerSlot, receive
from autoreason.programs.sandbox.spawn import ForkServer, Isolation
from autoreason.programs.sandbox.wire import RUN, STOP, ProgramSpec, RunReport

SLACK_SECONDS = 20.0
"""How much longer than its limit a run's reply may take."""
ERRORS_KEPT = 32 << 10
"""Bytes of standard error that are kept: its end."""

_COMPILER_SIGNALS = {"SIGXCPU": 24, "SIGSEGV": 11, "SIGBUS": 7, "SIGABRT": 6}
"""Signals by which a solution process dies when a program exceeds the compiler's limits."""


class LinuxSandbox:
    """Fork servers, one per core, and the slots to use them."""

    def __init__(
        self, isolation: Isolation, *, workers: int | None = None, python: str | None = None
    ) -> None:
        self._isolation = isolation
        count = workers or len(os.sched_getaffinity(0))
        self._slots = [ServerSlot(isolation, number, python) for number in range(count)]
        self._free: asyncio.LifoQueue[ServerSlot] = asyncio.LifoQueue()
        for slot in reversed(self._slots):
            self._free.put_nowait(slot)
        self._turns = cycle(self._slots)

    @property
    def level(self) -> Level:
        """The strength of this sandbox."""
        return self._isolation.level

    @asynccontextmanager
    async def open(
        self, source: str, limits: RunLimits, *, role: ProgramRole = "program"
    ) -> AsyncIterator[Session]:
        """A program ready to run; tests and checkers need no slot."""
        size = len(source.encode("utf-8", "surrogatepass"))
        if size > SOURCE_LIMIT:
            yield OversizedProgram(size)
            return
        spec = ProgramSpec(role, limits.seconds, limits.memory, limits.output, source)
        slotted = role in ROLES_WITH_SLOT
        slot = await self._free.get() if slotted else next(self._turns)
        session = LinuxSession(slot, spec, limits)
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
    """One program in a solution process, which is started again if it died."""

    def __init__(self, slot: ServerSlot, spec: ProgramSpec, limits: RunLimits) -> None:
        self._slot, self._spec, self._limits = slot, spec, limits
        self._server: ForkServer | None = None
        self._socket: socket.socket | None = None
        self._replied = False

    async def run(
        self, stdin: bytes, *, channel: int | None = None, idle: IdleTimer | None = None
    ) -> ProgramRun:
        """Run it in a fresh process; `channel` is a connected socket it finds as descriptor 3."""
        with memory_files(stdin) as files:
            descriptors = [*files, *([] if channel is None else [channel])]
            try:
                reply = await self._request_run(descriptors, IdleTimer() if idle is None else idle)
            except (OSError, TimeoutError) as error:
                self.close()
                return ProgramRun(end_reason="broken", detail=str(error) or "no reply")
            except BaseException:
                self.close()
                raise
            return self._build_run(reply, *files[1:])

    def close(self) -> None:
        """Disconnect from the solution process, which ends."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._replied = None, False

    async def _request_run(self, descriptors: list[int], idle: IdleTimer) -> RunReport:
        session = self._socket or await self._start()
        socket.send_fds(session, [RUN], descriptors)
        max_idle, running, stopped = max_idle_seconds(self._limits.seconds), False, False
        while True:
            try:
                message, handles = await receive(session, idle.next_check(max_idle))
            except TimeoutError:
                idled = idle.update()
                if idled >= max_idle + SLACK_SECONDS:
                    raise
                if idled >= max_idle and running and not stopped:
                    session.send(STOP)
                    stopped = True
                continue
            if not message:
                if self._server is not None:
                    await self._slot.discard(self._server)
                raise OSError("the fork server died")
            reply = RunReport.unpack(message)
            if reply.end_reason != "running":
                return reply
            running = True
            for handle in handles:
                idle.add(pid_of(handle), since=reply.wall)
                os.close(handle)

    async def _start(self) -> socket.socket:
        self._server = await self._slot.get_server()
        session, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = session
        with remote:
            socket.send_fds(self._server.control, [b"session"], [remote.fileno()])
        session.send(self._spec.pack())
        return session

    def _build_run(self, reply: RunReport, out: int, err: int) -> ProgramRun:
        if reply.end_reason == "died":
            died_compiling = not self._replied and reply.status in _COMPILER_SIGNALS.values()
            self.close()
            return (
                _compiler_failure(reply.status) if died_compiling else _worker_failure(reply.status)
            )
        self._replied = True
        errors = os.fstat(err).st_size
        kept = os.pread(err, ERRORS_KEPT, max(0, errors - ERRORS_KEPT))
        end_reason = _end_reason(reply.end_reason)
        if end_reason in ("exit", "signal") and reply.status and _ran_out_of_memory(kept):
            end_reason = "memory"
        return ProgramRun(
            end_reason=end_reason,
            status=reply.status,
            seconds=reply.seconds,
            wall=reply.wall,
            memory=reply.memory,
            stdout=_read(out, self._limits.output),
            stderr=kept,
            detail=kept.decode(errors="replace").strip() if end_reason == "broken" else "",
        )


class OversizedProgram:
    """A program whose source is too long to be compiled."""

    def __init__(self, size: int) -> None:
        self._size = size

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:  # noqa: ARG002
        """End as a program that cannot be compiled."""
        message = f"SyntaxError: the source is {self._size:,} bytes long; at most {SOURCE_LIMIT:,} are run\n"
        return ProgramRun(end_reason="exit", status=1, stderr=message.encode())


def _compiler_failure(number: int) -> ProgramRun:
    if number == _COMPILER_SIGNALS["SIGXCPU"]:
        return ProgramRun(end_reason="cpu", detail="compiling the program took too long")
    message = "SyntaxError: the program crashes the compiler\n"
    return ProgramRun(end_reason="signal", status=number, stderr=message.encode())


def _worker_failure(status: int) -> ProgramRun:
    return ProgramRun(
        end_reason="broken", detail=f"the solution process ended with status {status}"
    )


def _end_reason(name: str) -> EndReason:
    return next((each for each in get_args(EndReason) if each == name), "broken")


def _ran_out_of_memory(errors: bytes) -> bool:
    last = errors.rstrip().rpartition(b"\n")[2]
    return last.startswith((b"MemoryError", b"OSError: [Errno 12]"))


def _read(descriptor: int, limit: int) -> bytes:
    parts = []
    at = 0
    while at < limit and (part := os.pread(descriptor, limit - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


@contextmanager
def memory_files(stdin: bytes) -> Iterator[list[int]]:
    """Memory files for a run: its input, which no process can change, and its output."""
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
