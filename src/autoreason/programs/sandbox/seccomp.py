"""The filter on system calls, as a program for the kernel. Standard library only."""

from __future__ import annotations

import errno
import fcntl
import mmap
import platform
import socket
import struct
from functools import cache
from typing import NamedTuple

OWN_PID = "own pid"
"""Placeholder for the pid of the process itself, known only once it runs."""

_CLONE_THREAD = 0x10000
_CLONE_OF_A_THREAD = 0x7D0F00
"""Every flag that the C libraries set when they start a thread."""
_AT_EMPTY_PATH = 0x1000
_PR_SET_NAME = 15
_TCGETS, _TIOCGWINSZ, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX = (
    *(0x5401, 0x5413, 0x541B),
    *(0x5421, 0x5450, 0x5451),
)
_SOCK_KIND = 0xF
_SOL_SOCKET = 1
_SO_TYPE, _SO_ERROR, _SO_PROTOCOL, _SO_DOMAIN = 3, 4, 38, 39


class ArgumentCheck(NamedTuple):
    """What an argument must be: one of `values` under `mask`. Only 32 bits are compared."""

    argument: int
    values: tuple[int | str, ...]
    mask: int = 0xFFFFFFFF
    upper: bool = False
    """The upper half of the argument instead of the lower."""


def _null(argument: int) -> tuple[ArgumentCheck, ArgumentCheck]:
    return ArgumentCheck(argument, (0,)), ArgumentCheck(argument, (0,), upper=True)


_NO_EXECUTION = (ArgumentCheck(2, (0,), mask=mmap.PROT_EXEC),)
_SOCKET_PAIR_ONLY = (ArgumentCheck(3, (0,)), *_null(4))
"""Without flags and without an address: between the two ends of a pair, and nothing out of band."""

ALWAYS_ALLOWED = (
    # What is open already.
    *("read", "write", "readv", "writev", "pread64", "pwrite64", "lseek", "close", "fstat"),
    *("dup", "dup2", "dup3", "ftruncate", "fsync", "fdatasync", "pipe2", "pipe", "eventfd2"),
    *("poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait"),
    *("epoll_pwait", "getsockname", "getpeername", "shutdown"),
    # Memory, threads, and what they wait on.
    *("munmap", "mremap", "madvise", "brk", "futex", "set_robust_list", "rseq", "sched_yield"),
    *("arch_prctl", "exit", "exit_group", "restart_syscall"),
    # Signals to oneself.
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait"),
    *("rt_sigsuspend", "sigaltstack", "pause", "alarm", "getitimer", "setitimer"),
    # Time, chance, and who one is.
    *("nanosleep", "gettimeofday", "time"),
    *("times", "getrusage", "getrandom", "uname", "getpid", "gettid", "getppid", "getuid"),
    *("geteuid", "getgid", "getegid", "getresuid", "getresgid", "getrlimit", "getcwd", "getcpu"),
)

_SHARED_CLOCKS = (ArgumentCheck(0, tuple(range(12))),)
"""Not those of other processes, which reveal what else runs."""

ALLOWED_WITH_CHECKS: dict[str, tuple[ArgumentCheck, ...]] = {
    "clock_getres": _SHARED_CLOCKS,
    "clock_gettime": _SHARED_CLOCKS,
    "clock_nanosleep": _SHARED_CLOCKS,
    "clone": (
        ArgumentCheck(0, (0,), mask=0xFFFFFFFF ^ _CLONE_OF_A_THREAD),
        ArgumentCheck(0, (_CLONE_THREAD,), mask=_CLONE_THREAD),
    ),
    "fcntl": (
        ArgumentCheck(
            1,
            (
                *(fcntl.F_DUPFD, fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL),
                fcntl.F_DUPFD_CLOEXEC,
            ),
        ),
    ),
    # What Python asks of a socket, and nothing about its other end.
    "getsockopt": (
        ArgumentCheck(1, (_SOL_SOCKET,)),
        ArgumentCheck(2, (_SO_TYPE, _SO_ERROR, _SO_PROTOCOL, _SO_DOMAIN)),
    ),
    "ioctl": (ArgumentCheck(1, (_TCGETS, _TIOCGWINSZ, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX)),),
    "kill": (ArgumentCheck(0, (OWN_PID,)),),
    "mmap": _NO_EXECUTION,
    "mprotect": _NO_EXECUTION,
    # The C library queries open files with this flag. A path passed with it is followed all the same; see `BY_PATH`.
    "newfstatat": (ArgumentCheck(3, (_AT_EMPTY_PATH,)),),
    "prctl": (ArgumentCheck(0, (_PR_SET_NAME,)),),
    "prlimit64": (ArgumentCheck(0, (0, OWN_PID)), *_null(2)),
    "recvfrom": _SOCKET_PAIR_ONLY,
    "sched_getaffinity": (ArgumentCheck(0, (0, OWN_PID)),),
    "sendto": _SOCKET_PAIR_ONLY,
    "socketpair": (
        ArgumentCheck(0, (socket.AF_UNIX,)),
        ArgumentCheck(1, (socket.SOCK_STREAM,), mask=_SOCK_KIND),
    ),
    "tgkill": (ArgumentCheck(0, (OWN_PID,)),),
}

_CLONE_NEW = 0x7E020000
"""Every flag that makes a namespace but that of time, which only the second of these calls takes."""
NO_NAMESPACES = {
    "clone": ArgumentCheck(0, (0,), mask=_CLONE_NEW),
    "unshare": ArgumentCheck(0, (0,), mask=_CLONE_NEW | 0x80),
}
"""Calls that any command may make as long as they make no namespace."""

BY_PATH = ("newfstatat",)
"""Calls that describe a file by its path; refused altogether where a path can lead to a file."""

SUPERVISOR_CALLS = (
    *("recvmsg", "sendmsg", "wait4", "pidfd_open", "pidfd_send_signal", "unshare", "setns"),
    *("close_range", "landlock_restrict_self", "seccomp", "fork", "capset"),
)
"""Calls that only the solution process makes, to start tests, watch them and end them."""

MISSING = {"clone3": errno.ENOSYS, "open": errno.ENOENT, "openat": errno.ENOENT}
"""Calls that are answered as if what they ask for were not there: a better call, or a file.

The C library does without the first; and programs that look for a file are prepared to find none.
"""


class Machine(NamedTuple):
    """A kind of processor: the audit number of its system calls, and their numbers."""

    audit: int
    numbers: dict[str, int]
    keyring: range
    """`add_key`, `request_key` and `keyctl`: what they keep outlives every process and namespace."""


_GENERIC = """
    17 getcwd 20 epoll_create1 21 epoll_ctl 22 epoll_pwait 23 dup 24 dup3 25 fcntl 29 ioctl 46 ftruncate
    57 close 59 pipe2 19 eventfd2 62 lseek 63 read 64 write 65 readv 66 writev 67 pread64 68 pwrite64
    72 pselect6 73 ppoll 79 newfstatat 80 fstat 82 fsync 83 fdatasync 93 exit 94 exit_group 98 futex
    99 set_robust_list 101 nanosleep 102 getitimer 103 setitimer 113 clock_gettime 114 clock_getres
    115 clock_nanosleep 123 sched_getaffinity 124 sched_yield 128 restart_syscall 129 kill 131 tgkill
    132 sigaltstack 133 rt_sigsuspend 134 rt_sigaction 135 rt_sigprocmask 136 rt_sigpending
    137 rt_sigtimedwait 139 rt_sigreturn 148 getresuid 150 getresgid 153 times 160 uname 163 getrlimit
    165 getrusage 167 prctl 168 getcpu 169 gettimeofday 172 getpid 173 getppid 174 getuid 175 geteuid
    176 getgid 177 getegid 178 gettid 199 socketpair 204 getsockname 205 getpeername 206 sendto
    207 recvfrom 209 getsockopt 210 shutdown 214 brk 215 munmap 216 mremap 220 clone 222 mmap
    226 mprotect 233 madvise 261 prlimit64 278 getrandom 293 rseq 435 clone3 56 openat 211 sendmsg 212 recvmsg
    260 wait4 434 pidfd_open 424 pidfd_send_signal 97 unshare 268 setns 436 close_range
    446 landlock_restrict_self 277 seccomp 91 capset
"""
_X86 = """
    0 read 1 write 3 close 5 fstat 7 poll 8 lseek 9 mmap 10 mprotect 11 munmap 12 brk 13 rt_sigaction
    14 rt_sigprocmask 15 rt_sigreturn 16 ioctl 17 pread64 18 pwrite64 19 readv 20 writev 22 pipe
    23 select 24 sched_yield 25 mremap 28 madvise 32 dup 33 dup2 34 pause 35 nanosleep 36 getitimer
    37 alarm 38 setitimer 39 getpid 44 sendto 45 recvfrom 48 shutdown 51 getsockname 52 getpeername
    53 socketpair 55 getsockopt 56 clone 60 exit 62 kill 63 uname 72 fcntl 74 fsync 75 fdatasync
    77 ftruncate 79 getcwd 96 gettimeofday 97 getrlimit 98 getrusage 100 times 102 getuid 104 getgid
    107 geteuid 108 getegid 110 getppid 118 getresuid 120 getresgid 127 rt_sigpending
    128 rt_sigtimedwait 130 rt_sigsuspend 131 sigaltstack 157 prctl 158 arch_prctl 186 gettid 201 time
    202 futex 204 sched_getaffinity 219 restart_syscall 228 clock_gettime 229 clock_getres
    230 clock_nanosleep 231 exit_group 232 epoll_wait 233 epoll_ctl 234 tgkill 262 newfstatat
    270 pselect6 271 ppoll 273 set_robust_list 281 epoll_pwait 290 eventfd2 291 epoll_create1 292 dup3
    293 pipe2 302 prlimit64 309 getcpu 318 getrandom 334 rseq 435 clone3 2 open 257 openat 46 sendmsg 47 recvmsg
    61 wait4 434 pidfd_open 424 pidfd_send_signal 272 unshare 308 setns 436 close_range
    446 landlock_restrict_self 317 seccomp 57 fork 126 capset
"""


def _table(text: str) -> dict[str, int]:
    words = text.split()
    return {name: int(number) for number, name in zip(words[::2], words[1::2], strict=True)}


MACHINES = {
    "x86_64": Machine(0xC000003E, _table(_X86), range(248, 251)),
    "aarch64": Machine(0xC00000B7, _table(_GENERIC), range(217, 220)),
}


_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_GREATER_EQUAL = 0x15, 0x35
_KILL = 0x80000000
_ERRNO = 0x00050000
_ALLOW = 0x7FFF0000
_NUMBER, _AUDIT, _ARGUMENTS = 0, 4, 16  # where these are in what the kernel shows to a filter
_X32 = 0x40000000

_PID_PLACEHOLDER = 0x5EED5EED


class BpfInstruction(NamedTuple):
    """One instruction: its code, how far it jumps if true and if false, and its constant."""

    code: int
    if_true: int
    if_false: int
    constant: int

    def pack(self) -> bytes:
        return struct.pack("<HBBI", *self)


_ALLOWED = BpfInstruction(_RETURN, 0, 0, _ALLOW)
_REFUSED = BpfInstruction(_RETURN, 0, 0, _ERRNO | errno.EPERM)
_NO_FILE = BpfInstruction(_RETURN, 0, 0, _ERRNO | errno.ENOENT)


def filter_for_solution(machine: Machine) -> list[BpfInstruction]:
    """The filter of a solution process: foreign calls kill it, calls it does not need are refused."""
    numbers = machine.numbers
    program = _own_calls(machine)
    for name in (*ALWAYS_ALLOWED, *ALLOWED_WITH_CHECKS, *SUPERVISOR_CALLS):
        if name in numbers:
            program += _if_number(numbers[name], [_ALLOWED])
    for name, number in MISSING.items():
        if name in numbers:
            program += _if_number(numbers[name], [BpfInstruction(_RETURN, 0, 0, _ERRNO | number)])
    return [*program, _REFUSED]


def filter_for_test(machine: Machine, *, paths: bool) -> list[BpfInstruction]:
    """The further filter of a test process: no supervisor calls, checked arguments; `paths`: some lead to files."""
    numbers = machine.numbers
    program = [BpfInstruction(_LOAD, 0, 0, _NUMBER)]
    for name in SUPERVISOR_CALLS:
        if name in numbers:
            program += _if_number(numbers[name], [_REFUSED])
    for name, checks in ALLOWED_WITH_CHECKS.items():
        refused = _NO_FILE if name in BY_PATH else _REFUSED
        body = [line for check in checks for line in (*_check(check), refused)]
        last = refused if paths and name in BY_PATH else _ALLOWED
        program += _if_number(numbers[name], [*body, last])
    return [*program, _ALLOWED]


def filter_for_command(machine: Machine) -> list[BpfInstruction]:
    """The filter of any command: foreign calls kill it, and it reaches no keyring and no other namespace."""
    program = _own_calls(machine)
    for number in (*machine.keyring, machine.numbers["setns"]):
        program += _if_number(number, [_REFUSED])
    # Its flags are in memory, where no filter can read them; the C library does without it.
    program += _if_number(
        machine.numbers["clone3"], [BpfInstruction(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    )
    for name, check in NO_NAMESPACES.items():
        program += _if_number(machine.numbers[name], [*_check(check), _REFUSED, _ALLOWED])
    return [*program, _ALLOWED]


def _own_calls(machine: Machine) -> list[BpfInstruction]:
    """Kill at a call of another machine, and load the number of any other."""
    return [
        BpfInstruction(_LOAD, 0, 0, _AUDIT),
        BpfInstruction(_JUMP_EQUAL, 1, 0, machine.audit),
        BpfInstruction(_RETURN, 0, 0, _KILL),
        BpfInstruction(_LOAD, 0, 0, _NUMBER),
        BpfInstruction(_JUMP_GREATER_EQUAL, 0, 1, _X32),
        BpfInstruction(_RETURN, 0, 0, _KILL),
    ]


def solution_filter() -> bytes:
    return packed_filters()[0]


def test_filter(pid: int, *, paths: bool) -> bytes:
    """What programs may call in a process of that number; `paths`: some lead to files."""
    placeholder, own = (struct.pack("<I", each) for each in (_PID_PLACEHOLDER, pid))
    return packed_filters()[1 + paths].replace(placeholder, own)


def command_filter() -> bytes:
    """What any command may call; an OSError where this machine's calls are not known."""
    return _pack(filter_for_command(_here()))


@cache
def packed_filters() -> tuple[bytes, ...]:
    """The filters of solutions and tests, built once; an OSError where this machine's calls are not known."""
    here = _here()
    return (
        _pack(filter_for_solution(here)),
        _pack(filter_for_test(here, paths=False)),
        _pack(filter_for_test(here, paths=True)),
    )


def _here() -> Machine:
    here = MACHINES.get(platform.machine())
    if here is None:
        raise OSError(f"no system calls are known for {platform.machine()}")
    return here


def _pack(program: list[BpfInstruction]) -> bytes:
    return b"".join(map(BpfInstruction.pack, program))


def _if_number(number: int, body: list[BpfInstruction]) -> list[BpfInstruction]:
    return [BpfInstruction(_JUMP_EQUAL, 0, len(body), number), *body]


def _check(check: ArgumentCheck) -> list[BpfInstruction]:
    """Load an argument and jump over the next instruction, which refuses, if it is one of the values."""
    offset = _ARGUMENTS + 8 * check.argument + (4 if check.upper else 0)
    values = [_PID_PLACEHOLDER if value == OWN_PID else int(value) for value in check.values]
    tests = [
        BpfInstruction(_JUMP_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)
    ]
    return [BpfInstruction(_LOAD, 0, 0, offset), BpfInstruction(_AND, 0, 0, check.mask), *tests]
