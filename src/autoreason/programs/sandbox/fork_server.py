"""The fork server, the processes it starts for solutions and tests, and their messages. Standard library only."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import math
import mmap
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import time
import traceback
import warnings
from types import CodeType
from typing import NamedTuple, NoReturn

from autoreason.programs.sandbox import execution, jail, seccomp
from autoreason.programs.sandbox.execution import CHANNEL, NULL_DEVICE
from autoreason.programs.sandbox.rpc import cache_source

ROLES = ("program", "candidate", "tests", "checker", "artifact", "evaluator")
END_REASONS = ("exit", "signal", "cpu", "wall", "memory", "output", "broken", "died", "running")
"""How a run ended, by number; `died` is the end of the solution process itself, reported by the fork server.

`running` is not an end: it reports a run that takes longer than most, with a handle of its process.
"""
RUN, STOP = b"run", b"stop"

MAX_MESSAGE_BYTES = 128 * 1024
"""Size of a message; what can be large is not sent but passed in memory files."""

_SPEC = struct.Struct("<BdQQ")
_REPORT = struct.Struct("<BiddQ")


class ProgramSpec(NamedTuple):
    """A program and the limits of each of its runs."""

    role: str
    seconds: float
    memory: int
    output: int
    source: str

    def pack(self) -> bytes:
        head = _SPEC.pack(ROLES.index(self.role), self.seconds, self.memory, self.output)
        return head + self.source.encode("utf-8", "surrogatepass")

    @classmethod
    def unpack(cls, message: bytes) -> ProgramSpec:
        role, seconds, memory, output = _SPEC.unpack_from(message)
        source = message[_SPEC.size :].decode("utf-8", "surrogatepass")
        return cls(ROLES[role], seconds, memory, output, source)


class RunReport(NamedTuple):
    """How a run ended and what it used; its output is in the memory files that came with the request."""

    end_reason: str
    status: int
    seconds: float = 0.0
    wall: float = 0.0
    memory: int = 0

    def pack(self) -> bytes:
        return _REPORT.pack(END_REASONS.index(self.end_reason), *self[1:])

    @classmethod
    def unpack(cls, message: bytes) -> RunReport:
        end_reason, *rest = _REPORT.unpack(message)
        return cls(END_REASONS[end_reason], *rest)


NAME = "solution.py"

_REPORT_AFTER_SECONDS = 0.5
"""Seconds after which a run is reported to the client: only outside the jail can be seen whether it sleeps."""
SESSION = 3
RULESET = 5
_MEMORY_SHARE = 0.9
"""Share of its memory above which a program that died is taken to have run out of memory."""


class CompiledProgram(NamedTuple):
    """A compiled program, or the interpreter's error for one that cannot be compiled."""

    spec: ProgramSpec
    runner: execution.Runner
    started: mmap.mmap
    """A byte shared with the test process, which sets and unmaps it when all is ready for the program."""
    limits: jail.Limits
    code: CodeType | None
    error_output: bytes = b""


class TestProcess(NamedTuple):
    pid: int
    pidfd: int
    keeper: int | None


def run_worker(session: socket.socket, jail_spec: jail.JailSpec) -> NoReturn:
    spec = ProgramSpec.unpack(session.recv(MAX_MESSAGE_BYTES))
    jail.exit_on_signal(signal.SIGXCPU)
    jail.relax(resource.RLIMIT_CPU, jail.COMPILE_SECONDS)
    execution.preload(spec.source, used=spec.role == "tests")
    runner = execution.runner_for(spec.role)
    # Memory used by the imports does not count against the program.
    jail_spec = jail.confine_solution(jail_spec._replace(base_memory=jail.measure_address_space()))
    program = _compile(spec, runner, jail_spec)
    _open_streams()
    # Whatever is done here instead of in each test is done once, and costs no copies of pages.
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(session, 16, 4)
        if not request:
            os._exit(0)
        if request == STOP:
            # It was sent before the reply to its run had arrived.
            continue
        reply = _run(program, jail_spec, session, descriptors)
        for each in descriptors:
            os.close(each)
        session.send(reply.pack())


def _compile(
    spec: ProgramSpec, runner: execution.Runner, jail_spec: jail.JailSpec
) -> CompiledProgram:
    """Compile under limits: a program that exceeds them ends this process."""
    seconds = max(1, min(jail.COMPILE_SECONDS, math.ceil(spec.seconds)))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    jail.relax(resource.RLIMIT_CPU, math.ceil(usage.ru_utime + usage.ru_stime) + seconds)
    source = spec.source.removeprefix("\ufeff")
    started = mmap.mmap(-1, mmap.PAGESIZE)
    cache_source(NAME, source)
    jail.relax(resource.RLIMIT_AS, jail_spec.base_memory + spec.memory)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, NAME, "exec", dont_inherit=True)
    except Exception as error:
        jail.relax(resource.RLIMIT_AS, None)
        error_output = "".join(traceback.format_exception_only(type(error), error))
        return CompiledProgram(
            spec, runner, started, (), None, error_output.encode("utf-8", "backslashreplace")
        )
    finally:
        jail.relax(resource.RLIMIT_AS, None)
        jail.relax(resource.RLIMIT_CPU, None)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    limits = jail.test_limits(jail_spec, spec.seconds, spec.memory, spec.output)
    return CompiledProgram(spec, runner, started, limits, code)


def _open_streams() -> None:
    """Open the streams of all tests: what is behind the descriptors is replaced in each of them."""
    errors = os.dup(2)
    os.dup2(NULL_DEVICE, 2)
    execution.open_streams()
    os.dup2(errors, 2)
    os.close(errors)


def _run(
    program: CompiledProgram,
    jail_spec: jail.JailSpec,
    session: socket.socket,
    descriptors: list[int],
) -> RunReport:
    """Run one test: start it, watch it, report how it ended."""
    if program.code is None:
        os.write(descriptors[2], program.error_output)
        return RunReport("exit", 1)
    program.started[0] = 0
    started = time.monotonic()
    test = _start(program, program.code, jail_spec, descriptors)
    stopped = _watch(test, session, program.spec.seconds, started)
    _, status, usage = os.wait4(test.pid, 0)
    wall = time.monotonic() - started
    os.close(test.pidfd)
    if test.keeper is not None:
        os.kill(test.keeper, signal.SIGKILL)
        os.waitpid(test.keeper, 0)
    report = RunReport(
        "exit",
        os.waitstatus_to_exitcode(status),
        usage.ru_utime + usage.ru_stime,
        wall,
        usage.ru_maxrss * 1024,
    )
    end_reason = stopped or _end_reason(report, program.spec, descriptors)
    if not program.started[0]:
        end_reason = "broken"
    return report._replace(end_reason=end_reason, status=abs(report.status))


def _start(
    program: CompiledProgram, code: CodeType, jail_spec: jail.JailSpec, descriptors: list[int]
) -> TestProcess:
    keeper = None
    if jail_spec.namespaces:
        jail.unshare(jail.CLONE_NEWPID | jail.CLONE_NEWIPC)
        keeper = jail.keep_namespace()
    parent = os.getpid()
    pid = jail.fork()
    if pid == 0:
        _become_test(program, code, jail_spec, descriptors, parent)
    if jail_spec.namespaces:
        here = os.pidfd_open(parent)
        jail.enter_namespaces(here, jail.CLONE_NEWPID)
        os.close(here)
    return TestProcess(pid, os.pidfd_open(pid), keeper)


def _become_test(
    program: CompiledProgram,
    code: CodeType,
    jail_spec: jail.JailSpec,
    descriptors: list[int],
    parent: int,
) -> NoReturn:
    spec = program.spec
    try:
        for number, each in enumerate(descriptors):
            os.dup2(each, number)
        if len(descriptors) == CHANNEL:
            os.close(CHANNEL)
        if not execution.needs_null_device(spec.source):
            os.close(NULL_DEVICE)
        jail.close_from(RULESET + (jail_spec.ruleset is not None))
        execution.note_streams(spec.source)
        jail.confine_test(jail_spec, program.limits)
        execution.apply_patches(spec.source)
        if not jail_spec.namespaces and os.getppid() != parent:
            os._exit(1)
        program.started[0] = 1
        program.started.close()
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    execution.run(code, program.runner)


def _watch(test: TestProcess, session: socket.socket, seconds: float, started: float) -> str | None:
    """Wait for a test to end; kill it when its processor time is used up or the client asks or disconnects."""
    events = select.poll()
    events.register(test.pidfd, select.POLLIN)
    events.register(session, select.POLLIN)
    reported, wait = False, min(seconds, _REPORT_AFTER_SECONDS)
    while True:
        ready = dict(events.poll(max(1, math.ceil(wait * 1000))))
        if test.pidfd in ready:
            return None
        used = _cpu_seconds(test.pid)
        if used >= seconds or ready:
            signal.pidfd_send_signal(test.pidfd, signal.SIGKILL)
            return "cpu" if used >= seconds else "wall"
        passed = time.monotonic() - started
        if passed >= _REPORT_AFTER_SECONDS and not reported:
            running = RunReport("running", 0, used, passed)
            socket.send_fds(session, [running.pack()], [test.pidfd])
            reported = True
        wait = seconds - used if reported else min(seconds - used, _REPORT_AFTER_SECONDS - passed)


def _cpu_seconds(pid: int) -> float:
    """Processor time of another process; 0 for one that has just ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _end_reason(report: RunReport, spec: ProgramSpec, descriptors: list[int]) -> str:
    """Why a test that was not killed ended.

    Its output is not read here: the next test is a copy of this process, and could find it in memory.
    """
    sizes = [os.fstat(each).st_size for each in descriptors[1:3]]
    max_size = max(spec.output + 1, jail.MAX_ERROR_BYTES)
    if sizes[0] > spec.output or max(sizes) >= max_size or report.status == -signal.SIGXFSZ:
        return "output"
    if report.seconds > spec.seconds or report.status == -signal.SIGXCPU:
        return "cpu"
    # A stack overflow uses much memory too, but is not caused by it.
    crashed = report.status < 0 and report.status != -signal.SIGSEGV
    if crashed and report.memory >= _MEMORY_SHARE * spec.memory:
        return "memory"
    return "signal" if report.status < 0 else "exit"


READY = b"ready"
_DEEP = 20_000
"""More levels than any interpreter drops by recursion."""


class SolutionProcess(NamedTuple):
    pid: int
    session: socket.socket
    uid: int | None


def main(arguments: list[str]) -> NoReturn:
    control_fd, uids, namespaces, files = arguments
    control = socket.socket(fileno=int(control_fd))
    os.environ.clear()
    os.chdir("/")
    jail.prctl(jail.PR_SET_DUMPABLE, 0)
    jail.limit_thread_memory()
    execution.preload_common_modules()
    execution.add_site_builtins()
    execution.patch_getcwd()
    if sys.version_info >= (3, 13):
        _grow_stack()
    seccomp.packed_filters()
    random.seed(0)
    jail_spec = jail.JailSpec(
        uid=None,
        namespaces=namespaces == "yes",
        ruleset=jail.create_ruleset() if files == "yes" else None,
        base_memory=jail.measure_address_space(),
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
                # An unused one if any is left; None where no user can be chosen.
                used = {each.uid for each in solutions.values()}
                uid = next((uid for uid in uids if uid not in used), uids[-1] if uids else None)
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


def _start_solution(session: socket.socket, jail_spec: jail.JailSpec) -> SolutionProcess:
    pid = jail.fork()
    if pid:
        return SolutionProcess(pid, session, jail_spec.uid)
    try:
        _keep_descriptors(session, jail_spec)
        if jail_spec.ruleset is not None:
            jail_spec = jail_spec._replace(ruleset=RULESET)
        run_worker(socket.socket(fileno=SESSION), jail_spec)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(1)


def _keep_descriptors(session: socket.socket, jail_spec: jail.JailSpec) -> None:
    """Close every descriptor of the server but the session, the ruleset and standard streams."""
    # Above everything: what is put in its place below may be what is to be kept.
    session_fd, ruleset_fd = (
        fcntl.fcntl(each, fcntl.F_DUPFD, RULESET + 1)
        for each in (session.fileno(), 0 if jail_spec.ruleset is None else jail_spec.ruleset)
    )
    os.dup2(session_fd, SESSION)
    # Standard input of the server is /dev/null.
    os.dup2(0, execution.NULL_DEVICE)
    if jail_spec.ruleset is not None:
        os.dup2(ruleset_fd, RULESET)
    session.detach()
    jail.close_from(RULESET + (jail_spec.ruleset is not None))


def _report_end(solution: SolutionProcess) -> None:
    _, status = os.waitpid(solution.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    number = -code if code < 0 else code - 128 if code > 128 else code
    with contextlib.suppress(OSError):
        solution.session.send(RunReport("died", number).pack(), socket.MSG_NOSIGNAL)
    solution.session.close()
