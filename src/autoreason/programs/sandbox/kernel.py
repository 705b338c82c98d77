"""Calls to the kernel for which Python has no function of its own. Standard library only."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38

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
_keeper_stack = ctypes.create_string_buffer(32 * 1024)


def check_result(result: int, what: str) -> int:
    """The result of a call; raises the error it set."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *arguments: object) -> int:
    """A system call by its number."""
    return check_result(_libc.syscall(ctypes.c_long(number), *arguments), what)


def prctl(option: int, value: int, extra: int = 0) -> None:
    """Change something about this process."""
    zero = ctypes.c_ulong(0)
    arguments = (ctypes.c_ulong(value), ctypes.c_ulong(extra), zero, zero)
    check_result(_libc.prctl(option, *arguments), f"prctl {option}")


def fork() -> int:
    """Fork without Python's work for threads and randomness: there is one thread, and randomness should repeat.

    That work alone touches, and so copies, half of the memory a short test needs.
    """
    return check_result(_libc_holding_gil.fork(), "fork")


def unshare(flags: int) -> None:
    """Leave namespaces; for process ids this affects children only."""
    check_result(_libc.unshare(flags), "unshare")


def enter_namespaces(pidfd: int, flags: int) -> None:
    """Enter the namespaces of a process."""
    check_result(_libc.setns(pidfd, flags), "setns")


def drop_capabilities() -> None:
    """Drop the capabilities that a user namespace gives to its creator."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    check_result(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def close_from(first: int) -> None:
    """Close every descriptor from this one on."""
    unused = ctypes.c_uint(0xFFFFFFFF)
    syscall(_CLOSE_RANGE, "close_range", ctypes.c_uint(first), unused, ctypes.c_uint(0))


def keep_namespace() -> int:
    """Start a process that only is the first of a new namespace; when it dies, everything inside ends.

    It shares our memory and sleeps inside the C library, so it costs next to nothing. Without it the program would be
    the first process, on which signals with default action, such as its own SIGKILL, have no effect.
    """
    top = ctypes.addressof(_keeper_stack) + len(_keeper_stack)
    sleep = ctypes.cast(_libc.pause, ctypes.c_void_p)
    flags = CLONE_VM | CLONE_FS | CLONE_FILES | signal.SIGCHLD
    return check_result(_libc.clone(sleep, ctypes.c_void_p(top & ~15), flags, None), "clone")


def count_tasks() -> int:
    """Count the processes and threads that count against this user's limit, by trying limits.

    The kernel counts those in other containers too, which are not in our /proc.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    low, high = 0, _MAX_TASKS if hard == resource.RLIM_INFINITY else min(hard, _MAX_TASKS)
    try:
        while high - low > 1:
            middle = (low + high) // 2
            resource.setrlimit(resource.RLIMIT_NPROC, (middle, hard))
            if _can_start():
                high = middle
            else:
                low = middle
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    return high


def _can_start() -> bool:
    """Whether one more process can be started: one that shares our memory and ends at once."""
    top = ctypes.addressof(_keeper_stack) + len(_keeper_stack)
    leave = ctypes.cast(_libc._exit, ctypes.c_void_p)
    pid = _libc.clone(leave, ctypes.c_void_p(top & ~15), CLONE_VM | signal.SIGCHLD, None)
    if pid < 0:
        return False
    os.waitpid(pid, 0)
    return True


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


def measure_address_space() -> int:
    """Bytes of address space in use, found by trying limits: there is no /proc in the jail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, 1 << 40 if hard == resource.RLIM_INFINITY else hard
    try:
        while high - low > 1 << 16:
            middle = (low + high) // 2
            resource.setrlimit(resource.RLIMIT_AS, (middle, hard))
            if _can_map():
                high = middle
            else:
                low = middle
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return high


def _can_map() -> bool:
    try:
        mmap.mmap(-1, mmap.PAGESIZE).close()
    except (OSError, MemoryError):
        return False
    return True
