"""The strongest sandbox of this machine, found by running a program in it."""

from __future__ import annotations

import platform
import shutil
import socket
import sys
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.programs.sandbox.base import Level, Sandbox

if TYPE_CHECKING:
    from autoreason.programs.sandbox.linux import ForkServer, Isolation

_TIMEOUT_SECONDS = 20.0
_MACHINES = ("x86_64", "aarch64")


class DetectedLevel(Struct, frozen=True):
    """The best level that works here, and why no better one does, each with its fix."""

    level: Level
    reasons: tuple[str, ...] = ()
    namespaces: bool = False
    """Whether each test has its own process namespace."""


@cache
def find_level(only: Level | None = None, python: str | None = None) -> DetectedLevel:
    """The best level here, or whether `only` works; each is tried by running a program in it."""
    if sys.platform != "linux":
        reason = f"the sandbox needs Linux, and this is {sys.platform}"
        return DetectedLevel("none", (reason,))
    if platform.machine() not in _MACHINES:
        return DetectedLevel(
            "none", (f"the sandbox knows no system calls of {platform.machine()}",)
        )
    from autoreason.programs.sandbox.linux import Isolation

    reasons: dict[Level, str] = {}
    for isolation in (
        Isolation("bubblewrap", namespaces=True),
        Isolation("bubblewrap"),
        Isolation("landlock"),
        Isolation("seccomp"),
    ):
        if only is not None and isolation.level != only:
            continue
        problem = _find_problem(isolation, python)
        if not problem:
            return DetectedLevel(isolation.level, tuple(reasons.values()), isolation.namespaces)
        reasons[isolation.level] = _reason(isolation, problem)
    return DetectedLevel("none", tuple(reasons.values()))


def require_level(only: Level | None = None, python: str | None = None) -> DetectedLevel:
    """The same; raises `InvalidInput` where nothing works."""
    detected = find_level(only, python)
    if detected.level == "none":
        raise InvalidInput(
            f"no sandbox works on this machine ({detected.reasons[-1]}), so programs written by a model are not run: "
            "use Linux (on Windows through WSL), or set `unsafe` to run them like any other program"
        )
    return detected


def open_sandbox(
    *,
    unsafe: bool = False,
    workers: int | None = None,
    level: Level | None = None,
    python: str | None = None,
) -> Sandbox:
    """Open the best sandbox of this machine; without any, only `unsafe` runs programs."""
    if unsafe:
        from autoreason.programs.sandbox.unsafe import UnsafeSandbox

        return UnsafeSandbox(workers)
    detected = require_level(level, python)
    from autoreason.programs.sandbox.linux import Isolation, LinuxSandbox

    return LinuxSandbox(
        Isolation(detected.level, detected.namespaces), workers=workers, python=python
    )


def _find_problem(isolation: Isolation, python: str | None) -> str:
    """Why a level does not work here; empty where it does."""
    from autoreason.programs.sandbox.linux import start_fork_server

    if isolation.level == "bubblewrap" and shutil.which("bwrap") is None:
        return "not installed"
    try:
        server = start_fork_server(isolation, python=python)
    except OSError as error:
        return str(error)
    try:
        return _run_first_program(server)
    except OSError as error:
        return server.last_error() or str(error)
    finally:
        server.process.kill()
        server.process.wait()
        server.close()


def _run_first_program(server: ForkServer) -> str:
    from autoreason.programs.sandbox.fork_server import READY
    from autoreason.programs.sandbox.linux import memory_files
    from autoreason.programs.sandbox.wire import RUN, ProgramSpec, RunReport

    server.control.settimeout(_TIMEOUT_SECONDS)
    if server.control.recv(16) != READY:
        return server.last_error() or "it did not start"
    local, remote = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with remote:
        socket.send_fds(server.control, [b"session"], [remote.fileno()])
    with local, memory_files(b"") as files:
        local.settimeout(_TIMEOUT_SECONDS)
        local.send(ProgramSpec("program", 5.0, 256 << 20, 1 << 20, "print(1)").pack())
        socket.send_fds(local, [RUN], files)
        reply = None
        while reply is None or reply.end_reason == "running":
            message = local.recv(1024)
            if not message:
                return server.last_error() or "it ended in the middle of a first program"
            reply = RunReport.unpack(message)
        if reply.end_reason == "exit" and reply.status == 0:
            return ""
        return server.last_error() or f"a first program ended by {reply.end_reason}, {reply.status}"


def _reason(isolation: Isolation, problem: str) -> str:
    match isolation.level:
        case "bubblewrap" if problem == "not installed":
            return "bubblewrap is not installed: apt-get install bubblewrap"
        case "bubblewrap" if isolation.namespaces:
            return f"bubblewrap cannot give each test its own process namespace here ({problem})"
        case "bubblewrap":
            return f"bubblewrap needs user namespaces, which this host refuses ({problem})"
        case "landlock" if "landlock" in problem:
            return f"this kernel has no Landlock, or it is off ({problem}): use Linux 5.13 or newer"
        case "landlock":
            return f"Landlock is of no use here ({problem})"
    return f"system calls cannot be filtered here ({problem})"
