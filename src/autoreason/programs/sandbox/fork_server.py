"""The fork server: it has the usual modules imported, runs no program itself, and starts a process for each solution.

Standard library only. Started by `launch.py`, once a core, with a socket on which each message brings a session's.
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

from autoreason.programs.sandbox import execution, jail, kernel, landlock, seccomp, warm, worker
from autoreason.programs.sandbox.wire import Reply

READY = b"ready"


class Solution(NamedTuple):
    """A solution process under way."""

    pid: int
    session: socket.socket
    uid: int | None


def main(arguments: list[str]) -> NoReturn:
    """Warm up, say so, and serve until the client goes away."""
    control_fd, uids, namespaces, files = arguments
    control = socket.socket(fileno=int(control_fd))
    os.environ.clear()
    os.chdir("/")
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    kernel.tame_threads()
    warm.warm()
    execution.add_site_builtins()
    execution.stay_at_the_root()
    seccomp.prepare()
    random.seed(0)
    walls = jail.Jail(
        uid=None,
        namespaces=namespaces == "yes",
        ruleset=landlock.allow_nothing() if files == "yes" else None,
        mapped=kernel.mapped(),
    )
    gc.collect()
    gc.freeze()
    control.send(READY)
    _serve(control, walls, [int(uid) for uid in uids.split(",") if uid])


def _serve(control: socket.socket, walls: jail.Jail, uids: list[int]) -> NoReturn:
    events = select.poll()
    events.register(control, select.POLLIN)
    solutions: dict[int, Solution] = {}
    while True:
        for ready, _ in events.poll():
            if ready == control.fileno():
                message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
                if not message:
                    os._exit(0)
                uid = _free(uids, {each.uid for each in solutions.values()})
                begun = _begin(socket.socket(fileno=descriptors[0]), walls._replace(uid=uid))
                pidfd = os.pidfd_open(begun.pid)
                solutions[pidfd] = begun
                events.register(pidfd, select.POLLIN)
            else:
                events.unregister(ready)
                os.close(ready)
                _end(solutions.pop(ready))


def _free(uids: list[int], taken: set[int | None]) -> int | None:
    """A user for another solution: one that no other has, if there is one left; none where nobody can be chosen."""
    return next((uid for uid in uids if uid not in taken), uids[-1] if uids else None)


def _begin(session: socket.socket, walls: jail.Jail) -> Solution:
    pid = kernel.fork()
    if pid:
        return Solution(pid, session, walls.uid)
    try:
        _leave(session, walls)
        if walls.ruleset is not None:
            walls = walls._replace(ruleset=worker.RULESET)
        worker.live(socket.socket(fileno=worker.SESSION), walls)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def _leave(session: socket.socket, walls: jail.Jail) -> None:
    """Keep the session, the ruleset and standard streams of all that the server has open."""
    # Above everything: what is put in its place below may be what is to be kept.
    kept, rules = (
        fcntl.fcntl(each, fcntl.F_DUPFD, worker.RULESET + 1)
        for each in (session.fileno(), 0 if walls.ruleset is None else walls.ruleset)
    )
    os.dup2(kept, worker.SESSION)
    # Standard input of the server is /dev/null.
    os.dup2(0, execution.NOTHING)
    if walls.ruleset is not None:
        os.dup2(rules, worker.RULESET)
    session.detach()
    kernel.close_from(worker.RULESET + (walls.ruleset is not None))


def _end(ended: Solution) -> None:
    """Tell the client that a solution process is over, and how, unless it has gone."""
    _, status = os.waitpid(ended.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else code - 128 if code > 128 else code
    with contextlib.suppress(OSError):
        ended.session.send(Reply("died", number).pack(), socket.MSG_NOSIGNAL)
    ended.session.close()
