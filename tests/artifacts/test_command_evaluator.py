"""An evaluator that is a command, in jails that leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import time
import venv
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec.structs import replace
from tests.artifacts.evaluating import (
    command,
    evaluation,
    measure,
    needs_jail,
    opened,
)
from tests.patience import PATIENCE, processes_with

from autoreason.artifacts import command_jail
from autoreason.artifacts.artifact import Evaluation, EvaluationOutcome
from autoreason.artifacts.command_evaluator import CommandEvaluator
from autoreason.artifacts.command_jail import Jail, Mount, resident_bytes
from autoreason.artifacts.evaluators import OpenEvaluation
from autoreason.artifacts.research_task import EvaluationLimits, EvaluationSource
from autoreason.errors import InvalidInput, ProviderFailed

pytestmark = needs_jail

RUNS_IT = """
import subprocess, sys
done = subprocess.run(["artifact", "python", "pack.py"], input="3", capture_output=True, text=True)
sys.stderr.write(done.stderr)
if done.returncode: sys.exit(done.returncode)
give(float(done.stdout))
"""


OUTLIVES = """
import os, signal, sys, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
time.sleep(1000)
"""
"""A process that ignores every signal and leaves its parents."""


async def wait_until_gone(mark: str) -> None:
    """Wait for every process with a word in its command line to end."""
    deadline = time.monotonic() + PATIENCE
    while processes_with(mark):
        assert time.monotonic() < deadline, processes_with(mark)
        await asyncio.sleep(0.05)


async def test_the_artifact_runs_in_a_jail_of_its_own_as_any_process() -> None:
    for unsafe, level in ((False, "bubblewrap"), (True, "none")):
        async with opened(command(RUNS_IT), apart=True, unsafe=unsafe) as client:
            result = await client.measure(evaluation("print(int(input()) ** 2)"))
            assert (result.value, result.level, client.reply.level) == (9.0, level, level)
            failed = await client.measure(evaluation("raise ValueError('too small')"))
            assert failed.outcome == EvaluationOutcome.FAILED
            assert "too small" in failed.detail


async def test_seed_items_and_metrics_reach_and_leave_the_evaluator() -> None:
    source = command(
        """
        items = [json.loads(line) for line in open(os.environ["AUTOREASON_ITEMS"])]
        text = open(os.environ["AUTOREASON_ARTIFACT"] + "/prompt.md").read()
        give({"score": len(text), "seed": int(os.environ["AUTOREASON_SEED"]), "items": items})
        """,
        items=(10, 20, 30),
    )
    result = await measure(source, evaluation("four", path="prompt.md", seed=5, items=(2, 0)))
    assert result.metrics == {"score": 4.0, "seed": 5.0}
    assert result.by_item == (30.0, 10.0)


HERE = "the artifact is in the folder $AUTOREASON_ARTIFACT"
NUMBER = 'print(score, file=open(int(os.environ["AUTOREASON_RESULT"]), "w"))'


async def test_a_command_that_is_not_there_or_returns_nothing_is_told_what_to_do() -> None:
    result = await measure(command("print(0.93)"))
    assert result.outcome == EvaluationOutcome.INVALID
    assert HERE in result.detail
    assert NUMBER in result.detail
    assert result.tail == "0.93\n"
    result = await measure(EvaluationSource(evaluate="no-such-program --help"))
    assert result.outcome == EvaluationOutcome.EVALUATOR_ERROR
    assert "no-such-program" in result.detail


@pytest.mark.parametrize(
    ("evaluate", "code"),
    [
        ("python", "print(len(open('config.toml').read()))"),
        ("python", "import solution\nprint(solution.x)"),
        ("sh", "cat ./config.toml || exit 1"),
    ],
)
async def test_a_first_evaluator_is_told_where_the_artifact_is_and_where_the_number_goes(
    evaluate: str, code: str
) -> None:
    files = dict.fromkeys(("config.toml", "solution.py"), "x = 1\n")
    source = EvaluationSource(evaluate=f"{evaluate} score", files={"score": code.encode()})
    result = await measure(source, Evaluation(files=files, seed=0))
    assert result.outcome == EvaluationOutcome.FAILED
    for part in (HERE, "descriptor $AUTOREASON_RESULT", NUMBER, 'echo "$score" >&3'):
        assert part in result.detail


async def test_other_files_that_are_missing_are_named_without_a_word_of_the_artifact() -> None:
    for missing in ("other.toml", "/artifact/pack.py/x", "lib/pack.py", "pack.python"):
        result = await measure(command(f"open({missing!r})"), evaluation(path="pack.py"))
        assert result.detail.endswith(f"{missing!r}")


KEYRING = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
first = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
answers = []
for ring in (-3, -4, -5):
    for call in (
        (first, b"user", b"autoreason-evaluation", b"kept", 4, ctypes.c_long(ring)),
        (first + 1, b"user", b"autoreason-evaluation", None, ctypes.c_long(ring)),
        (first + 2, 10, ctypes.c_long(ring), b"user", b"autoreason-evaluation", 0),
    ):
        answers.append(libc.syscall(*call) == -1 and ctypes.get_errno() == errno.EPERM)
print(sum(answers))
"""


NAMESPACES = """
import ctypes, errno, os, signal, subprocess, threading
libc = ctypes.CDLL(None, use_errno=True)
clone, clone3, setns = {"x86_64": (56, 435, 308), "aarch64": (220, 435, 268)}[os.uname().machine]
flags = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
refused = [libc.unshare(each) == -1 and ctypes.get_errno() == errno.EPERM for each in (*flags, 0x80)]
for each in flags:
    child = libc.syscall(clone, each | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0: os._exit(0)
    refused.append(child == -1 and ctypes.get_errno() == errno.EPERM)
refused.append(libc.syscall(clone3, 0, 0) == -1 and ctypes.get_errno() == errno.ENOSYS)
own = os.open("/proc/self/ns/mnt", os.O_RDONLY)
refused.append(libc.syscall(setns, own, 0) == -1 and ctypes.get_errno() == errno.EPERM)
thread = threading.Thread(target=lambda: refused.append(True))
thread.start()
thread.join()
refused.append(subprocess.run(["true"]).returncode == 0)
refused.append(os.waitpid(os.fork() or os._exit(0), 0)[1] == 0)
print(sum(refused))
"""


async def test_no_namespace_is_made_or_entered_and_threads_and_processes_are() -> None:
    source = command(f"{NAMESPACES}\nif not all(refused): sys.exit(1)\n{RUNS_IT}")
    assert (await measure(source, evaluation(NAMESPACES))).value == 20.0


async def test_no_keyring_is_read_or_keeps_anything_for_the_next_evaluation() -> None:
    source = command(f"{KEYRING}\nif sum(answers) < 9: sys.exit(1)\n{RUNS_IT}")
    assert (await measure(source, evaluation(KEYRING))).value == 9.0


async def test_the_jail_has_no_network_no_home_and_nothing_to_write_to(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    source = command(
        f"""
        import socket
        faults = []
        for path in ("{secret}", os.path.expanduser("~root/.bashrc"), "/etc/shadow"):
            try: open(path).read(); faults.append(path)
            except OSError: pass
        for path in ("evaluate.py", "/task/new", "/artifact/pack.py", "/usr/x", "/x", "/dev/x"):
            try: open(path, "a"); faults.append(path)
            except OSError: pass
        try: socket.create_connection(("127.0.0.1", 22), 1); faults.append("network")
        except OSError: pass
        open("/tmp/fine", "w").write("x")
        if os.getuid() == 0 or len(os.listdir("/proc")) > 500: faults.append("root")
        if any("KEY" in name for name in os.environ): faults.append("keys")
        print(faults)
        give(len(faults))
        """
    )
    os.environ["SOME_API_KEY"] = "secret"
    try:
        result = await measure(source)
    finally:
        del os.environ["SOME_API_KEY"]
    assert result.value == 0.0, result.tail


async def test_an_evaluator_past_its_deadline_ends_with_all_that_it_started() -> None:
    source = command(
        """
        import signal, subprocess, sys, time
        child = sys.argv[1]
        subprocess.Popen([sys.executable, "-c", child, "outlives-its-evaluation"])
        subprocess.Popen(["artifact", "python", "-c", child, "outlives-its-evaluation"])
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.environ["AUTOREASON_SEED"] == "1":
            time.sleep(1)
            give(1)
            sys.exit()
        time.sleep(1000)
        """,
        limits=EvaluationLimits(seconds=4),
    )
    source = replace(source, evaluate=f"python evaluate.py {shlex.quote(OUTLIVES)}")
    async with opened(source) as client:
        late = await client.measure(evaluation())
        assert late.outcome == EvaluationOutcome.TIMEOUT
        assert "4 s" in late.detail
        await wait_until_gone("outlives-its-evaluation")
        ended = await client.measure(evaluation(seed=1))
        assert ended.value == 1.0
        await wait_until_gone("outlives-its-evaluation")


async def test_a_killed_evaluator_leaves_no_process_of_its_jails() -> None:
    source = EvaluationSource(evaluate="sleep 98765")
    async with opened(source, apart=True) as client:
        evaluating = asyncio.create_task(client.measure(evaluation()))
        deadline = time.monotonic() + PATIENCE
        while not any("bwrap" not in each for each in processes_with("sleep 98765").values()):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        assert client._connection is not None
        client._opening = OpenEvaluation(digest="not saved", run="r")
        os.kill(client._connection._process.pid, 9)
        with pytest.raises(ProviderFailed, match="died and cannot be started again"):
            await evaluating
        await wait_until_gone("sleep 98765")


async def test_processes_that_fork_endlessly_are_limited() -> None:
    source = command(
        """
        import time
        started = 0
        try:
            for _ in range(500):
                if os.fork() == 0: time.sleep(1000)
                started += 1
        except OSError:
            pass
        give(started)
        """,
        limits=EvaluationLimits(seconds=60, processes=20),
    )
    result = await measure(source)
    assert result.value is not None
    assert result.value < 20


async def test_a_disk_that_is_filled_is_the_evaluations_own() -> None:
    source = command(
        """
        written = 0
        try:
            for number in range(100):
                with open(f"/tmp/{number}", "wb") as file: written += file.write(bytes(1 << 20))
        except OSError:
            pass
        give(written >> 20)
        """,
        limits=EvaluationLimits(seconds=60, disk_mb=8),
    )
    result = await measure(source)
    assert result.value is not None
    assert result.value <= 8


async def test_endless_output_is_ended_and_costs_no_memory() -> None:
    source = EvaluationSource(evaluate="yes out-of-it", limits=EvaluationLimits(seconds=PATIENCE))
    async with opened(source, apart=True) as client:
        assert client._connection is not None
        pid = client._connection._process.pid
        before = resident_bytes(pid)
        result = await client.measure(evaluation())
        grown = resident_bytes(pid) - before
        assert (result.outcome, result.detail) == (
            EvaluationOutcome.FAILED,
            "more than 16 MB were printed",
        )
        assert grown < 64 << 20


async def test_memory_is_limited_for_one_process_and_for_all_together() -> None:
    one = "give(len(bytearray(2 << 30)))"
    several = """
        import subprocess, sys, time
        code = "x = bytearray(80 << 20); x[::4096] = b'1' * len(x[::4096]); import time; time.sleep(60)"
        for _ in range(8): subprocess.Popen([sys.executable, "-c", code])
        time.sleep(60)
        """
    for code in (one, several):
        result = await measure(command(code, limits=EvaluationLimits(seconds=60, memory_mb=256)))
        assert result.outcome == EvaluationOutcome.MEMORY
        assert "256 MB" in result.detail


async def test_the_jail_of_the_artifact_has_neither_evaluator_nor_items_nor_result() -> None:
    artifact = """
        import os
        faults = []
        for path in ("/task", "/items.jsonl", "/run/autoreason"):
            if os.path.exists(path): faults.append(path)
        for number in range(3, 64):
            try: os.write(number, b"99"); faults.append(number)
            except OSError: pass
        for name in ("/artifact/pack.py", "/artifact/new"):
            try: open(name, "a"); faults.append(name)
            except OSError: pass
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try: line = open(f"/proc/{pid}/cmdline").read()
            except OSError: continue
            if "evaluate" in line: faults.append(line)
        if any(name.startswith("AUTOREASON") for name in os.environ): faults.append("environment")
        print(len(faults))
        """
    result = await measure(command(RUNS_IT, items=("a",)), evaluation(artifact, items=(0,)))
    assert result.value == 0.0, result


async def test_an_evaluator_that_stops_waiting_for_the_artifact_ends_it() -> None:
    source = command(
        """
        import subprocess
        try:
            subprocess.run(["artifact", "python", "pack.py", "never-ends-by-itself"], timeout=2)
        except subprocess.TimeoutExpired:
            give(1)
        import time
        time.sleep(float(os.environ["AUTOREASON_SEED"]))
        """
    )
    async with opened(source) as client:
        evaluating = asyncio.create_task(
            client.measure(evaluation("import time; time.sleep(1000)", seed=1))
        )
        assert (await evaluating).value == 1.0
    await wait_until_gone("never-ends-by-itself")


def test_without_a_jail_a_command_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "autoreason.artifacts.command_jail.jail_problem", lambda: "bwrap is missing"
    )
    source = EvaluationSource(evaluate="true")
    with pytest.raises(InvalidInput, match=r"bwrap is missing.*`unsafe`"):
        CommandEvaluator(source, unsafe=False)
    evaluator = CommandEvaluator(source, unsafe=True)
    assert evaluator.level == "none"
    asyncio.run(evaluator.close())


def listed_in(jail: Jail, folder: Path) -> list[str]:
    """Names in a folder as a jail shows it."""
    process = jail.start(["ls", "-A", str(folder)], {"PATH": "/usr/bin"}, streams=(-3, -1, -1))
    listed, errors = process.communicate(timeout=PATIENCE)
    assert not process.returncode, errors
    return listed.decode().split()


def test_a_hidden_folder_is_empty_but_for_what_is_mounted_inside_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    task = real / "project" / "task"
    for folder in (real / "seen", task, task / "tool"):
        folder.mkdir(parents=True)
        (folder / "file").touch()
    link.symlink_to(real / "project")
    jail = Jail(
        folder="/tmp",
        limits=EvaluationLimits(),
        mounts=tuple(Mount(str(each), str(each)) for each in (task / "tool", real, link)),
        hidden=(task,),
        uid=command_jail.jail_uid(0),
    )
    assert listed_in(jail, real / "seen") == ["file"]
    assert listed_in(jail, task) == ["tool"]
    assert listed_in(jail, task / "tool") == ["file"]
    assert listed_in(jail, link / "task") == []


def test_of_an_environment_only_what_an_interpreter_needs_is_mounted(tmp_path: Path) -> None:
    for name in ("bin", "lib/python3.11", "share/autoreason", "task"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("bin/tool", "bin/python3", "pyvenv.cfg", "sealed.jsonl"):
        (tmp_path / name).touch()
    found = command_jail._mounts_for(tmp_path / "bin/python3")
    mounted = {str(Path(mount.source).relative_to(tmp_path)) for mount in found}
    assert mounted == {"bin", "lib", "pyvenv.cfg"}


async def test_an_environment_in_the_tasks_own_folder_shows_nothing_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path, with_pip=False)
    for name in ("sealed.jsonl", "evaluate.py"):
        (tmp_path / name).touch()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    spies = f"""
        import os, sys
        assert sys.prefix == {str(tmp_path)!r}, sys.prefix
        print(len(set(os.listdir(sys.prefix)) - {{"bin", "include", "lib", "lib64", "pyvenv.cfg"}}))
        """
    source = replace(command(RUNS_IT), folder=str(tmp_path))
    async with opened(source, apart=True, probe=str(tmp_path / "lib"), start={}) as client:
        result = await client.measure(evaluation(spies))
        assert result.value == 0.0, result.tail
        assert client.reply.reach.exposed == []
    async with opened(source, probe=str(tmp_path / "lib"), start={}, unsafe=True) as client:
        assert client.reply.reach.exposed == [f"{tmp_path}/evaluate.py"]


_OWNERS = """
import os, signal, sys, time
from autoreason.artifacts.command_jail import Jail, jail_uid
from autoreason.artifacts.command_jail import start_watch
from autoreason.artifacts.research_task import EvaluationLimits

null = os.open(os.devnull, os.O_RDWR)
for moment in range(int(sys.argv[3])):
    reading, writing = os.pipe()
    owner = os.fork()
    if owner == 0:
        start_watch()
        jail = Jail(folder="/tmp", limits=EvaluationLimits(), uid=jail_uid(0), unsafe=sys.argv[2] == "unsafe")
        os.write(writing, b"1")
        jail.start(["sleep", sys.argv[1]], {"PATH": "/usr/bin:/bin"}, streams=(null, null, null))
        signal.pause()
    os.read(reading, 1)
    time.sleep(moment / 1250)
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
"""
"""Kills processes, each 0.8 ms later in the start of its jail than the one before."""


@pytest.mark.parametrize(("kind", "times"), [("jailed", 20), ("unsafe", 5)])
def test_a_jail_does_not_survive_the_process_that_was_starting_it(kind: str, times: int) -> None:
    mark = f"98765.{uuid4().int % 10**12}"
    subprocess.run([sys.executable, "-c", _OWNERS, mark, kind, str(times)], check=True)
    deadline = time.monotonic() + PATIENCE
    while left := processes_with(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)
