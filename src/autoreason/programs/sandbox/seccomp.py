"""The filter on system calls, as a program for the kernel. Standard library only."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from functools import cache
from typing import NamedTuple

from autoreason.programs.sandbox import kernel
from autoreason.programs.sandbox.syscalls import (
    BY_PATH,
    CHECKED,
    FREE,
    MACHINES,
    MISSING,
    OWN_PID,
    SUPERVISING,
    Check,
    Machine,
)

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_EQUAL, _JUMP_GREATER_EQUAL = 0x15, 0x35
_KILL = 0x80000000
_ERRNO = 0x00050000
_ALLOW = 0x7FFF0000
_NUMBER, _AUDIT, _ARGUMENTS = 0, 4, 16  # where these are in what the kernel shows to a filter
_X32 = 0x40000000

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PID_MARK = 0x5EED5EED
"""Stands in a filter where the process's own number goes."""


class Line(NamedTuple):
    """One instruction: what it does, how far it jumps if so and if not, and its constant."""

    code: int
    so: int
    not_so: int
    constant: int

    def pack(self) -> bytes:
        """As the kernel reads it."""
        return struct.pack("<HBBI", *self)


_ALLOWED = Line(_RETURN, 0, 0, _ALLOW)
_REFUSED = Line(_RETURN, 0, 0, _ERRNO | errno.EPERM)
_NO_FILE = Line(_RETURN, 0, 0, _ERRNO | errno.ENOENT)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


def for_session(machine: Machine) -> list[Line]:
    """The filter of a solution process: another machine's calls kill, calls nobody needs are not permitted."""
    known = machine.numbers
    program = [
        Line(_LOAD, 0, 0, _AUDIT),
        Line(_JUMP_EQUAL, 1, 0, machine.audit),
        Line(_RETURN, 0, 0, _KILL),
        Line(_LOAD, 0, 0, _NUMBER),
        Line(_JUMP_GREATER_EQUAL, 0, 1, _X32),
        Line(_RETURN, 0, 0, _KILL),
    ]
    for name in (*FREE, *CHECKED, *SUPERVISING):
        if name in known:
            program += _if_number(known[name], [_ALLOWED])
    for name, number in MISSING.items():
        if name in known:
            program += _if_number(known[name], [Line(_RETURN, 0, 0, _ERRNO | number)])
    return [*program, _REFUSED]


def for_test(machine: Machine, *, paths: bool) -> list[Line]:
    """What a test process has on top: no supervising, and arguments within bounds; `paths`: some lead to files."""
    known = machine.numbers
    program = [Line(_LOAD, 0, 0, _NUMBER)]
    for name in SUPERVISING:
        if name in known:
            program += _if_number(known[name], [_REFUSED])
    for name, checks in CHECKED.items():
        refused = _NO_FILE if name in BY_PATH else _REFUSED
        body = [line for check in checks for line in (*_check(check), refused)]
        ended = refused if paths and name in BY_PATH else _ALLOWED
        program += _if_number(known[name], [*body, ended])
    return [*program, _ALLOWED]


def hold_session() -> None:
    """Hold this process, and every one it starts, to what solution processes need."""
    _install(_prepared()[0])


def hold_test(pid: int, *, paths: bool) -> None:
    """Hold this process, whose number is `pid`, to what programs need; `paths`: some lead to files."""
    _install(_prepared()[1 + paths].replace(struct.pack("<I", _PID_MARK), struct.pack("<I", pid)))


def prepare() -> None:
    """Build the filters ahead of time; an OSError where this machine's system calls are not known."""
    _prepared()


def _install(filter_: bytes) -> None:
    whole = _Program(len(filter_) // 8, filter_)
    address = ctypes.addressof(whole)
    kernel.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, address)


@cache
def _prepared() -> tuple[bytes, ...]:
    here = MACHINES.get(platform.machine())
    if here is None:
        raise OSError(f"no system calls are known for {platform.machine()}")
    filters = for_session(here), for_test(here, paths=False), for_test(here, paths=True)
    return tuple(b"".join(map(Line.pack, each)) for each in filters)


def _if_number(number: int, body: list[Line]) -> list[Line]:
    return [Line(_JUMP_EQUAL, 0, len(body), number), *body]


def _check(check: Check) -> list[Line]:
    """Load an argument and jump over the next line, which refuses, if it is one of the values."""
    offset = _ARGUMENTS + 8 * check.argument + (4 if check.upper else 0)
    values = [_PID_MARK if value == OWN_PID else int(value) for value in check.values]
    tests = [Line(_JUMP_EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [Line(_LOAD, 0, 0, offset), Line(_AND, 0, 0, check.mask), *tests]
