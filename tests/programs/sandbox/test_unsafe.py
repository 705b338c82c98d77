"""Without a sandbox there are still limits, an empty environment and an end to every process."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from autoreason.programs.sandbox.base import ProgramRole, ProgramRun, RunLimits
from autoreason.programs.sandbox.levels import UnsafeSandbox

LIMITS = RunLimits(seconds=1, memory=64 << 20, output=1 << 16)


async def run(source: str, stdin: bytes = b"", *, role: ProgramRole = "program") -> ProgramRun:
    """One run of a program."""
    async with UnsafeSandbox(1).open(source, LIMITS, role=role) as session:
        return await session.run(stdin)


async def test_it_reads_and_prints_like_any_program() -> None:
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


async def test_standard_input_is_a_file_of_known_size() -> None:
    source = "import os\nprint(os.fstat(0).st_size, os.read(0, 2), os.lseek(0, 0, 0))"
    assert (await run(source, b"hello")).stdout == b"5 b'he' 0\n"


async def test_nothing_of_the_users_environment_or_folder_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_SECRET", "42")
    ran = await run("import os, sys\nprint('A_SECRET' in os.environ, os.getcwd(), sys.path[0])")
    seen, folder, path = ran.stdout.decode().split()
    assert seen == "False"
    assert folder != os.getcwd()  # noqa: PTH109
    assert path != folder
    assert not os.access(folder, os.F_OK)


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
    """Processes that this one has started and that are still there."""
    mine = str(os.getpid())
    return subprocess.run(
        ["ps", "--ppid", mine, "-o", "args="], capture_output=True, text=True, check=False
    ).stdout.splitlines()


def test_its_level_is_none() -> None:
    assert UnsafeSandbox(1).level == "none"
