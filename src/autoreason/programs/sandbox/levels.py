"""How well this machine can hold a program: found by holding one."""

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
    from autoreason.programs.sandbox.spawn import Isolation, Server

_PATIENCE = 20.0
_MACHINES = ("x86_64", "aarch64")


class Found(Struct, frozen=True):
    """The best level that holds here, and why no better one does, each with its mend."""

    level: Level
    reasons: tuple[str, ...] = ()
    namespaces: bool = False
    """Whether each test has a process namespace of its own."""


@cache
def find_level(only: Level | None = None, python: str | None = None) -> Found:
    """The best level here, or whether one level holds; each but the last is tried by running a program in it."""
    if sys.platform != "linux":
        reason = f"the sandbox is made of what only Linux has, and this is {sys.platform}"
        return Found("none", (reason,))
    if platform.machine() not in _MACHINES:
        return Found("none", (f"the sandbox knows no system calls of {platform.machine()}",))
    from autoreason.programs.sandbox.spawn import Isolation

    reasons: dict[Level, str] = {}
    for walls in (
        Isolation("bubblewrap", namespaces=True),
        Isolation("bubblewrap"),
        Isolation("landlock"),
        Isolation("seccomp"),
    ):
        if only is not None and walls.level != only:
            continue
        trouble = _trouble(walls, python)
        if not trouble:
            return Found(walls.level, tuple(reasons.values()), walls.namespaces)
        reasons[walls.level] = _reason(walls, trouble)
    return Found("none", tuple(reasons.values()))


def open_sandbox(
    *,
    unsafe: bool = False,
    workers: int | None = None,
    level: Level | None = None,
    python: str | None = None,
) -> Sandbox:
    """The best sandbox there is here; without any, nothing is run unless `unsafe` is said."""
    if unsafe:
        from autoreason.programs.sandbox.unsafe import UnsafeSandbox

        return UnsafeSandbox(workers)
    found = find_level(level, python)
    if found.level == "none":
        raise InvalidInput(
            f"no sandbox holds on this machine ({found.reasons[-1]}), so programs written by a model are not run: "
            "use Linux (on Windows through WSL), or --unsafe to run them like any other program"
        )
    from autoreason.programs.sandbox.linux import LinuxSandbox
    from autoreason.programs.sandbox.spawn import Isolation

    return LinuxSandbox(Isolation(found.level, found.namespaces), workers=workers, python=python)


def _trouble(walls: Isolation, python: str | None) -> str:
    """Why a level does not hold here; nothing where it does."""
    from autoreason.programs.sandbox.spawn import launch

    if walls.level == "bubblewrap" and shutil.which("bwrap") is None:
        return "not installed"
    try:
        server = launch(walls, python=python)
    except OSError as error:
        return str(error)
    try:
        return _first_run(server)
    except OSError as error:
        return server.said() or str(error)
    finally:
        server.process.kill()
        server.process.wait()
        server.leave()


def _first_run(server: Server) -> str:
    from autoreason.programs.sandbox.fork_server import READY
    from autoreason.programs.sandbox.linux import memory_files
    from autoreason.programs.sandbox.wire import RUN, Opening, Reply

    server.control.settimeout(_PATIENCE)
    if server.control.recv(16) != READY:
        return server.said() or "it did not start"
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        socket.send_fds(server.control, [b"session"], [theirs.fileno()])
    with ours, memory_files(b"") as files:
        ours.settimeout(_PATIENCE)
        ours.send(Opening("program", 5.0, 256 << 20, 1 << 20, "print(1)").pack())
        socket.send_fds(ours, [RUN], files)
        reply = None
        while reply is None or reply.ended == "running":
            message = ours.recv(1024)
            if not message:
                return server.said() or "it ended in the middle of a first program"
            reply = Reply.unpack(message)
        if reply.ended == "exit" and reply.status == 0:
            return ""
        return server.said() or f"a first program ended by {reply.ended}, {reply.status}"


def _reason(walls: Isolation, trouble: str) -> str:
    match walls.level:
        case "bubblewrap" if trouble == "not installed":
            return "bubblewrap is not installed: apt-get install bubblewrap"
        case "bubblewrap" if walls.namespaces:
            return (
                f"bubblewrap cannot give each test a process namespace of its own here ({trouble})"
            )
        case "bubblewrap":
            return f"bubblewrap needs user namespaces, which this host refuses ({trouble})"
        case "landlock" if "landlock" in trouble:
            return f"this kernel has no Landlock, or it is off ({trouble}): use Linux 5.13 or newer"
        case "landlock":
            return f"Landlock is of no use here ({trouble})"
    return f"system calls cannot be filtered here ({trouble})"
