"""How a process is confined: user, namespaces, files, descriptors, limits, system calls. Standard library only."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from typing import NamedTuple

from autoreason.programs.sandbox import kernel, seccomp

COMPILE_SECONDS = 5
"""Processor time for compiling, and for importing before that, whatever the limit of the runs."""

MAX_ERROR_BYTES = 16 << 20
"""Bytes that may always be written to standard error, or past the limit on output."""

EMPTY_FOLDER = "/empty"
"""An empty folder inside bubblewrap."""

_MAX_DESCRIPTORS = 64
_MAX_TASKS = 64
"""Threads where no other process has this user."""
_EXTRA_TASKS = 512
"""Threads and processes that an ordinary user may add while a program is tested, its own included."""
_MAX_STACK = 256 << 20
_MAX_PENDING_SIGNALS = 64
"""Pending signals; the limit counts those of the whole user."""


Limits = tuple[tuple[int, int], ...]
"""Resources and how much of each."""


class JailSpec(NamedTuple):
    """How programs are confined on this machine."""

    uid: int | None
    """The unused user that root switches to."""
    namespaces: bool
    """Whether each test has its own process namespace."""
    ruleset: int | None
    """A Landlock ruleset that allows nothing."""
    base_memory: int
    """Bytes of address space that a bare interpreter takes."""
    tasks: int = _MAX_TASKS
    """Threads and processes of the user in total, beyond which a program can start no thread."""
    no_files: bool = False
    """Whether no path leads to any file."""


def confine_solution(spec: JailSpec) -> JailSpec:
    """Confine a solution process before it compiles. With namespaces it continues as a child process."""
    if spec.uid is not None:
        # A process that has changed its root can make no user namespace; with namespaces that comes afterwards.
        no_files = not spec.namespaces and _chroot_to_removed_folder()
        _switch_user(spec.uid)
        spec = spec._replace(no_files=no_files)
    elif not spec.namespaces:
        spec = spec._replace(tasks=kernel.count_tasks() + _EXTRA_TASKS)
    if spec.namespaces:
        kernel.unshare(kernel.CLONE_NEWUSER | kernel.CLONE_NEWPID)
        _continue_in_namespace()
        os.chroot(EMPTY_FOLDER)
        os.chdir("/")
        spec = spec._replace(no_files=True)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if spec.ruleset is not None:
        kernel.restrict_files(spec.ruleset)
    seccomp.restrict_solution()
    return spec


def test_limits(spec: JailSpec, seconds: float, memory: int, output: int) -> Limits:
    """The limits of a test process, as far as they can be set here."""
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
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if spec.ruleset is not None:
        kernel.restrict_files(spec.ruleset)
        os.close(spec.ruleset)
    seccomp.restrict_test(os.getpid(), paths=not spec.no_files)


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
    inside = kernel.fork()
    if inside == 0:
        return
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.close_from(3)
    _, status = os.waitpid(inside, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)
