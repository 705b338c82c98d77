"""By the clock a run may take as long as the machine makes it wait; what it may not is sleep."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from tests.patience import PATIENCE
from tests.programs.sandbox.busy import busy_cores

from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import Examiner
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox.base import IdleTimer, RunLimits, Sandbox, max_idle_seconds, pid_of
from autoreason.programs.sandbox.levels import UnsafeSandbox, find_level, open_sandbox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it on Linux")

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
        examined = await Examiner(sandbox).examine(problem, program, "public")
    assert examined.verdict is CodeVerdict.ACCEPTED, examined
    await sandbox.close()


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
    """How much of half a second each of them was idle."""
    before, began = [one.update() for one in timers], time.monotonic()
    time.sleep(0.5)
    elapsed = time.monotonic() - began
    shares = [(one.update() - was) / elapsed for one, was in zip(timers, before, strict=True)]
    return ["never" if share < 0.2 else "always" if share > 0.8 else "partly" for share in shares]


def test_where_nothing_is_known_of_a_process_the_clock_runs_as_fast_as_the_machine_is_free() -> (
    None
):
    unknown = IdleTimer()
    unknown.add(None, since=10.0)
    assert 0 < unknown.update() <= 10.1
