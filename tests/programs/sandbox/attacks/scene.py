"""What is outside the sandbox for an attack to find: secrets, sockets, a bystander, folders to write to."""

from __future__ import annotations

import os
import resource
import secrets
import socket
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from autoreason.programs.sandbox import base

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
        """Whether anything that arrived bears the token."""
        for listening in self.sockets.values():
            with suppress(OSError):
                while True:
                    self._heard += _take(listening)
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
        """What the planted files are like."""
        state: dict[str, object] = {}
        for path in (self.folder / "secret.txt", *sorted((self.folder / "home").iterdir())):
            with suppress(OSError):
                about = path.stat()
                marks = (about.st_mode, about.st_uid, about.st_mtime_ns, about.st_nlink)
                state[str(path)] = (marks, path.read_bytes(), os.listxattr(path))
        return state

    def harm(self) -> str:
        """What happened to the bystander."""
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
        """Close and remove all of it."""
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
    """What is secret in the environment of whoever uses the sandbox."""
    return os.environ.setdefault("SECRET_API_KEY", secrets.token_hex(12))


def _treatment(pid: int) -> dict[str, object]:
    """How the kernel treats a process."""
    return {
        "priority": os.getpriority(os.PRIO_PROCESS, pid),
        "set of cores": os.sched_getaffinity(pid),
        "scheduling": os.sched_getscheduler(pid),
        "limit": [resource.prlimit(pid, kind) for kind in _LIMITS],
    }


def _environment_of(pid: int) -> int:
    """Where in its memory a process keeps its environment."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[47])


def _has_port(one: socket.socket) -> bool:
    return one.family in (socket.AF_INET, socket.AF_INET6)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _take(listening: socket.socket) -> bytes:
    """What waits at a socket; raises when nothing does."""
    if listening.type != socket.SOCK_STREAM:
        return listening.recv(1 << 16)
    caller, _ = listening.accept()
    with caller:
        caller.settimeout(0.2)
        return caller.recv(1 << 16)
