"""The best level that holds is found by trying, wherever one is, and without one nothing is run."""

from __future__ import annotations

import asyncio
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.patience import PATIENCE
from tests.programs.sandbox.circumstances import Circumstances, Findings, under
from tests.programs.sandbox.rig import LEVELS, busy_cores, need_level, public_python

from autoreason.errors import InvalidInput
from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import ProgramExaminer
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox import levels
from autoreason.programs.sandbox.base import (
    IdleTimer,
    Level,
    ProgramRole,
    ProgramRun,
    RunLimits,
    Sandbox,
    max_idle_seconds,
    pid_of,
)
from autoreason.programs.sandbox.levels import UnsafeSandbox, find_level, open_sandbox

LIMITS = RunLimits(seconds=1, memory=64 << 20, output=1 << 16)


async def run(source: str, stdin: bytes = b"", *, role: ProgramRole = "program") -> ProgramRun:
    async with UnsafeSandbox(1).open(source, LIMITS, role=role) as session:
        return await session.run(stdin)


async def test_it_reads_and_prints_like_any_program_and_sees_nothing_of_its_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = await run("import sys\nprint(input()[::-1])\nprint('é', file=sys.stderr)", b"abc\n")
    assert (ran.end_reason, ran.status, ran.stdout, ran.stderr) == (
        "exit",
        0,
        b"cba\n",
        "é\n".encode(),
    )
    assert ran.seconds > 0
    assert ran.wall > 0
    assert ran.memory
    assert ran.memory > 1_000_000
    source = "import os\nprint(os.fstat(0).st_size, os.read(0, 2), os.lseek(0, 0, 0))"
    assert (await run(source, b"hello")).stdout == b"5 b'he' 0\n"
    monkeypatch.setenv("A_SECRET", "42")
    ran = await run("import os, sys\nprint('A_SECRET' in os.environ, os.getcwd(), sys.path[0])")
    seen, folder, path = ran.stdout.decode().split()
    assert seen == "False"
    assert folder != os.getcwd()  # noqa: PTH109
    assert path != folder
    assert not os.access(folder, os.F_OK)


@pytest.mark.parametrize(
    ("source", "end_reason", "status"),
    [
        ("exit(3)", "exit", 3),
        ("print(", "exit", 1),
        ("import os\nos.kill(os.getpid(), 15)", "signal", 15),
        ("while True: pass", "cpu", None),
        ("import time\ntime.sleep(60)", "wall", None),
        ("x = bytearray(1 << 30)", "memory", 1),
        ("while True: print('x' * 1000)", "output", None),
    ],
)
async def test_how_a_program_ended_is_told(
    source: str, end_reason: str, status: int | None
) -> None:
    ran = await run(source)
    assert ran.end_reason == end_reason
    assert status is None or ran.status == status
    assert len(ran.stdout) <= LIMITS.output


async def test_what_it_started_ends_with_it() -> None:
    source = (
        "import os, time\npid = os.fork()\nif not pid:\n    time.sleep(30)\n"
        "    os._exit(0)\nprint(pid)"
    )
    ran = await run(source)
    assert ran.end_reason == "exit"
    for _ in range(100):
        if not os.access(f"/proc/{int(ran.stdout)}/exe", os.X_OK):
            return
        await asyncio.sleep(0.02)
    pytest.fail("it is still there")


async def test_a_run_that_is_interrupted_leaves_no_process() -> None:
    async with UnsafeSandbox(1).open("import time\ntime.sleep(60)", LIMITS) as session:
        task = asyncio.create_task(session.run(b""))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not [line for line in await asyncio.to_thread(children) if "solution.py" in line]


async def test_programs_wait_for_a_slot_and_what_belongs_to_tests_does_not() -> None:
    sandbox = UnsafeSandbox(1)
    async with sandbox.open("", LIMITS):
        async with sandbox.open("", LIMITS, role="checker"), sandbox.open("", LIMITS, role="tests"):
            pass
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), sandbox.open("", LIMITS):
                pass
    async with sandbox.open("", LIMITS, role="candidate"):
        pass


def children() -> list[str]:
    mine = str(os.getpid())
    return subprocess.run(
        ["ps", "--ppid", mine, "-o", "args="], capture_output=True, text=True, check=False
    ).stdout.splitlines()


def assert_confined(findings: Findings) -> None:
    """The programs that may do what they do did it, and the others were refused."""
    added, who, threads, read, forked, connected, listed, sized = findings.runs
    assert (added.end_reason, added.stdout) == ("exit", b"7\n")
    assert who.stdout == b"True True {}\n"
    assert (threads.stdout, threads.stderr) == (b"7\n", b"")
    assert (sized.stdout, sized.stderr) == (b"b'34\\n' b'34\\n'\n34\n\n", b"")
    for refused, why in (
        (read, b"FileNotFoundError: [Errno 2]"),
        (forked, b"PermissionError: [Errno 1]"),
        (connected, b"PermissionError: [Errno 1]"),
        (listed, b"FileNotFoundError: [Errno 2]"),
    ):
        assert (refused.end_reason, refused.status, refused.stdout) == ("exit", 1, b"")
        assert refused.stderr.rstrip().splitlines()[-1].startswith(why)


@pytest.fixture
def as_nobody() -> str:
    """An interpreter for an ordinary user; only root can become one."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root on Linux, to become somebody else")
    return public_python()


@pytest.mark.parametrize("ordinary", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_confines_root_and_an_ordinary_user(
    level: Level, ordinary: bool, request: pytest.FixtureRequest
) -> None:
    need_level(level)
    python = request.getfixturevalue("as_nobody") if ordinary else None
    findings = under(Circumstances(ordinary=ordinary, level=level, python=python))
    assert findings.found.level == level
    assert_confined(findings)


@pytest.mark.parametrize("ordinary", [False, True])
def test_in_a_container_landlock_is_found_and_bubblewrap_explained(
    ordinary: bool, request: pytest.FixtureRequest
) -> None:
    need_level("landlock")
    python = request.getfixturevalue("as_nobody") if ordinary else None
    findings = under(Circumstances(container=True, ordinary=ordinary, python=python))
    assert findings.found.level == "landlock"
    (reason,) = findings.found.reasons
    assert reason.startswith("bubblewrap needs user namespaces")
    assert_confined(findings)


def test_without_landlock_and_namespaces_system_calls_are_still_filtered() -> None:
    need_level("seccomp")
    findings = under(Circumstances(container=True, old=True))
    assert findings.found.level == "seccomp"
    assert [reason for reason in findings.found.reasons if "Landlock" in reason]
    assert_confined(findings)


@pytest.fixture
def fresh() -> Iterator[None]:
    levels.find_level.cache_clear()
    yield
    levels.find_level.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_where_bubblewrap_is_missing_it_is_said_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need_level("seccomp")
    monkeypatch.setenv("PATH", "")
    found = levels.find_level()
    assert found.level in ("landlock", "seccomp")
    assert found.reasons[0] == "bubblewrap is not installed: apt-get install bubblewrap"


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64")])
def test_without_a_sandbox_nothing_is_run_and_the_ways_out_are_named(
    monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(InvalidInput) as refused:
        levels.open_sandbox()
    last_error = str(refused.value)
    assert "`unsafe`" in last_error
    assert "use Linux" in last_error
    assert "\n" not in last_error
    assert levels.open_sandbox(unsafe=True).level == "none"


@pytest.mark.usefixtures("fresh")
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_where_no_level_holds_every_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_find_problem", lambda *_: "refused")
    assert levels.find_level().level == "none"
    assert levels.find_level("landlock").level == "none"
    assert len(levels.find_level().reasons) >= 3


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it on Linux")

SECONDS = 0.25
NEARLY = "import time\nwhile time.process_time() < 0.2: pass\nprint('done')"
IN_A_THREAD = (
    "import threading, time\ndef work():\n    while time.process_time() < 0.2: pass\n    print('done')\n"
    "thread = threading.Thread(target=work)\nthread.start()\nthread.join()"
)
COMPUTE = """
import time
def compute(until):
    while time.process_time() < until: pass
    return 1
"""
ASLEEP = "import time\ntime.sleep(600)"


async def opened(kind: str) -> Sandbox:
    """A sandbox that is warm before the machine is busy."""
    if kind == "none":
        return UnsafeSandbox(1)
    if find_level().level not in ("bubblewrap", "landlock", "seccomp"):
        pytest.skip("no sandbox works on this machine")
    sandbox = open_sandbox(workers=1)
    async with sandbox.open("", RunLimits()) as session:
        await session.run(b"")
    return sandbox


@on_linux
@pytest.mark.parametrize("kind", ["a sandbox", "none"])
async def test_on_a_busy_machine_a_program_within_its_processor_time_is_not_called_slow(
    kind: str,
) -> None:
    sandbox, limits = await opened(kind), RunLimits(seconds=SECONDS)
    with busy_cores():
        for source in (NEARLY, IN_A_THREAD):
            async with sandbox.open(source, limits) as session:
                ran = await session.run(b"")
            assert (ran.end_reason, ran.stdout) == ("exit", b"done\n"), ran
        async with sandbox.open(ASLEEP, limits) as session:
            ran = await session.run(b"")
        assert ran.end_reason == "wall"
        assert max_idle_seconds(SECONDS) <= ran.wall < 10 * max_idle_seconds(SECONDS)
    await sandbox.close()


@on_linux
async def test_on_a_busy_machine_a_function_and_its_tests_may_wait_for_each_other() -> None:
    sandbox = await opened("a sandbox")
    tests = f"{COMPUTE}assert compute(0.1) == compute(0.2) == slow(0.1) == slow(0.2) == 1"
    problem = Problem(
        id="slow",
        statement="Take your time.",
        kind="function",
        entry_point="slow",
        time_limit_s=SECONDS,
        public_tests=(Example(code=tests),),
    )
    with busy_cores():
        program = COMPUTE.replace("compute", "slow")
        examined = await ProgramExaminer(sandbox).examine(problem, program, "public")
    assert examined.verdict is CodeVerdict.ACCEPTED, examined
    await sandbox.close()


@on_linux
def test_a_process_that_computes_is_never_idle_and_one_that_sleeps_always() -> None:
    idle = {"while True: pass": IdleTimer(), ASLEEP: IdleTimer()}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", f"print(flush=True)\n{source}"], stdout=subprocess.PIPE
        )
        for source in idle
    ]
    try:
        for process in started:
            assert process.stdout
            process.stdout.read(1)
        for one, process in zip(idle.values(), started, strict=True):
            handle = os.pidfd_open(process.pid)
            assert pid_of(handle) == process.pid
            os.close(handle)
            one.add(process.pid)
        # A wait for a core is known only once it is over, so that a busy machine may need several looks.
        until = time.monotonic() + PATIENCE
        while (shares := idle_shares(*idle.values())) != ["never", "always"]:
            assert time.monotonic() < until, shares
    finally:
        for process in started:
            process.kill()
            process.communicate()


def idle_shares(*timers: IdleTimer) -> list[str]:
    before, began = [one.update() for one in timers], time.monotonic()
    time.sleep(0.5)
    elapsed = time.monotonic() - began
    shares = [(one.update() - was) / elapsed for one, was in zip(timers, before, strict=True)]
    return ["never" if share < 0.2 else "always" if share > 0.8 else "partly" for share in shares]


@on_linux
def test_of_an_unknown_process_the_clock_runs_as_fast_as_the_machine_is_free() -> None:
    unknown = IdleTimer()
    unknown.add(None, since=10.0)
    assert 0 < unknown.update() <= 10.1
