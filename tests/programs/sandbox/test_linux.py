"""Servers are started once, begin anew when lost, and leave nobody behind."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.programs.sandbox.rig import LEVELS, need_level, rigged

from autoreason.programs.sandbox.base import Level, RunLimits
from autoreason.programs.sandbox.levels import find_level
from autoreason.programs.sandbox.linux import SANDBOX_FOLDER, LinuxSandbox, bubblewrap, unused_uids

needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


def test_root_becomes_a_user_who_is_nobody_and_another_one_for_each_server() -> None:
    uids = [uid for number in range(8) for uid in unused_uids(number)]
    assert len(set(uids)) == len(uids) == 64
    assert not {entry.pw_uid for entry in pwd.getpwall()} & set(uids)


@needs_bubblewrap
def test_bubblewrap_shows_the_interpreter_and_its_libraries_and_no_more() -> None:
    command = bubblewrap("/opt/python/bin/python3.11")
    shown = [command[at + 1] for at, word in enumerate(command) if word == "--ro-bind"]
    assert {"/opt/python/bin/python3.11", "/opt/python/lib", str(SANDBOX_FOLDER)} <= set(shown)
    assert not {"/", "/home", "/etc", "/proc", "/dev", "/tmp", "/usr", str(Path.cwd())} & set(shown)
    assert "--unshare-net" in command
    assert "--unshare-pid" in command
    assert "--proc" not in command
    assert "--bind" not in command


each_level = pytest.mark.parametrize("level", LEVELS)
LOOP = "print(1, flush=True)\nwhile True: pass"
SLEEP = "import time\ntime.sleep(1000)"
SIZES: dict[Level, int] = {"bubblewrap": 7, "landlock": 3, "seccomp": 3}
"""How many processes a worker with a test under way is made of, at least."""


def family(root: int) -> set[int]:
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found: set[int] = set()
    fresh = [root]
    while fresh:
        fresh = [child for parent in fresh for child in parents.get(parent, [])]
        found.update(fresh)
    return found


def gone(pids: set[int], seconds: float = PATIENCE) -> bool:
    last = time.monotonic() + seconds
    while any(is_alive(pid) for pid in pids):
        if time.monotonic() > last:
            return False
        time.sleep(0.01)
    return True


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def grown(before: set[int], count: int) -> set[int]:
    for _ in range(int(PATIENCE / 0.02)):
        if len(now := family(os.getpid()) - before) >= count:
            return now
        await asyncio.sleep(0.02)
    raise TimeoutError(f"only {len(now)} of {count} processes were started")


@each_level
def test_nobody_is_left_after_closing_even_in_the_middle_of_a_run(level: Level) -> None:
    before = family(os.getpid())
    with rigged(level) as rig:

        async def begin() -> set[int]:
            async with rig.sandbox.open(LOOP, RunLimits(seconds=60)) as session:
                running = asyncio.create_task(session.run(b""))
                started = await grown(before, SIZES[level])
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            return started

        started = rig.runner.run(begin())
    assert gone(started)


CLIENT = """
import asyncio, sys
from autoreason.programs.sandbox.base import RunLimits
from autoreason.programs.sandbox.levels import open_sandbox

async def main():
    sandbox = open_sandbox(level=sys.argv[1], workers=2)
    async with sandbox.open(sys.argv[2], RunLimits(seconds=60)) as a:
        async with sandbox.open(sys.argv[2], RunLimits(seconds=60)) as b:
            await asyncio.gather(a.run(b""), b.run(b""))

asyncio.run(main())
"""


@each_level
@pytest.mark.parametrize("source", [LOOP, SLEEP], ids=["busy", "asleep"])
def test_nobody_outlives_a_client_that_was_killed(level: Level, source: str) -> None:
    need_level(level)
    with subprocess.Popen([sys.executable, "-c", CLIENT, level, source]) as client:
        try:
            last = time.monotonic() + PATIENCE
            # The client tries the level first; what that started ends again.
            while len(started := family(client.pid)) < 2 * SIZES[level]:
                assert time.monotonic() < last
                time.sleep(0.02)
        finally:
            client.kill()
    assert gone(started)


@each_level
def test_a_cancelled_run_ends_at_once_and_frees_its_slot(level: Level) -> None:
    with rigged(level) as rig:

        async def cancel_then_run() -> tuple[set[int], bytes]:
            async with rig.sandbox.open("", RunLimits()) as session:
                await session.run(b"")
            server = family(os.getpid())
            async with rig.sandbox.open(SLEEP, RunLimits(seconds=60)) as session:
                running = asyncio.create_task(session.run(b""))
                started = await grown(server, 2)
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            async with rig.sandbox.open("print(1)", RunLimits()) as session:
                ran = await session.run(b"")
            return started, ran.stdout

        started, stdout = rig.runner.run(cancel_then_run())
        assert started
        assert gone(started)
        assert stdout == b"1\n"


@each_level
def test_a_killed_server_is_a_broken_run_and_the_session_begins_anew(level: Level) -> None:
    with rigged(level) as rig:

        async def kill_the_server() -> list[tuple[str, str]]:
            source = "import time\ntime.sleep(int(input()))"
            async with rig.sandbox.open(source, RunLimits()) as session:
                first = await session.run(b"0")
                idle = family(os.getpid())
                running = asyncio.create_task(session.run(b"20"))
                await grown(idle, 1)
                for pid in sorted(family(os.getpid())):
                    # With the death of one the kernel ends others.
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                runs = [first, await running, await session.run(b"0")]
                return [(each.end_reason, each.detail) for each in runs]

        first, killed, last = rig.runner.run(kill_the_server())
        assert first == last == ("exit", "")
        # The reader of the run adds that the sandbox failed.
        assert killed == ("broken", "the fork server died")


def test_each_run_is_alone_among_the_processes_it_could_see() -> None:
    need_level("bubblewrap")
    if not find_level("bubblewrap").namespaces:
        pytest.skip("no process namespace for each test here")
    with rigged("bubblewrap") as rig:
        runs = rig.runs("import os\nprint(os.getpid(), os.getppid())", [b"", b"", b""])
    # Process 1 keeps the namespace, and the parent is outside.
    assert [ran.stdout for ran in runs] == [b"2 0\n"] * 3


def test_programs_wait_for_a_slot_and_their_tests_do_not() -> None:
    with rigged("seccomp", workers=1) as rig:

        async def fill() -> tuple[bytes, bool]:
            async with rig.sandbox.open("print(1)", RunLimits(), role="program"):
                async with rig.sandbox.open("print(2)", RunLimits(), role="checker") as checker:
                    checked = await checker.run(b"")
                other = asyncio.create_task(enter(rig.sandbox))
                done, _ = await asyncio.wait([other], timeout=0.2)
            await other
            return checked.stdout, bool(done)

        assert rig.runner.run(fill()) == (b"2\n", False)


async def enter(sandbox: LinuxSandbox) -> None:
    async with sandbox.open("", RunLimits()):
        pass


def test_as_many_run_at_once_as_there_are_workers() -> None:
    with rigged("seccomp", workers=3) as rig:

        async def one(source: str) -> None:
            async with rig.sandbox.open(source, RunLimits(seconds=60)) as session:
                await session.run(b"")

        async def together() -> None:
            await asyncio.gather(*(one("") for _ in range(3)))
            idle = family(os.getpid())
            running = asyncio.gather(*(one(SLEEP) for _ in range(3)))
            # For each of them one that compiled it, and one that runs it.
            await grown(idle, 6)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        rig.runner.run(together())


def test_descriptors_do_not_pile_up() -> None:
    with rigged("seccomp") as rig:
        rig.run("print(1)")
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            rig.runs("print(1)", [b""] * 5)
        assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become several users")
@pytest.mark.parametrize("level", ["landlock", "seccomp"])
def test_solutions_at_the_same_time_are_different_users(level: Level) -> None:
    source = "import os\nprint(os.getuid())"
    with rigged(level) as rig:

        async def both() -> set[bytes]:
            async with (
                rig.sandbox.open(source, RunLimits()) as one,
                rig.sandbox.open(source, RunLimits(), role="checker") as other,
            ):
                return {(await each.run(b"")).stdout for each in (one, other)}

        assert len(rig.runner.run(both())) == 2
