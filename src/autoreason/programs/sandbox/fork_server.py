"""The fork server: it imports the common modules, runs no program itself, and starts a process for each solution.

Standard library only. Started by `spawn.py`, one per core, with a socket on which each message brings a session.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import random
import select
import socket
import sys
from typing import NamedTuple, NoReturn

from autoreason.programs.sandbox import execution, jail, kernel, seccomp, warm, worker
from autoreason.programs.sandbox.wire import RunReport

READY = b"ready"
_DEEP = 20_000
"""More levels than any interpreter drops by recursion."""


class SolutionProcess(NamedTuple):
    """A running solution process."""

    pid: int
    session: socket.socket
    uid: int | None


def main(arguments: list[str]) -> NoReturn:
    """Import the common modules, report that, and serve until the client disconnects."""
    control_fd, uids, namespaces, files = arguments
    control = socket.socket(fileno=int(control_fd))
    os.environ.clear()
    os.chdir("/")
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.limit_thread_memory()
    warm.preload_common_modules()
    execution.add_site_builtins()
    execution.patch_getcwd()
    if sys.version_info >= (3, 13):
        _grow_stack()
    seccomp.prepare()
    random.seed(0)
    jail_spec = jail.JailSpec(
        uid=None,
        namespaces=namespaces == "yes",
        ruleset=kernel.create_ruleset() if files == "yes" else None,
        base_memory=kernel.measure_address_space(),
    )
    gc.collect()
    gc.freeze()
    control.send(READY)
    _serve(control, jail_spec, [int(uid) for uid in uids.split(",") if uid])


def _grow_stack() -> None:
    """Grow the stack as far as dropping a deeply nested value takes it, before a program's memory is limited.

    Since Python 3.13 that is a megabyte or two, and a program that has used up its memory would crash for want of it.
    """
    nested: object = None
    for _ in range(_DEEP):
        nested = (lambda inner: lambda: inner)(nested)


def _serve(control: socket.socket, jail_spec: jail.JailSpec, uids: list[int]) -> NoReturn:
    events = select.poll()
    events.register(control, select.POLLIN)
    solutions: dict[int, SolutionProcess] = {}
    while True:
        for ready, _ in events.poll():
            if ready == control.fileno():
                message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
                if not message:
                    os._exit(0)
                uid = _free(uids, {each.uid for each in solutions.values()})
                solution = _start_solution(
                    socket.socket(fileno=descriptors[0]), jail_spec._replace(uid=uid)
                )
                pidfd = os.pidfd_open(solution.pid)
                solutions[pidfd] = solution
                events.register(pidfd, select.POLLIN)
            else:
                events.unregister(ready)
                os.close(ready)
                _report_end(solutions.pop(ready))


def _free(uids: list[int], used: set[int | None]) -> int | None:
    """A user for another solution: an unused one if any is left; None where no user can be chosen."""
    return next((uid for uid in uids if uid not in used), uids[-1] if uids else None)


def _start_solution(session: socket.socket, jail_spec: jail.JailSpec) -> SolutionProcess:
    pid = kernel.fork()
    if pid:
        return SolutionProcess(pid, session, jail_spec.uid)
    try:
        _keep_descriptors(session, jail_spec)
        if jail_spec.ruleset is not None:
            jail_spec = jail_spec._replace(ruleset=worker.RULESET)
        worker.run_worker(socket.socket(fileno=worker.SESSION), jail_spec)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def _keep_descriptors(session: socket.socket, jail_spec: jail.JailSpec) -> None:
    """Close every descriptor of the server but the session, the ruleset and standard streams."""
    # Above everything: what is put in its place below may be what is to be kept.
    session_fd, ruleset_fd = (
        fcntl.fcntl(each, fcntl.F_DUPFD, worker.RULESET + 1)
        for each in (session.fileno(), 0 if jail_spec.ruleset is None else jail_spec.ruleset)
    )
    os.dup2(session_fd, worker.SESSION)
    # Standard input of the server is /dev/null.
    os.dup2(0, execution.NULL_DEVICE)
    if jail_spec.ruleset is not None:
        os.dup2(ruleset_fd, worker.RULESET)
    session.detach()
    kernel.close_from(worker.RULESET + (jail_spec.ruleset is not None))


def _report_end(solution: SolutionProcess) -> None:
    """Report to the client how a solution process ended, unless it has disconnected."""
    _, status = os.waitpid(solution.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else code - 128 if code > 128 else code
    with contextlib.suppress(OSError):
        solution.session.send(RunReport("died", number).pack(), socket.MSG_NOSIGNAL)
    solution.session.close()
