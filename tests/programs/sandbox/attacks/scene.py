"""What is outside the sandbox for an attack to find, and what the kernel says of the processes below this one."""

from __future__ import annotations

import ctypes
import os
import resource
import secrets
import socket
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from autoreason.programs.sandbox import base

_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGESIZE")
_PROC = Path("/proc")


def adopt_orphans() -> None:
    """Whatever is left below this process becomes its child, so that nothing can slip away."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Process(Struct, frozen=True):
    pid: int
    parent: int
    state: str
    threads: int
    memory: int
    """Resident, in bytes."""


def processes() -> list[Process]:
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                text = (folder / "stat").read_text(errors="replace")
            except OSError:
                continue
            role = text.rpartition(")")[2].split()
            memory = int(role[21]) * _PAGE
            found.append(Process(int(folder.name), int(role[1]), role[0], int(role[17]), memory))
    return found


def below(root: int | None = None) -> list[Process]:
    """Its children, theirs, and so on; none that is only waiting to be noticed dead."""
    children: dict[int, list[Process]] = {}
    for process in processes():
        children.setdefault(process.parent, []).append(process)
    found, todo = [], [root or os.getpid()]
    while todo:
        mine = children.get(todo.pop(), [])
        found += [process for process in mine if process.state not in "ZX"]
        todo += [process.pid for process in mine]
    return found


def status_of(pid: int) -> dict[str, str]:
    """What the kernel tells of a process to everybody; nothing of one that is gone."""
    try:
        lines = (_PROC / str(pid) / "status").read_text(errors="replace").splitlines()
    except OSError:
        return {}
    parts = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in parts}


def bearing(token: str) -> tuple[str, ...]:
    """Processes below this one with the token in their name or command line."""
    found = []
    for process in below():
        folder = _PROC / str(process.pid)
        try:
            seen = (folder / "comm").read_text() + (folder / "cmdline").read_text(errors="replace")
        except OSError:
            continue
        if token in seen:
            found.append(f"process {process.pid}")
    return tuple(found)


_OTHERS = 800 << 20
"""Bytes in memory files that whatever else runs on the machine may come to have meanwhile."""


def shared_memory() -> int:
    for line in (_PROC / "meminfo").read_text().splitlines():
        if line.startswith("Shmem:"):
            return int(line.split()[1]) << 10
    return 0


class Watch:
    """Looks at the processes below this one again and again while something runs."""

    def __init__(self) -> None:
        self._before = below()
        self._shared = shared_memory()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.processes = 0
        self.threads = 0
        self.memory = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        resident = sum(process.memory for process in self._before)
        while not self._over.wait(0.02):
            now = below()
            grown = sum(process.memory for process in now) - resident
            shared = shared_memory() - self._shared
            if shared < _OTHERS:
                shared = 0
            self.processes = max(self.processes, len(now) - len(self._before))
            self.threads = max([self.threads, *(process.threads for process in now)])
            self.memory = max(self.memory, grown, shared)


_USERSOCK = 2
_LOOPBACK = "127.0.0.1"
_LIMITS = (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)


class Scene:
    """A folder of one attack's own, open to everybody, so that nothing but the sandbox protects it."""

    def __init__(self, root: Path) -> None:
        self.token = secrets.token_hex(6)
        """Marks what the attack makes; short enough for the name of a process."""
        self.answer = secrets.token_hex(12)
        """What the right program prints."""
        self.given = secrets.token_hex(12)
        """What only the first run of several reads."""
        self.secrets = {
            name: secrets.token_hex(12) for name in ("a file", "a name", "a link", "an attribute")
        } | {"the environment": _environment(), "the answer": self.answer}
        self.secrets["a date"] = str(secrets.randbelow(10**17) + 10**17)
        self.folder = Path(tempfile.mkdtemp(prefix="scene-", dir=root))
        self._plant()
        self.sockets = self._listen()
        self._heard = b""
        self.bystander = _start_bystander(self.secrets["the environment"])
        self._treated = _treatment(self.bystander.pid)
        self._before = self._state()

    def _plant(self) -> None:
        secret = self.folder / "secret.txt"
        secret.write_text(self.secrets["a file"] + "\n")
        (self.folder / "link").symlink_to(secret)
        (self.folder / "hard").hardlink_to(secret)
        (self.folder / "pointer").symlink_to(self.secrets["a link"])
        home = self.folder / "home"
        home.mkdir()
        (home / self.secrets["a name"]).write_text(self.secrets["a file"])
        (home / "expected.txt").write_text(self.answer)
        with suppress(OSError):
            os.setxattr(secret, "user.secret", self.secrets["an attribute"].encode())
        for path in (self.folder, home):
            path.chmod(0o777)
        secret.chmod(0o666)
        os.utime(secret, ns=(0, int(self.secrets["a date"])))

    def _listen(self) -> dict[str, socket.socket]:
        found: dict[str, socket.socket] = {}
        places: list[tuple[str, int, int, int, object]] = [
            ("TCP", socket.AF_INET, socket.SOCK_STREAM, 0, (_LOOPBACK, 0)),
            ("UDP", socket.AF_INET, socket.SOCK_DGRAM, 0, (_LOOPBACK, 0)),
            ("TCP6", socket.AF_INET6, socket.SOCK_STREAM, 0, ("::1", 0)),
            ("UDP6", socket.AF_INET6, socket.SOCK_DGRAM, 0, ("::1", 0)),
            ("UNIX", socket.AF_UNIX, socket.SOCK_STREAM, 0, str(self.folder / "socket")),
            ("DATAGRAM", socket.AF_UNIX, socket.SOCK_DGRAM, 0, str(self.folder / "datagram")),
            ("ABSTRACT", socket.AF_UNIX, socket.SOCK_STREAM, 0, f"\0{self.token}"),
            ("NETLINK", socket.AF_NETLINK, socket.SOCK_DGRAM, _USERSOCK, (0, 0)),
        ]
        for name, family, kind, protocol, address in places:
            with suppress(OSError):
                found[name] = listening = socket.socket(family, kind, protocol)
                listening.setblocking(False)
                listening.bind(address)  # type: ignore[arg-type]
                if kind == socket.SOCK_STREAM:
                    listening.listen()
        for name in ("socket", "datagram"):
            (self.folder / name).chmod(0o777)
        return found

    @property
    def words(self) -> dict[str, str]:
        """What is filled into a program: where everything is. Never a secret itself."""
        ports = {
            name: str(one.getsockname()[1]) for name, one in self.sockets.items() if _has_port(one)
        }
        return ports | {
            "NETLINK": str(self.sockets["NETLINK"].getsockname()[0]),
            "FOLDER": str(self.folder),
            "TOKEN": self.token,
            "ANSWER": self.answer,
            "SUPERVISOR": str(os.getpid()),
            "BYSTANDER": str(self.bystander.pid),
            "ENVIRONMENT": str(_environment_of(self.bystander.pid)),
            "FREE": str(_free_port()),
            "SOURCES": str(Path(base.__file__).parent),
        }

    def heard(self) -> bool:
        for listening in self.sockets.values():
            with suppress(OSError):
                while True:
                    self._heard += _receive(listening)
        return self.token.encode() in self._heard

    def appeared(self) -> tuple[str, ...]:
        """Files that bear the token, anywhere a program might write, and planted ones that changed."""
        places = [self.folder, self.folder / "home", Path(tempfile.gettempdir()), Path.home()]
        places += [
            Path("/var/tmp"),
            Path("/dev/shm"),
            Path(os.__file__).parent,
            Path(base.__file__).parent,
        ]
        found: list[str] = []
        for place in [*places, Path.cwd()]:
            with suppress(OSError):
                found += map(str, place.glob(f"*{self.token}*"))
        now = self._state()
        return (*found, *(path for path, was in self._before.items() if now.get(path) != was))

    def _state(self) -> dict[str, object]:
        state: dict[str, object] = {}
        for path in (self.folder / "secret.txt", *sorted((self.folder / "home").iterdir())):
            with suppress(OSError):
                about = path.stat()
                marks = (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_nlink)
                state[str(path)] = (marks, path.read_bytes(), os.listxattr(path))
        return state

    def harm(self) -> str:
        pid = self.bystander.pid
        if self.bystander.poll() is not None:
            return f"ended with {self.bystander.returncode}"
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state in "tT":
            return "was stopped"
        now = _treatment(pid)
        return ", ".join(
            f"got another {what}" for what, was in self._treated.items() if now[what] != was
        )

    def clear(self) -> None:
        for listening in self.sockets.values():
            listening.close()
        self.bystander.kill()
        self.bystander.communicate()
        for path in self.appeared():
            with suppress(OSError):
                Path(path).unlink()


def _start_bystander(secret: str) -> subprocess.Popen[bytes]:
    """A process of the same user that ends at the slightest touch."""
    command = ["/bin/sh", "-c", 'trap "exit 3" URG; echo; read line']
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, env={"SECRET": secret})
    assert started.stdout
    started.stdout.read(1)  # the trap is set
    return started


def _environment() -> str:
    return os.environ.setdefault("SECRET_API_KEY", secrets.token_hex(12))


def _treatment(pid: int) -> dict[str, object]:
    return {
        "priority": os.getpriority(os.PRIO_PROCESS, pid),
        "set of cores": os.sched_getaffinity(pid),
        "scheduling": os.sched_getscheduler(pid),
        "limit": [resource.prlimit(pid, kind) for kind in _LIMITS],
    }


def _environment_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[47])


def _has_port(one: socket.socket) -> bool:
    return one.family in (socket.AF_INET, socket.AF_INET6)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _receive(listening: socket.socket) -> bytes:
    """What waits at a socket; raises when nothing does."""
    if listening.type != socket.SOCK_STREAM:
        return listening.recv(1 << 16)
    caller, _ = listening.accept()
    with caller:
        caller.settimeout(0.2)
        return caller.recv(1 << 16)
