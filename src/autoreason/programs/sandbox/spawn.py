"""Starting a fork server: which interpreter, in which surroundings, as whom."""

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
from autoreason.programs.sandbox.jail import EMPTY

OURS = Path(__file__).parent
_INSIDE = "/autoreason/programs/sandbox"
"""Where this folder is inside bubblewrap."""

_BOOT = """
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
"""The package without its own first lines, which would import what is not there."""

_FLAGS = ("-S", "-s", "-P", "-B", "-X", "utf8", "-X", "int_max_str_digits=0")
_ENVIRONMENT = {"PYTHONHASHSEED": "0"}

_ROOMY = 'ulimit -S -s 262144 2>/dev/null; exec "$0" "$@"'
"""A shell's line: room for a deep stack has to be asked for before the interpreter starts."""

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
_UIDS = range(61_184, 65_520)
"""Numbers that no package gives to a user."""
_USERS = 8
"""Of them a server has, so that programs at the same time do not take each other's threads."""


class Isolation(NamedTuple):
    """A level, and whether each test has a process namespace of its own there."""

    level: Level
    namespaces: bool = False


@dataclass(frozen=True, kw_only=True)
class Server:
    """A fork server that was started."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    errors: int
    """A memory file with what it wrote to standard error."""

    def said(self) -> str:
        """The last line it wrote to standard error."""
        lines = os.pread(self.errors, 1 << 16, 0).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def leave(self) -> None:
        """Let go of it: it ends, and everything it started with it."""
        self.control.close()
        os.close(self.errors)


def launch(walls: Isolation, *, number: int = 0, python: str | None = None) -> Server:
    """Start a fork server; it is ready when it says so on its socket."""
    python = str(Path(python or real_python()).resolve())
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    errors = os.memfd_create("stderr")
    uids = ",".join(map(str, unused_uids(number))) if os.geteuid() == 0 else ""
    folder = _INSIDE if walls.level == "bubblewrap" else str(OURS)
    arguments = (
        *(str(theirs.fileno()), uids, "yes" if walls.namespaces else "no"),
        "no" if walls.level == "seccomp" else "yes",
    )
    command = [python, *_FLAGS, "-c", _BOOT, folder, *arguments]
    if walls.level == "bubblewrap":
        command = [*bubblewrap(python), *command]
    with theirs:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _ROOMY, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=_ENVIRONMENT,
            cwd="/",
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    return Server(process=process, control=ours, errors=errors)


def real_python() -> str:
    """The interpreter itself: not a shim, not that of a virtual environment."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def bubblewrap(python: str) -> list[str]:
    """The command that holds an interpreter, its libraries and this folder, and nothing else."""
    found = shutil.which("bwrap")
    if found is None:
        raise FileNotFoundError("bwrap")
    privileges = ["--unshare-user"]
    if os.geteuid() == 0:
        # Root needs no user namespace, and of its powers only those that giving up root takes.
        privileges = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [
        *(found, *privileges, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "sandbox"),
        *(part for path in _mounts(python) for part in ("--ro-bind", path, path)),
        *("--ro-bind", str(OURS), _INSIDE, "--dir", EMPTY),
        *("--remount-ro", "/", "--chdir", "/", "--"),
    ]


def _mounts(python: str) -> Iterator[str]:
    yield from (path for path in _LIBRARIES if Path(path).exists())
    prefix = Path(python).parents[1]
    yield python
    if prefix not in (Path("/"), Path("/usr"), Path("/usr/local")):
        yield str(prefix / "lib")


def unused_uids(number: int) -> list[int]:
    """Users that nobody is: others for each server, and for each of several clients at once."""
    start = (os.getpid() * 16 + number) * _USERS
    candidates = (_UIDS[(start + step) % len(_UIDS)] for step in range(len(_UIDS)))
    unused = list(islice(filterfalse(_is_somebody, candidates), _USERS))
    if not unused:
        raise OSError("every user number is taken")
    return unused


def _is_somebody(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True
