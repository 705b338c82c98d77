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
    ALLOWED_WITH_CHECKS,
    ALWAYS_ALLOWED,
    BY_PATH,
    MACHINES,
    MISSING,
    NO_NAMESPACES,
    OWN_PID,
    SUPERVISOR_CALLS,
    ArgumentCheck,
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
_PID_PLACEHOLDER = 0x5EED5EED
"""Placeholder in a filter for the process's own pid."""


class BpfInstruction(NamedTuple):
    """One instruction: its code, how far it jumps if true and if false, and its constant."""

    code: int
    if_true: int
    if_false: int
    constant: int

    def pack(self) -> bytes:
        """As the kernel reads it."""
        return struct.pack("<HBBI", *self)


_ALLOWED = BpfInstruction(_RETURN, 0, 0, _ALLOW)
_REFUSED = BpfInstruction(_RETURN, 0, 0, _ERRNO | errno.EPERM)
_NO_FILE = BpfInstruction(_RETURN, 0, 0, _ERRNO | errno.ENOENT)


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


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


def restrict_solution() -> None:
    """Restrict this process, and every one it starts, to what solution processes need."""
    _install(_filters()[0])


def restrict_test(pid: int, *, paths: bool) -> None:
    """Restrict this process, whose number is `pid`, to what programs need; `paths`: some lead to files."""
    _install(
        _filters()[1 + paths].replace(struct.pack("<I", _PID_PLACEHOLDER), struct.pack("<I", pid))
    )


def command_filter() -> bytes:
    """The filter of any command, as the kernel reads it; an OSError where this machine's calls are not known."""
    return _pack(filter_for_command(_here()))


def prepare() -> None:
    """Build the filters ahead of time; an OSError where this machine's system calls are not known."""
    _filters()


def _install(filter_: bytes) -> None:
    whole = _BpfProgram(len(filter_) // 8, filter_)
    address = ctypes.addressof(whole)
    kernel.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, address)


@cache
def _filters() -> tuple[bytes, ...]:
    here = _here()
    filters = (
        filter_for_solution(here),
        filter_for_test(here, paths=False),
        filter_for_test(here, paths=True),
    )
    return tuple(map(_pack, filters))


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
