"""A jail for any command: bubblewrap with the system read-only, no network, limits, and nothing that outlives it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from autoreason.artifacts.research_task import EvaluationLimits
from autoreason.errors import InvalidInput
from autoreason.programs.sandbox.linux import real_python, unused_uids
from autoreason.programs.sandbox.seccomp import command_filter

_pipe: int | None = None
"""Where process groups are announced; a jail that starts has it open until it has announced its own."""


def start_watch() -> None:
    """Fork the watcher; to be called before there are threads or anything that it must not have."""
    global _pipe
    # This process keeps both ends: to write to a pipe that nothing reads would kill a jail that starts.
    read_end, _pipe = os.pipe()
    os.set_blocking(_pipe, False)
    if os.fork():
        return
    status = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for each in (0, _pipe):
            # Open here, neither the client nor this process would ever see the evaluator's end.
            os.dup2(null, each)
        _watch(read_end)
        status = 0
    finally:
        os._exit(status)


def announce(number: int) -> None:
    """A process group for the watcher to end with this process; negative where it has ended by itself."""
    if _pipe is not None:
        with suppress(OSError):
            os.write(_pipe, f"{number}\n".encode())


def _watch(read_end: int) -> None:
    """Until the pipe ends, which no process has open then that could start another jail."""
    groups: set[int] = set()
    with os.fdopen(read_end, encoding="ascii") as lines:
        for number in map(int, lines):
            if number > 0:
                groups.add(number)
            else:
                groups.discard(-number)
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)


RESULT = 3
"""The descriptor on which an evaluator writes its value."""
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
    *("/etc/localtime", "/etc/nsswitch.conf", "/etc/ssl", "/etc/fonts", "/etc/mime.types"),
)
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_PARTS = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
"""What an interpreter needs of its prefix."""
_PYTHON_NAMES = ("python3", "python")
_CHECK_SECONDS = 20


class Mount(NamedTuple):
    """Something of this machine, and where a jail sees it; without a source an empty folder."""

    source: str
    inside: str
    writable: bool = False


class Jail(NamedTuple):
    """What one jail shows and allows; without bubblewrap it is a plain process."""

    folder: str
    limits: EvaluationLimits
    mounts: tuple[Mount, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Folders of which nothing is seen but mounts that are inside them."""
    uid: int | None = None
    """The unused user that root gives its place to."""
    unsafe: bool = False

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        streams: tuple[int, int, int],
        result: int | None = None,
        status: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a command; `result` becomes its descriptor 3, and bubblewrap reports its end to `status`."""
        if result is not None:
            _reserve(RESULT)
        stdin, stdout, stderr = streams
        passed = [RESULT] * (result is not None) + ([] if status is None else [status])
        with ExitStack() as stack:
            if not self.unsafe:
                # Bubblewrap reads the filter on system calls from it.
                calls = os.memfd_create("filter")
                stack.callback(os.close, calls)
                os.write(calls, command_filter())
                os.lseek(calls, 0, os.SEEK_SET)
                passed.append(calls)
                command = [*self._bubblewrap(environment, status, calls), *command]
            return subprocess.Popen(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=self.folder if self.unsafe else "/",
                env=dict(environment) if self.unsafe else {},
                pass_fds=passed,
                start_new_session=True,
                preexec_fn=partial(_prepare, self.limits, self.uid is not None, result),
            )

    def _bubblewrap(
        self, environment: Mapping[str, str], status: int | None, calls: int
    ) -> Iterator[str]:
        bwrap = shutil.which("bwrap")
        assert bwrap is not None
        yield from (bwrap, "--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc")
        yield from ("--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox")
        yield from ("--seccomp", str(calls))
        if self.uid is None:
            yield from ("--unshare-user", "--uid", "65534", "--gid", "65534")
        else:
            yield from ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        yield from self._mount()
        for name, value in environment.items():
            yield from ("--setenv", name, value)
        if status is not None:
            yield from ("--json-status-fd", str(status))
        yield "--"
        if self.uid is None:
            # Counted within the jail alone, so set within it: the user has other processes.
            yield from ("prlimit", f"--nproc={self.limits.processes}", "--")
        else:
            user = (f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups")
            yield from ("setpriv", *user, "--inh-caps=-all", "--no-new-privs", "--")

    def _mount(self) -> Iterator[str]:
        """What can be seen: the system, a folder to write to, and what is given."""
        yield from ("--perms", "0755", "--dir", "/etc")
        for path in _SYSTEM:
            if Path(path).is_symlink():
                yield from ("--symlink", str(Path(path).readlink()), path)
            elif Path(path).exists():
                yield from ("--ro-bind", path, path)
        size = str(self.limits.disk_mb << 20)
        yield from ("--proc", "/proc", "--dev", "/dev")
        for folder in ("/dev/shm", "/tmp"):
            yield from ("--perms", "1777", "--size", size, "--tmpfs", folder)
        # What is inside of something else has a longer path, and comes after it.
        for mount in sorted((*self.mounts, *self._cover()), key=lambda each: len(each.inside)):
            for parent in reversed(Path(mount.inside).parents):
                if parent != Path("/tmp") and not _is_system(parent):
                    # Created on the way, they would be for their owner alone, who is not the jail's user.
                    yield from ("--perms", "0755", "--dir", str(parent))
            if mount.source:
                yield from ("--bind" if mount.writable else "--ro-bind", mount.source, mount.inside)
            else:
                yield from ("--perms", "0755", "--size", size, "--tmpfs", mount.inside)
        yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", self.folder)

    def _cover(self) -> Iterator[Mount]:
        """Empty folders in place of the hidden ones, where something that is mounted contains them."""
        system = (Mount(path, path) for path in _SYSTEM)
        for mount in (*system, *self.mounts):
            source = Path(mount.source).resolve()
            for folder in self.hidden:
                if folder.is_relative_to(source):
                    yield Mount("", str(Path(mount.inside) / folder.relative_to(source)))


def _reserve(descriptor: int) -> None:
    """Have a descriptor open here, so that nothing of a new process can take its number."""
    try:
        os.fstat(descriptor)
    except OSError:
        handle = os.open(os.devnull, os.O_RDONLY)
        if handle != descriptor:
            os.dup2(handle, descriptor, inheritable=False)
            os.close(handle)


def _prepare(limits: EvaluationLimits, own_user: bool, result: int | None) -> None:
    """Set limits and descriptors; runs in the new process before the command."""
    announce(os.getpid())
    if result is not None:
        os.dup2(result, RESULT)
    memory = limits.memory_mb << 20
    chosen = [
        # Data, not address space: libraries reserve far more than they use.
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, limits.disk_mb << 20),
        (resource.RLIMIT_CORE, 0),
        # The deadline is enforced from outside; this is for a jail that nobody is left to end.
        (resource.RLIMIT_CPU, (int(limits.seconds) + 2) * (os.cpu_count() or 1)),
    ]
    if own_user:
        chosen.append((resource.RLIMIT_NPROC, limits.processes))
    for what, limit in chosen:
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (limit, limit))


def require_jail() -> None:
    if problem := jail_problem():
        raise InvalidInput(
            f"commands cannot be run in a jail here ({problem}), so this evaluator is not run: use a function "
            "(`evaluate: file.py:function`), or `unsafe` to run it and the artifact like any other program"
        )


@cache
def jail_problem() -> str:
    """Why commands cannot be jailed here; empty where they can."""
    if sys.platform != "linux":
        return f"it needs Linux, and this is {sys.platform}"
    for tool, package in (
        ("bwrap", "bubblewrap"),
        ("setpriv", "util-linux"),
        ("prlimit", "util-linux"),
    ):
        if shutil.which(tool) is None:
            return f"{tool} is not installed: apt-get install {package}"
    jail = Jail(folder="/tmp", limits=EvaluationLimits(), uid=jail_uid(0))
    try:
        process = jail.start(["true"], {"PATH": _SYSTEM_PATH}, streams=(-3, -3, -1))
        _, errors = process.communicate(timeout=_CHECK_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return errors.decode(errors="replace").strip()[-300:] if process.returncode else ""


def jail_uid(number: int) -> int | None:
    """The user of a jail where this process is root: different ones for jails that run side by side."""
    return unused_uids(number)[0] if os.geteuid() == 0 else None


class Programs(NamedTuple):
    command: str
    mounts: tuple[Mount, ...]
    path: str


@cache
def find_programs(command: str) -> Programs:
    """A command's own path, what has to be mounted for it and for Python, and the search path inside."""
    pythons = [
        path
        for name in _PYTHON_NAMES
        if (path := shutil.which(name)) and _python_prefix(Path(path))
    ] or [sys.executable]
    found = command if "/" in command else shutil.which(command)
    if found is None:
        raise InvalidInput(f"no program {command!r} on PATH for `evaluate`; install it")
    if command in _PYTHON_NAMES and not _python_prefix(Path(found)):
        # A shim that looks for an interpreter in places that a jail does not show.
        found = pythons[0]
    programs = dict.fromkeys([*([found] if Path(found).is_absolute() else []), *pythons])
    mounts = dict.fromkeys(
        mount for path in (*programs, real_python()) for mount in _mounts_for(Path(path))
    )
    folders = dict.fromkeys(str(Path(path).parent) for path in programs)
    return Programs(found, tuple(mounts), ":".join([*folders, _SYSTEM_PATH]))


def _mounts_for(program: Path) -> Iterator[Mount]:
    """A program with every link on the way to it; an interpreter with what it needs of its prefix."""
    for _ in range(16):
        prefix = _python_prefix(program)
        for part in [prefix / name for name in _PARTS] if prefix else [program]:
            if part.exists() and not _is_system(part):
                yield Mount(str(part), str(part))
        if not program.is_symlink():
            break
        program = program.parent / program.readlink()
    prefix = _python_prefix(program)
    settings = prefix / "pyvenv.cfg" if prefix else None
    if settings is not None and settings.exists():
        for line in settings.read_text(encoding="utf-8").splitlines():
            name, _, home = line.partition("=")
            if name.strip() == "home":
                yield from _mounts_for(Path(home.strip()) / "python3")
    if program != program.resolve():
        yield from _mounts_for(program.resolve())


def _python_prefix(program: Path) -> Path | None:
    """The folder of a Python installation or environment that a program belongs to."""
    prefix = program.parent.parent
    is_prefix = (prefix / "pyvenv.cfg").exists() or any(prefix.glob("lib/python3*/os.py"))
    return prefix if program.parent.name == "bin" and is_prefix else None


def _is_system(path: Path) -> bool:
    return path == Path("/") or any(path.is_relative_to(each) for each in ("/usr", "/bin", "/sbin"))


def descendants(pid: int) -> list[int]:
    """A process and all that it has started, as far as they are still its own."""
    found, waiting = [], [pid]
    while waiting:
        process = waiting.pop()
        found.append(process)
        with suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                with suppress(OSError):
                    waiting.extend(map(int, (task / "children").read_text().split()))
    return found


def resident_bytes(pid: int) -> int:
    pages = 0
    for process in descendants(pid):
        with suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and everything it started; in a jail nothing can be left, as its namespace ends."""
    for pid in (*descendants(process.pid), -process.pid):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
