"""The sandbox on Linux: one fork server per core, one session per program, one process per run."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, filterfalse, islice
from pathlib import Path
from typing import NamedTuple, get_args

from autoreason.programs.sandbox.base import (
    ROLES_WITH_SLOT,
    SOURCE_LIMIT,
    EndReason,
    IdleTimer,
    Level,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Session,
    load_per_core,
    max_idle_seconds,
    pid_of,
    wait_or_kill,
)
from autoreason.programs.sandbox.fork_server import (
    MAX_MESSAGE_BYTES,
    READY,
    RUN,
    STOP,
    ProgramSpec,
    RunReport,
)
from autoreason.programs.sandbox.jail import EMPTY_FOLDER

SANDBOX_FOLDER = Path(__file__).parent
_FOLDER_INSIDE = "/autoreason/programs/sandbox"

_BOOT_CODE = """
import sys, types
folder = sys.argv.pop(1)
path = folder
for name in ("autoreason.programs.sandbox", "autoreason.programs", "autoreason"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [path]
    path = path.rpartition("/")[0]
from autoreason.programs.sandbox.fork_server import main
main(sys.argv[1:])
"""
"""The package without its `__init__` modules, which would import what is not mounted."""

_FLAGS = ("-S", "-s", "-P", "-B", "-X", "utf8", "-X", "int_max_str_digits=0")
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}

_WITH_LARGE_STACK = 'ulimit -S -s 262144 2>/dev/null; exec "$0" "$@"'
"""A shell command: a deep stack has to be requested before the interpreter starts."""

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_UNUSED_UIDS = range(61_184, 65_520)
"""User ids that no package assigns."""
_UIDS_PER_SERVER = 8
"""Different user ids, so that concurrent programs do not use up each other's thread limit."""


class Isolation(NamedTuple):
    """A level, and whether each test has its own process namespace."""

    level: Level
    namespaces: bool = False


@dataclass(frozen=True, kw_only=True)
class ForkServer:
    process: subprocess.Popen[bytes]
    control: socket.socket
    errors: int

    def last_error(self) -> str:
        lines = os.pread(self.errors, 1 << 16, 0).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    async def end(self) -> None:
        """Disconnect from it: it ends with everything it started."""
        self.control.close()
        os.close(self.errors)
        await wait_or_kill(self.process, END_SECONDS)


def start_fork_server(
    isolation: Isolation, *, number: int = 0, python: str | None = None
) -> ForkServer:
    """Start a fork server; it is ready when it sends `READY` on its socket."""
    python = str(Path(python or real_python()).resolve())
    local, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    errors = os.memfd_create("stderr")
    uids = ",".join(map(str, unused_uids(number))) if os.geteuid() == 0 else ""
    folder = _FOLDER_INSIDE if isolation.level == "bubblewrap" else str(SANDBOX_FOLDER)
    arguments = (
        *(str(remote.fileno()), uids, "yes" if isolation.namespaces else "no"),
        "no" if isolation.level == "seccomp" else "yes",
    )
    command = [python, *_FLAGS, "-c", _BOOT_CODE, folder, *arguments]
    if isolation.level == "bubblewrap":
        command = [*bubblewrap(python), *command]
    with remote:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _WITH_LARGE_STACK, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=_ENVIRONMENT,
            cwd="/",
            pass_fds=(remote.fileno(),),
            start_new_session=True,
        )
    return ForkServer(process=process, control=local, errors=errors)


def real_python() -> str:
    """The interpreter itself: not a shim, not that of a virtual environment."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def bubblewrap(python: str) -> list[str]:
    """The command that mounts an interpreter, its libraries and this folder, and nothing else."""
    executable = shutil.which("bwrap")
    if executable is None:
        raise FileNotFoundError("bwrap")
    privileges = ["--unshare-user"]
    if os.geteuid() == 0:
        # Root needs no user namespace, and only the capabilities for switching to another user.
        privileges = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [
        *(
            executable,
            *privileges,
            "--unshare-pid",
            "--unshare-net",
            "--unshare-ipc",
            "--unshare-uts",
        ),
        *("--unshare-cgroup-try", "--hostname", "sandbox"),
        *(part for path in _mounts(python) for part in ("--ro-bind", path, path)),
        *("--ro-bind", str(SANDBOX_FOLDER), _FOLDER_INSIDE, "--dir", EMPTY_FOLDER),
        *("--remount-ro", "/", "--chdir", "/", "--"),
    ]


def _mounts(python: str) -> Iterator[str]:
    yield from (path for path in _LIBRARIES if Path(path).exists())
    prefix = Path(python).parents[1]
    yield python
    if prefix not in (Path("/"), Path("/usr"), Path("/usr/local")):
        yield str(prefix / "lib")


def unused_uids(number: int) -> list[int]:
    """User ids without a user: different ones for each server, and for concurrent clients."""
    start = (os.getpid() * 16 + number) * _UIDS_PER_SERVER
    candidates = (
        _UNUSED_UIDS[(start + step) % len(_UNUSED_UIDS)] for step in range(len(_UNUSED_UIDS))
    )
    unused = list(islice(filterfalse(_is_existing_user, candidates), _UIDS_PER_SERVER))
    if not unused:
        raise OSError("every user number is taken")
    return unused


def _is_existing_user(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


START_SECONDS = 30.0
END_SECONDS = 2.0


class ServerSlot:
    """A slot for one program at a time, and the fork server that runs it."""

    def __init__(self, isolation: Isolation, number: int, python: str | None) -> None:
        self._isolation, self._number, self._python = isolation, number, python
        self._server: ForkServer | None = None
        self._closed = False
        self._lock = asyncio.Lock()

    async def get_server(self) -> ForkServer:
        async with self._lock:
            if self._server is not None and self._server.process.poll() is not None:
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
            await server.end()
            raise

    async def _end(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.end()


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


SLACK_SECONDS = 20.0
"""How much longer than its limit a run's reply may take."""
ERRORS_KEPT = 32 << 10
"""Bytes of standard error that are kept: its end."""

_COMPILER_SIGNALS = (signal.SIGXCPU, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT)
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
            died_compiling = not self._replied and reply.status in _COMPILER_SIGNALS
            self.close()
            if not died_compiling:
                error = self._server.last_error() if self._server else ""
                detail = error or f"the solution process ended with status {reply.status}"
                return ProgramRun(end_reason="broken", detail=detail)
            if reply.status == signal.SIGXCPU:
                return ProgramRun(end_reason="cpu", detail="compiling the program took too long")
            message = b"SyntaxError: the program crashes the compiler\n"
            return ProgramRun(end_reason="signal", status=reply.status, stderr=message)
        self._replied = True
        errors = os.fstat(err).st_size
        kept = os.pread(err, ERRORS_KEPT, max(0, errors - ERRORS_KEPT))
        reasons: tuple[EndReason, ...] = get_args(EndReason)
        end_reason: EndReason = next((e for e in reasons if e == reply.end_reason), "broken")
        last_line = kept.rstrip().rpartition(b"\n")[2]
        no_memory = last_line.startswith((b"MemoryError", b"OSError: [Errno 12]"))
        if end_reason in ("exit", "signal") and reply.status and no_memory:
            end_reason = "memory"
        return ProgramRun(
            end_reason=end_reason,
            status=reply.status,
            seconds=reply.seconds,
            wall=reply.wall,
            memory=reply.memory,
            stdout=os.pread(out, min(self._limits.output, os.fstat(out).st_size), 0),
            stderr=kept,
            detail=kept.decode(errors="replace").strip() if end_reason == "broken" else "",
        )


class OversizedProgram:
    """A program whose source is too long to be compiled."""

    def __init__(self, size: int) -> None:
        self._size = size

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:  # noqa: ARG002
        message = f"SyntaxError: the source is {self._size:,} bytes long; at most {SOURCE_LIMIT:,} are run\n"
        return ProgramRun(end_reason="exit", status=1, stderr=message.encode())


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
