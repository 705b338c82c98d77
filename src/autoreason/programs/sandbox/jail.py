"""How a process gives up what it has: user, namespaces, files, descriptors, limits, system calls. Standard library."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from pathlib import Path
from typing import NamedTuple

from autoreason.programs.sandbox import kernel, landlock, seccomp

COMPILE_SECONDS = 5
"""Processor time that compiling may take, and importing before that, however much the runs have."""

ERRORS = 16 << 20
"""Bytes that may always be written to standard error, or past the limit on output."""

EMPTY = "/empty"
"""An empty folder inside bubblewrap."""

_DESCRIPTORS = 64
_OWN_TASKS = 64
"""Threads where nobody else has this user."""
_MORE_TASKS = 512
"""Threads and processes that an ordinary user may get more of while a program is tested, its own included."""
_STACK = 256 << 20
_SIGNALS = 64
"""Signals that wait to be dealt with; what is left of the whole user's."""


class Jail(NamedTuple):
    """What this machine offers to keep a program in."""

    uid: int | None
    """The unused user that root becomes."""
    namespaces: bool
    """Whether each test has a process namespace of its own."""
    ruleset: int | None
    """A Landlock ruleset that allows nothing."""
    mapped: int
    """Bytes of address space that a bare interpreter takes."""
    tasks: int = _OWN_TASKS
    """Threads and processes of the user in all, beyond which a program starts no more threads."""
    bare: bool = False
    """Whether no path leads to a file of anybody's."""


def settle(jail: Jail) -> Jail:
    """What a solution process gives up before it compiles. With namespaces it goes on as a child of its own."""
    if jail.uid is not None:
        # A process that has changed its root can make no user namespace; with namespaces that comes afterwards.
        bare = not jail.namespaces and _go_where_nothing_is()
        _become(jail.uid)
        jail = jail._replace(bare=bare)
    elif not jail.namespaces:
        jail = jail._replace(tasks=kernel.tasks() + _MORE_TASKS)
    if jail.namespaces:
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID)
        _go_on_inside()
        os.chroot(EMPTY)
        os.chdir("/")
        jail = jail._replace(bare=True)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if jail.ruleset is not None:
        landlock.restrict(jail.ruleset)
    seccomp.hold_session()
    return jail


def confine(jail: Jail, seconds: float, memory: int, output: int) -> None:
    """What a test process gives up before it runs the program; system calls last."""
    whole = int(seconds) + 2
    for what, most in (
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_AS, jail.mapped + memory),
        (resource.RLIMIT_FSIZE, max(output + 1, ERRORS)),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
        (resource.RLIMIT_NPROC, jail.tasks),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_STACK, _STACK),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_SIGPENDING, _SIGNALS),
    ):
        _limit(what, most)
    kernel.give_up_powers()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if jail.ruleset is not None:
        landlock.restrict(jail.ruleset)
        os.close(jail.ruleset)
    seccomp.hold_test(os.getpid(), paths=not jail.bare)


def relax(what: int, most: int | None) -> None:
    """Limit this process in a way that can be taken back, or take it back."""
    hard = resource.getrlimit(what)[1]
    resource.setrlimit(what, (hard if most is None else _within(most, hard), hard))


def _limit(what: int, most: int) -> None:
    most = _within(most, resource.getrlimit(what)[1])
    resource.setrlimit(what, (most, most))


def _within(most: int, hard: int) -> int:
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


def _go_where_nothing_is() -> bool:
    """Make a folder that is no longer there the root of all paths, if that can be done: then no path finds a file."""
    with contextlib.suppress(OSError):
        nowhere = Path("/tmp", f"autoreason-{os.urandom(8).hex()}")
        nowhere.mkdir(0o700)
        os.chdir(nowhere)
        nowhere.rmdir()
        os.chroot(".")
        return True
    return False


def _become(uid: int) -> None:
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError as error:
        raise OSError(f"root cannot be given up for user {uid}: {error.strerror}") from error


def _go_on_inside() -> None:
    """Go on as the first process of the new namespace; what was before only waits, and ends as that ends."""
    inside = kernel.fork()
    if inside == 0:
        return
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.close_from(3)
    _, status = os.waitpid(inside, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)
