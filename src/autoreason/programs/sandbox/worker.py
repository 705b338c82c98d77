"""The process of one solution: it compiles a program, never runs it, and starts a process for each test.

Standard library only.
"""

from __future__ import annotations

import gc
import math
import mmap
import os
import resource
import select
import signal
import socket
import time
import traceback
import warnings
from types import CodeType
from typing import NamedTuple, NoReturn

from autoreason.programs.sandbox import depth, execution, jail, kernel, warm
from autoreason.programs.sandbox.execution import CHANNEL, NOTHING
from autoreason.programs.sandbox.wire import LARGEST, STOP, Opening, Reply

NAME = "solution.py"
"""What a program's file is called in tracebacks."""

_SHORT = 0.5
"""Seconds after which the client is told of a run: whether it sleeps can be seen only from outside the jail."""
SESSION = 3
"""The descriptor of the client's socket."""
RULESET = 5
"""The descriptor of the Landlock ruleset, if there is one."""
_NEAR = 0.9
"""The share of its memory beyond which a program that died is taken to have run out of it."""


class Program(NamedTuple):
    """A compiled program, or what the interpreter says of one that cannot be compiled."""

    opening: Opening
    way: execution.Way
    begun: mmap.mmap
    """A byte shared with the test process, which sets it and lets go of it when all is ready for the program."""
    code: CodeType | None
    complaint: bytes = b""


class Test(NamedTuple):
    """A test process under way."""

    pid: int
    pidfd: int
    keeper: int | None


def live(session: socket.socket, walls: jail.Jail) -> NoReturn:
    """The whole life of a solution process."""
    opening = Opening.unpack(session.recv(LARGEST))
    kernel.exit_on(signal.SIGXCPU)
    jail.relax(resource.RLIMIT_CPU, jail.COMPILE_SECONDS)
    warm.preload(opening.source, used=opening.part == "tests")
    way = execution.way_of(opening.part)
    # What the imports took is not the program's.
    walls = jail.settle(walls._replace(mapped=kernel.mapped()))
    program = _compile(opening, way, walls)
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(session, 16, 4)
        if not request:
            os._exit(0)
        if request == STOP:
            # It crossed the reply to the run it was meant for.
            continue
        reply = _run(program, walls, session, descriptors)
        for each in descriptors:
            os.close(each)
        session.send(reply.pack())


def _compile(opening: Opening, way: execution.Way, walls: jail.Jail) -> Program:
    """Compile under limits: a program that takes the compiler too far ends this process."""
    seconds = max(1, min(jail.COMPILE_SECONDS, math.ceil(opening.seconds)))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    jail.relax(resource.RLIMIT_CPU, math.ceil(usage.ru_utime + usage.ru_stime) + seconds)
    source = opening.source.removeprefix("\ufeff")
    begun = mmap.mmap(-1, mmap.PAGESIZE)
    execution.remember(NAME, source)
    jail.relax(resource.RLIMIT_AS, walls.mapped + opening.memory)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, NAME, "exec", dont_inherit=True)
    except Exception as error:
        said = _named(error, source)
        complaint = "".join(traceback.format_exception_only(type(said), said))
        return Program(opening, way, begun, None, complaint.encode("utf-8", "backslashreplace"))
    finally:
        jail.relax(resource.RLIMIT_AS, None)
        jail.relax(resource.RLIMIT_CPU, None)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    return Program(opening, way, begun, code)


def _named(error: Exception, source: str) -> Exception:
    """Why a program cannot be compiled; where memory is without limit, only nesting makes the parser run out of it."""
    if isinstance(error, MemoryError):
        jail.relax(resource.RLIMIT_AS, None)
        try:
            compile(source, NAME, "exec", dont_inherit=True)
        except MemoryError:
            return RecursionError(depth.NESTED)
        except Exception:
            return error
    return error


def _run(
    program: Program, walls: jail.Jail, session: socket.socket, descriptors: list[int]
) -> Reply:
    """One test: start it, watch it, tell how it ended."""
    if program.code is None:
        os.write(descriptors[2], program.complaint)
        return Reply("exit", 1)
    program.begun[0] = 0
    begun = time.monotonic()
    test = _start(program, program.code, walls, descriptors)
    stopped = _watch(test, session, program.opening.seconds, begun)
    _, status, usage = os.wait4(test.pid, 0)
    wall = time.monotonic() - begun
    os.close(test.pidfd)
    if test.keeper is not None:
        os.kill(test.keeper, signal.SIGKILL)
        os.waitpid(test.keeper, 0)
    took = Reply(
        "exit",
        os.waitstatus_to_exitcode(status),
        usage.ru_utime + usage.ru_stime,
        wall,
        usage.ru_maxrss * 1024,
    )
    ended = stopped or _ending(took, program.opening, descriptors)
    if not program.begun[0]:
        ended = "broken"
    return took._replace(ended=ended, status=abs(took.status))


def _start(program: Program, code: CodeType, walls: jail.Jail, descriptors: list[int]) -> Test:
    keeper = None
    if walls.namespaces:
        kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC)
        keeper = kernel.keep_namespace()
    parent = os.getpid()
    pid = kernel.fork()
    if pid == 0:
        _become_test(program, code, walls, descriptors, parent)
    if walls.namespaces:
        here = os.pidfd_open(parent)
        kernel.enter(here, kernel.CLONE_NEWPID)
        os.close(here)
    return Test(pid, os.pidfd_open(pid), keeper)


def _become_test(
    program: Program, code: CodeType, walls: jail.Jail, descriptors: list[int], parent: int
) -> NoReturn:
    opening = program.opening
    try:
        for number, each in enumerate(descriptors):
            os.dup2(each, number)
        if len(descriptors) == CHANNEL:
            os.close(CHANNEL)
        if not execution.needs_nothing(opening.source):
            os.close(NOTHING)
        kernel.close_from(RULESET + (walls.ruleset is not None))
        execution.open_streams()
        jail.confine(walls, opening.seconds, opening.memory, opening.output)
        execution.accommodate(opening.source)
        if not walls.namespaces and os.getppid() != parent:
            os._exit(1)
        program.begun[0] = 1
        program.begun.close()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    execution.run(code, program.way)


def _watch(test: Test, session: socket.socket, seconds: float, begun: float) -> str | None:
    """Wait for the end of a test, or make one: when its processor time is used up, or the client says so or is gone."""
    events = select.poll()
    events.register(test.pidfd, select.POLLIN)
    events.register(session, select.POLLIN)
    told, wait = False, min(seconds, _SHORT)
    while True:
        ready = dict(events.poll(max(1, math.ceil(wait * 1000))))
        if test.pidfd in ready:
            return None
        used = _used(test.pid)
        if used >= seconds or ready:
            signal.pidfd_send_signal(test.pidfd, signal.SIGKILL)
            return "cpu" if used >= seconds else "wall"
        passed = time.monotonic() - begun
        if passed >= _SHORT and not told:
            running = Reply("running", 0, used, passed)
            socket.send_fds(session, [running.pack()], [test.pidfd])
            told = True
        wait = seconds - used if told else min(seconds - used, _SHORT - passed)


def _used(pid: int) -> float:
    """Processor time of another process; nothing more is known of one that has just ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _ending(took: Reply, opening: Opening, descriptors: list[int]) -> str:
    """Why a test that nobody stopped was over.

    What it wrote is not looked at here: the next test is a copy of this process, and could find it in memory.
    """
    wrote = [os.fstat(each).st_size for each in descriptors[1:3]]
    most = max(opening.output + 1, jail.ERRORS)
    if wrote[0] > opening.output or max(wrote) >= most or took.status == -signal.SIGXFSZ:
        return "output"
    if took.seconds > opening.seconds or took.status == -signal.SIGXCPU:
        return "cpu"
    # A recursion that leaves its stack has used much memory too, and that is not why it ended.
    crashed = took.status < 0 and took.status != -signal.SIGSEGV
    if crashed and took.memory >= _NEAR * opening.memory:
        return "memory"
    return "signal" if took.status < 0 else "exit"
