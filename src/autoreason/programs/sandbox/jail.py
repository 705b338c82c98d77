"""How a process is confined, and the kernel's calls for it: user, namespaces, files, limits. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import resource
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from autoreason.programs.sandbox import seccomp

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2

CLONE_VM = 0x100
CLONE_FS = 0x200
CLONE_FILES = 0x400
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

_CLOSE_RANGE = 436  # the same on every machine
_M_ARENA_MAX = -8
_THREAD_STACK = 8 << 20
_MAX_TASKS = 1 << 16
_CAPABILITY_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
_libc_holding_gil = ctypes.PyDLL(None, use_errno=True)
# Plain numbers are passed at once; objects for them would be made in every process, on pages that have to be copied.
_libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
_libc.syscall.argtypes = (ctypes.c_long,) * 4
_capability_header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
_no_capabilities = (ctypes.c_uint32 * 6)()
_keeper_stack = ctypes.create_string_buffer(32 * 1024)


def check_result(result: int, what: str) -> int:
    """The result of a call; raises the error it set."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, first: int, second: int, third: int = 0) -> int:
    return check_result(_libc.syscall(number, first, second, third), what)


def prctl(option: int, value: int, extra: int = 0) -> None:
    check_result(_libc.prctl(option, value, extra, 0, 0), f"prctl {option}")


def fork() -> int:
    """Fork without Python's work for threads and randomness: there is one thread, and randomness should repeat.

    That work alone touches, and so copies, half of the memory a short test needs.
    """
    return check_result(_libc_holding_gil.fork(), "fork")


def unshare(flags: int) -> None:
    """Leave namespaces; for process ids this affects children only."""
    check_result(_libc.unshare(flags), "unshare")


def enter_namespaces(pidfd: int, flags: int) -> None:
    check_result(_libc.setns(pidfd, flags), "setns")


def drop_capabilities() -> None:
    """Drop the capabilities that a user namespace gives to its creator."""
    check_result(_libc.capset(_capability_header, _no_capabilities), "capset")


def close_from(first: int) -> None:
    syscall(_CLOSE_RANGE, "close_range", first, 0xFFFFFFFF)


def keep_namespace() -> int:
    """Start a process that only is the first of a new namespace; when it dies, everything inside ends.

    It shares our memory and sleeps inside the C library, so it costs next to nothing. Without it the program would be
    the first process, on which signals with default action, such as its own SIGKILL, have no effect.
    """
    return check_result(_clone(_libc.pause, CLONE_VM | CLONE_FS | CLONE_FILES), "clone")


def _clone(function: Any, flags: int) -> int:
    """Start a process in a function of the C library, on a stack of its own; negative where that fails."""
    top = ctypes.addressof(_keeper_stack) + len(_keeper_stack)
    start = ctypes.cast(function, ctypes.c_void_p)
    pid: int = _libc.clone(start, ctypes.c_void_p(top & ~15), flags | signal.SIGCHLD, None)
    return pid


def count_tasks() -> int:
    """Count the processes and threads that count against this user's limit, by trying limits.

    The kernel counts those in other containers too, which are not in our /proc.
    """
    return _smallest_limit(resource.RLIMIT_NPROC, _MAX_TASKS, 1, _can_start)


def _can_start() -> bool:
    """Whether one more process can be started: one that shares our memory and ends at once."""
    pid = _clone(_libc._exit, CLONE_VM)
    if pid < 0:
        return False
    os.waitpid(pid, 0)
    return True


def measure_address_space() -> int:
    """Bytes of address space in use, found by trying limits: there is no /proc in the jail."""
    return _smallest_limit(resource.RLIMIT_AS, 1 << 40, 1 << 16, _can_map)


def _can_map() -> bool:
    try:
        mmap.mmap(-1, mmap.PAGESIZE).close()
    except (OSError, MemoryError):
        return False
    return True


def _smallest_limit(what: int, high: int, precision: int, works: Callable[[], bool]) -> int:
    """The smallest limit of a resource, at most `high`, under which something works."""
    soft, hard = resource.getrlimit(what)
    low, high = 0, high if hard == resource.RLIM_INFINITY else min(hard, high)
    try:
        while high - low > precision:
            middle = (low + high) // 2
            resource.setrlimit(what, (middle, hard))
            if works():
                high = middle
            else:
                low = middle
    finally:
        resource.setrlimit(what, (soft, hard))
    return high


def exit_on_signal(number: signal.Signals) -> None:
    """Exit on this signal with its number as status, even as the first process of a namespace."""
    _libc.signal.restype = ctypes.c_void_p
    _libc.signal(int(number), ctypes.cast(_libc._exit, ctypes.c_void_p))


def limit_thread_memory() -> None:
    """Let threads share one heap and have small stacks, so that address space is left for the program."""
    attributes = ctypes.create_string_buffer(256)
    _libc.pthread_attr_init(attributes)
    _libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_THREAD_STACK))
    if hasattr(_libc, "pthread_setattr_default_np"):
        _libc.pthread_setattr_default_np(attributes)
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 1)


_CREATE, _RESTRICT = 444, 446  # the same on every machine
_VERSION = 1

_FILES = ((1, 13), (2, 14), (3, 15), (5, 16))
"""From which version on how many kinds of access to files are known."""
_PORTS = 4
_SCOPES = 6


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def landlock_version() -> int:
    """The version of Landlock in this kernel; an OSError where it has none."""
    return syscall(_CREATE, "landlock_create_ruleset", 0, 0, _VERSION)


def create_ruleset() -> int:
    """Create a ruleset (a descriptor) that handles every access this kernel knows and allows none."""
    kernel_version = landlock_version()
    kinds = max(count for since, count in _FILES if since <= kernel_version)
    rules = _Ruleset(
        (1 << kinds) - 1,
        3 if kernel_version >= _PORTS else 0,
        3 if kernel_version >= _SCOPES else 0,
    )
    # An older kernel refuses a structure that is longer than its own.
    size = 24 if kernel_version >= _SCOPES else 16 if kernel_version >= _PORTS else 8
    return syscall(_CREATE, "landlock_create_ruleset", ctypes.addressof(rules), size)


def restrict_files(ruleset: int) -> None:
    """Restrict this process, and every one it starts, to a ruleset for good."""
    syscall(_RESTRICT, "landlock_restrict_self", ruleset, 0)


COMPILE_SECONDS = 5
"""Processor time for compiling, and for importing before that, whatever the limit of the runs."""

MAX_ERROR_BYTES = 16 << 20
"""Bytes that may always be written to standard error, or past the limit on output."""

EMPTY_FOLDER = "/empty"

_MAX_DESCRIPTORS = 64
_MAX_THREADS = 64
"""Threads where no other process has this user."""
_EXTRA_TASKS = 512
"""Threads and processes that an ordinary user may add while a program is tested, its own included."""
_MAX_STACK = 256 << 20
_MAX_PENDING_SIGNALS = 64
"""Pending signals; the limit counts those of the whole user."""


Limits = tuple[tuple[int, int], ...]


class JailSpec(NamedTuple):
    """How programs are confined on this machine."""

    uid: int | None
    """The unused user that root switches to."""
    namespaces: bool
    ruleset: int | None
    base_memory: int
    """Bytes of address space that a bare interpreter takes."""
    tasks: int = _MAX_THREADS
    """Threads and processes of the user in total, beyond which a program can start no thread."""
    no_files: bool = False


def confine_solution(spec: JailSpec) -> JailSpec:
    """Confine a solution process before it compiles. With namespaces it continues as a child process."""
    if spec.uid is not None:
        # A process that has changed its root can make no user namespace; with namespaces that comes afterwards.
        no_files = not spec.namespaces and _chroot_to_removed_folder()
        _switch_user(spec.uid)
        spec = spec._replace(no_files=no_files)
    elif not spec.namespaces:
        spec = spec._replace(tasks=count_tasks() + _EXTRA_TASKS)
    if spec.namespaces:
        unshare(CLONE_NEWUSER | CLONE_NEWPID)
        _continue_in_namespace()
        os.chroot(EMPTY_FOLDER)
        os.chdir("/")
        spec = spec._replace(no_files=True)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if spec.ruleset is not None:
        restrict_files(spec.ruleset)
    _restrict_calls(seccomp.solution_filter())
    return spec


def test_limits(spec: JailSpec, seconds: float, memory: int, output: int) -> Limits:
    whole = int(seconds) + 2
    wanted = (
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_AS, spec.base_memory + memory),
        (resource.RLIMIT_FSIZE, max(output + 1, MAX_ERROR_BYTES)),
        (resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS),
        (resource.RLIMIT_NPROC, spec.tasks),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_STACK, _MAX_STACK),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, _MAX_PENDING_SIGNALS),
    )
    return tuple((what, _capped(limit, resource.getrlimit(what)[1])) for what, limit in wanted)


def confine_test(spec: JailSpec, limits: Limits) -> None:
    """Confine a test process before it runs the program; system calls last."""
    for what, limit in limits:
        resource.setrlimit(what, (limit, limit))
    drop_capabilities()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if spec.ruleset is not None:
        restrict_files(spec.ruleset)
        os.close(spec.ruleset)
    _restrict_calls(seccomp.test_filter(os.getpid(), paths=not spec.no_files))


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def _restrict_calls(filter_: bytes) -> None:
    program = _BpfProgram(len(filter_) // 8, filter_)
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def relax(what: int, limit: int | None) -> None:
    """Set the soft limit of this process, which can be raised again; None raises it to the hard limit."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (hard if limit is None else _capped(limit, hard), hard))


def _capped(limit: int, hard: int) -> int:
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


def _chroot_to_removed_folder() -> bool:
    """Make a removed folder the root, if possible: then no path leads to a file."""
    with contextlib.suppress(OSError):
        # Not with pathlib, which every process would carry along.
        removed = f"/tmp/autoreason-{os.urandom(8).hex()}"
        os.mkdir(removed, 0o700)  # noqa: PTH102
        os.chdir(removed)
        os.rmdir(removed)  # noqa: PTH106
        os.chroot(".")
        return True
    return False


def _switch_user(uid: int) -> None:
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        raise OSError(f"root cannot be given up for user {uid}: {error.strerror}") from error


def _continue_in_namespace() -> None:
    """Continue as the first process of the new namespace; the old process waits, and ends as it ends."""
    inside = fork()
    if inside == 0:
        return
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    close_from(3)
    _, status = os.waitpid(inside, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)
