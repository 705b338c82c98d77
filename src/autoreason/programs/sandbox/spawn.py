"""Starts a fork server: interpreter, environment and user."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import filterfalse, islice
from pathlib import Path
from typing import NamedTuple

from autoreason.programs.sandbox.base import Level
from autoreason.programs.sandbox.jail import EMPTY_FOLDER

SANDBOX_FOLDER = Path(__file__).parent
_FOLDER_INSIDE = "/autoreason/programs/sandbox"
"""Where this folder is inside bubblewrap."""

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
    """A running fork server."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    errors: int
    """A memory file with its standard error."""

    def last_error(self) -> str:
        """The last line it wrote to standard error."""
        lines = os.pread(self.errors, 1 << 16, 0).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def is_alive(self) -> bool:
        """Whether it is still running."""
        return self.process.poll() is None

    def close(self) -> None:
        """Disconnect from it: it ends with everything it started."""
        self.control.close()
        os.close(self.errors)


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
