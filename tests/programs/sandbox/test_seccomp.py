"""The filter allows what programs need and nothing else, on every machine it is made for."""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.programs.sandbox.seccomp import (
    ALLOWED_WITH_CHECKS,
    ALWAYS_ALLOWED,
    MACHINES,
    SUPERVISOR_CALLS,
    BpfInstruction,
    filter_for_command,
    filter_for_solution,
    filter_for_test,
)

ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, NO_FILE = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOENT
NAMESPACES = (*(0x20000, 0x02000000, 0x04000000, 0x08000000), *(0x10000000, 0x20000000, 0x40000000))
OWN = 0x5EED5EED  # where the process's number goes

each_machine = pytest.mark.parametrize("machine", sorted(MACHINES))
machines = st.sampled_from(sorted(MACHINES))
words = st.integers(0, 2**64 - 1)


class Call(NamedTuple):
    number: int
    audit: int
    arguments: tuple[int, ...] = ()

    def shown(self) -> bytes:
        arguments = (*self.arguments, *[0] * 6)[:6]
        return struct.pack("<IIQ6Q", self.number, self.audit, 0, *arguments)


def answer(lines: list[BpfInstruction], call: Call) -> int:
    """What a filter says to a call, reading it as the kernel does."""
    shown, register, at = call.shown(), 0, 0
    while True:
        code, if_true, if_false, constant = lines[at]
        at += 1
        match code:
            case 0x20:
                (register,) = struct.unpack_from("<I", shown, constant)
            case 0x54:
                register &= constant
            case 0x15:
                at += if_true if register == constant else if_false
            case 0x35:
                at += if_true if register >= constant else if_false
            case 0x06:
                return constant
            case _:
                raise AssertionError(f"no such instruction: {code:#x}")


def judged(machine: str, name: str, *arguments: int, paths: bool = False) -> int:
    """The answer that a test process gets: the stricter answer of its two filters."""
    here = MACHINES[machine]
    call = Call(here.numbers[name], here.audit, arguments)
    answers = (
        answer(filter_for_solution(here), call),
        answer(filter_for_test(here, paths=paths), call),
    )
    return next((each for each in answers if each != ALLOW), ALLOW)


@given(machines, st.integers(0, 2000), st.tuples(*[words] * 6))
def test_a_call_that_is_not_listed_is_refused(
    machine: str, number: int, arguments: tuple[int, ...]
) -> None:
    here = MACHINES[machine]
    if number not in here.numbers.values():
        assert answer(filter_for_solution(here), Call(number, here.audit, arguments)) == REFUSE


@given(machines, st.integers(0, 2**32 - 1), words)
def test_calls_of_another_machine_kill(machine: str, number: int, argument: int) -> None:
    here = MACHINES[machine]
    for audit in (0x40000003, 0x40000028, *(m.audit for m in MACHINES.values() if m != here)):
        for lines in (filter_for_solution(here), filter_for_command(here)):
            assert answer(lines, Call(number, audit, (argument,))) == KILL
            assert answer(lines, Call(number | 0x40000000, here.audit)) == KILL


@given(machines, st.integers(0, 2000), words)
def test_a_command_may_call_anything_but_keyrings_and_namespaces(
    machine: str, number: int, argument: int
) -> None:
    here = MACHINES[machine]
    names = [name for name, each in here.numbers.items() if each == number]
    if not {"clone", "unshare", "clone3", "setns"} & set(names):
        expected = REFUSE if number in here.keyring else ALLOW
        assert answer(filter_for_command(here), Call(number, here.audit, (argument,))) == expected
    assert here.keyring[-1] not in here.numbers.values()


@each_machine
@cases(
    ("name", "argument", "expected"),
    [
        *(("unshare", flag, REFUSE) for flag in (*NAMESPACES, 0x80, sum(NAMESPACES))),
        *(("clone", flag | 0x11, REFUSE) for flag in (*NAMESPACES, sum(NAMESPACES))),
        ("unshare", 0x400, ALLOW),  # its own open files
        ("clone", 0x01200011, ALLOW),  # a process
        ("clone", 0x4111, ALLOW),  # one that is to be replaced at once
        ("clone", 0x3D0F00, ALLOW),  # a thread
        ("setns", 3, REFUSE),
        ("clone3", 1, 0x00050000 | errno.ENOSYS),
    ],
)
def test_a_command_makes_processes_and_threads_but_no_namespaces(
    machine: str, name: str, argument: int, expected: int
) -> None:
    here = MACHINES[machine]
    call = Call(here.numbers[name], here.audit, (argument,))
    assert answer(filter_for_command(here), call) == expected


def test_the_numbers_of_these_calls_are_those_of_the_kernel() -> None:
    expected = {"x86_64": (56, 435, 272, 308), "aarch64": (220, 435, 97, 268)}
    for machine, numbers in expected.items():
        found = MACHINES[machine].numbers
        assert tuple(found[name] for name in ("clone", "clone3", "unshare", "setns")) == numbers


@given(machines, st.sampled_from(SUPERVISOR_CALLS), st.tuples(*[words] * 6))
def test_a_program_cannot_do_what_its_supervisor_does(
    machine: str, name: str, arguments: tuple[int, ...]
) -> None:
    if name in MACHINES[machine].numbers:
        assert judged(machine, name, *arguments) == REFUSE


@each_machine
def test_what_is_free_is_allowed_and_nothing_listed_opens_connects_or_starts(machine: str) -> None:
    for name in set(ALWAYS_ALLOWED) & set(MACHINES[machine].numbers):
        assert judged(machine, name, *[2**64 - 1] * 6) == ALLOW
    assert judged(machine, "clone3") == 0x00050000 | errno.ENOSYS
    numbers = MACHINES[machine].numbers
    never = {"openat2", "socket", "connect", "bind", "execve", "execveat"}
    never |= {
        "ptrace",
        "mount",
        "bpf",
        "io_uring_setup",
        "memfd_create",
        "vfork",
        "process_vm_readv",
    }
    allowed = set(ALWAYS_ALLOWED) | set(ALLOWED_WITH_CHECKS) | set(SUPERVISOR_CALLS)
    assert not never & (set(numbers) | allowed)
    assert not {"open", "openat"} & allowed
    assert len(set(numbers.values())) == len(numbers)


@each_machine
@cases(
    ("name", "arguments", "allowed"),
    [
        ("clone", (0x3D0F00,), True),  # a thread, as the GNU library starts one
        ("clone", (0x7D0F00,), True),  # as musl does
        ("clone", (0x11,), False),  # a process
        ("clone", (0x3D0F00 | 0x10000000,), False),  # a thread in a user namespace
        ("clone", (0x01200011,), False),
        ("kill", (OWN, 9), True),
        ("kill", (OWN + 1, 9), False),
        ("kill", (0, 9), False),
        ("kill", (2**64 - 1, 9), False),
        ("tgkill", (OWN, 5, 6), True),
        ("tgkill", (1, 1, 9), False),
        ("mmap", (0, 4096, 3), True),
        ("mmap", (0, 4096, 7), False),
        ("mprotect", (0, 4096, 5), False),
        ("prlimit64", (0, 7, 0, 1), True),
        ("prlimit64", (0, 7, 1, 0), False),
        ("prlimit64", (0, 7, 1 << 40, 0), False),
        ("prlimit64", (1, 7, 0, 1), False),
        ("prctl", (15,), True),
        ("prctl", (1, 0), False),
        ("prctl", (22,), False),
        ("ioctl", (0, 0x5401), True),
        ("ioctl", (0, 0x5412), False),  # typing into somebody's terminal
        ("socketpair", (1, 1), True),
        ("socketpair", (1, 1 | 0o2000000), True),
        ("socketpair", (1, 2), False),  # could be sent from to any address
        ("socketpair", (2, 1), False),
        ("sendto", (3, 1, 1, 0, 0, 0), True),
        ("sendto", (3, 1, 1, 0, 1 << 33, 0), False),
        ("sendto", (3, 1, 1, 1, 0, 0), False),  # out of band
        ("recvfrom", (3, 1, 1, 0, 0, 0), True),
        ("recvfrom", (3, 1, 1, 1, 0, 0), False),
        ("recvfrom", (3, 1, 1, 0, 1, 1), False),
        ("getsockopt", (3, 1, 3), True),
        ("getsockopt", (3, 1, 77), False),  # a handle of the process at the other end
        ("getsockopt", (3, 1, 17), False),  # who that is
        ("getsockopt", (3, 6, 3), False),
        ("newfstatat", (0, 1, 1, 0x1000), True),
        ("clock_gettime", (1,), True),
        ("clock_gettime", (2**32 - 6,), False),  # another process's time
        ("clock_nanosleep", (2**32 - 6,), False),
        ("sched_getaffinity", (0, 8), True),
        ("sched_getaffinity", (1, 8), False),
        ("fcntl", (0, 3), True),
        ("fcntl", (0, 8), False),  # signals to others
    ],
)
def test_arguments_stay_within_bounds(
    machine: str, name: str, arguments: tuple[int, ...], allowed: bool
) -> None:
    assert judged(machine, name, *arguments) == (ALLOW if allowed else REFUSE)


@each_machine
def test_where_paths_lead_to_files_none_can_be_asked_after(machine: str) -> None:
    for flags in (0x1000, 0x1100, 0):
        assert judged(machine, "newfstatat", 0, 1, 1, flags, paths=True) == NO_FILE
    assert judged(machine, "newfstatat", 2**64 - 100, 1, 1, 0) == NO_FILE
    assert judged(machine, "openat", 2**64 - 100, 1, 0) == NO_FILE
    assert judged(machine, "fstat", 0, 1, paths=True) == ALLOW
