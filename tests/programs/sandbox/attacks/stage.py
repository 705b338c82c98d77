"""All attacks, tried as one user in one sandbox in a process of its own: a test may be root and try as another."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - later its file may be out of reach
import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from textwrap import dedent

import msgspec
from msgspec import Struct
from tests.programs.sandbox.attacks.attack import SMALL, Attack, AttackTrace
from tests.programs.sandbox.attacks.programs.files import FILES
from tests.programs.sandbox.attacks.programs.functions import FUNCTIONS
from tests.programs.sandbox.attacks.programs.interference import INTERFERENCE
from tests.programs.sandbox.attacks.programs.kernel import KERNEL
from tests.programs.sandbox.attacks.programs.network import NETWORK
from tests.programs.sandbox.attacks.programs.others import OTHERS
from tests.programs.sandbox.attacks.programs.resources import RESOURCES
from tests.programs.sandbox.attacks.programs.secrets import SECRETS
from tests.programs.sandbox.attacks.programs.survival import SURVIVAL
from tests.programs.sandbox.attacks.programs.verdicts import VERDICTS
from tests.programs.sandbox.attacks.scene import (
    Scene,
    Watch,
    adopt_orphans,
    bearing,
    below,
    status_of,
)

from autoreason.programs.assignment import CodeVerdict, Example
from autoreason.programs.examiner.examiner import ProgramExaminer
from autoreason.programs.problems.problem import Problem
from autoreason.programs.sandbox import fork_server, linux  # noqa: F401 - as above
from autoreason.programs.sandbox.base import Level, ProgramRole, ProgramRun, RunLimits, Sandbox
from autoreason.programs.sandbox.levels import open_sandbox

ATTACKS: tuple[Attack, ...] = (
    *(*SECRETS, *OTHERS, *FILES, *NETWORK, *RESOURCES),
    *(*SURVIVAL, *VERDICTS, *INTERFERENCE, *KERNEL),
)

_PATIENCE = 4.0


class PlainSession:
    def __init__(self, python: str, file: Path) -> None:
        self._command = [python, str(file)]

    async def run(self, stdin: bytes, **_: object) -> ProgramRun:
        return await asyncio.to_thread(self._run, stdin)

    def _run(self, stdin: bytes) -> ProgramRun:
        began = time.monotonic()
        try:
            done = subprocess.run(
                self._command, input=stdin, capture_output=True, timeout=_PATIENCE
            )
        except subprocess.TimeoutExpired:
            return ProgramRun(end_reason="wall", wall=time.monotonic() - began)
        return ProgramRun(
            end_reason="exit" if done.returncode >= 0 else "signal",
            status=abs(done.returncode),
            wall=time.monotonic() - began,
            stdout=done.stdout,
            stderr=done.stderr,
        )


class PlainSandbox:
    """`subprocess.run`, which holds nothing."""

    def __init__(self, python: str) -> None:
        self.python = python

    @property
    def level(self) -> Level:
        return "none"

    @asynccontextmanager
    async def open(
        self, source: str, _limits: RunLimits, *, role: ProgramRole = "program"
    ) -> AsyncIterator[PlainSession]:
        assert role == "program"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "solution.py"
            file.write_text(source, encoding="utf-8")
            yield PlainSession(self.python, file)

    async def close(self) -> None: ...


AT_ONCE = 4
"""More than cores: many attacks only wait."""
_SUM = "print(sum(map(int, input().split())))"
_NAMED = """
    import ctypes, time
    ctypes.CDLL(None).prctl(15, b'@TOKEN@', 0, 0, 0)
    time.sleep(1)
"""
_SETTLED = 0.03
"""Seconds after which a signal has arrived."""


class AttackResult(Struct, frozen=True):
    name: str
    broken: str = ""
    """What shows that it succeeded; empty where the sandbox held."""
    output: str = ""
    """The end of what it wrote, for a reader of the failure."""


async def try_all(sandbox: Sandbox, attacks: Sequence[Attack], root: Path) -> list[AttackResult]:
    """Several at a time; one by one those whose appetite is measured. Then an honest program."""
    await _warm(sandbox)
    before = len(below())
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(attack: Attack) -> AttackResult:
        async with gate:
            return await try_one(sandbox, attack, root)

    together = [attack for attack in attacks if not attack.alone]
    tried = list(await asyncio.gather(*map(one, together)))
    tried += [await try_one(sandbox, attack, root) for attack in attacks if attack.alone]
    after = [await _powerless(sandbox), await _honest(sandbox), await _nothing_left(before)]
    return [*tried, *after]


async def try_one(sandbox: Sandbox, attack: Attack, root: Path) -> AttackResult:
    scene = Scene(root)
    try:
        seen = await _look_at(sandbox, attack, scene)
        broken = attack.sign(seen, scene)
        if not broken and any(run.end_reason == "broken" for run in seen.runs):
            broken = f"it broke the sandbox: {seen.runs[-1].detail}"
        return AttackResult(attack.name, broken, seen.text[-600:])
    finally:
        scene.clear()


async def _look_at(sandbox: Sandbox, attack: Attack, scene: Scene) -> AttackTrace:
    words = scene.words
    program = attack.program(words)
    calling = asyncio.create_task(_call(int(words["FREE"])))
    with _watching(attack) as watch:
        runs, wall = await _run(sandbox, attack, program, scene.given)
    called = calling.done()
    calling.cancel()
    await asyncio.sleep(_SETTLED)
    return AttackTrace(
        runs=runs,
        wall=wall,
        processes=watch.processes if watch else 0,
        threads=watch.threads if watch else 0,
        memory=watch.memory if watch else 0,
        survivors=await _survivors(scene.token),
        heard=scene.heard(),
        called=called,
        appeared=scene.appeared(),
        bystander=scene.harm(),
    )


@contextmanager
def _watching(attack: Attack) -> Iterator[Watch | None]:
    if not attack.alone:
        yield None
        return
    with Watch() as watch:
        yield watch


async def _run(
    sandbox: Sandbox, attack: Attack, program: str, given: str
) -> tuple[tuple[ProgramRun, ...], float]:
    """What each run came to, and how long the longest took, opening included."""
    runs, walls = [], []
    for inputs in ((given, ""), ("",)) if attack.again else (("1 2\n",),):
        async with sandbox.open(program, attack.limits) as session:
            for stdin in inputs:
                began = time.monotonic()
                runs.append(await session.run(stdin.encode()))
                walls.append(time.monotonic() - began)
    return tuple(runs), max(walls)


async def _call(port: int) -> None:
    while True:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        await asyncio.sleep(0.05)


async def _survivors(token: str) -> tuple[str, ...]:
    found = bearing(token)
    if found:
        await asyncio.sleep(0.3)
        found = bearing(token)
    return found


async def _warm(sandbox: Sandbox) -> None:
    async with AsyncExitStack() as stack:
        sessions = [
            await stack.enter_async_context(sandbox.open(_SUM, SMALL)) for _ in range(AT_ONCE)
        ]
        await asyncio.gather(*(session.run(b"1 1\n") for session in sessions))


async def _powerless(sandbox: Sandbox) -> AttackResult:
    """A running program, as the kernel sees it, is nobody and can do nothing."""
    token = secrets.token_hex(6)
    program = dedent(_NAMED).replace("@TOKEN@", token)
    async with sandbox.open(program, RunLimits(seconds=1.0)) as session:
        running = asyncio.create_task(session.run(b""))
        about: dict[str, str] = {}
        while not about and not running.done():
            await asyncio.sleep(0.02)
            seen = [status_of(process.pid) for process in below()]
            about = next((each for each in seen if each.get("Name") == token), {})
        await running
    powers = [
        name for name in ("CapInh", "CapPrm", "CapEff", "CapAmb") if int(about.get(name, "1"), 16)
    ]
    held = about.get("NoNewPrivs") == "1" and about.get("Seccomp") == "2"
    root = "0" in about.get("Uid", "0").split() + about.get("Gid", "0").split()
    broken = ", ".join([*powers, *(["not held"] if not held else []), *(["root"] if root else [])])
    return AttackResult(
        "a running program as the kernel sees it", broken and f"it has {broken}", str(about)
    )


async def _honest(sandbox: Sandbox) -> AttackResult:
    async with sandbox.open(_SUM, SMALL) as session:
        run = await session.run(b"20 22\n")
    fine = (run.end_reason, run.status, run.stdout) == ("exit", 0, b"42\n")
    return AttackResult(
        "an honest program after all of them", "" if fine else f"it was hindered: {run}"
    )


async def _nothing_left(before: int) -> AttackResult:
    for _ in range(20):
        extra = len(below()) - before
        if extra <= 0:
            break
        await asyncio.sleep(0.05)
    broken = f"{extra} processes are left" if extra > 0 else ""
    return AttackResult("processes left after all of them", broken)


_TESTS = """\
ANSWER = {answer!r}
first = secret(1)
second = secret([first])
assert first == ANSWER
assert second == ANSWER
"""


async def try_functions(sandbox: Sandbox, names: Sequence[str] = ()) -> list[AttackResult]:
    gate = asyncio.Semaphore(AT_ONCE)
    examiner = ProgramExaminer(sandbox)

    async def one(name: str) -> AttackResult:
        async with gate:
            if isinstance(sandbox, PlainSandbox):
                return await asyncio.to_thread(_try_plainly, name, sandbox.python)
            return await _try(examiner, name)

    return list(
        await asyncio.gather(*(one(name) for name in FUNCTIONS if not names or name in names))
    )


async def _try(examiner: ProgramExaminer, name: str) -> AttackResult:
    tests = _TESTS.format(answer=secrets.token_hex(12))
    problem = Problem(
        id="secret",
        statement="Say what nobody told you.",
        kind="function",
        entry_point="secret",
        time_limit_s=0.4,
        memory_limit_mb=128,
        public_tests=(Example(code=tests),),
    )
    examined = await examiner.examine(problem, dedent(FUNCTIONS[name]), "public")
    unearned = (CodeVerdict.ACCEPTED, CodeVerdict.SANDBOX_ERROR)
    broken = f"the verdict was {examined.verdict}" if examined.verdict in unearned else ""
    trial = examined.trials[0]
    return AttackResult(name, broken, f"{trial.verdict}: {trial.detail} {trial.trace}"[-600:])


def _try_plainly(name: str, python: str) -> AttackResult:
    tests = _TESTS.format(answer=secrets.token_hex(12))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tested.py"
        file.write_text(dedent(FUNCTIONS[name]) + "\n" + tests, encoding="utf-8")
        try:
            done = subprocess.run(
                [python, file], stdin=subprocess.DEVNULL, capture_output=True, timeout=2
            )
        except subprocess.TimeoutExpired:
            return AttackResult(name)
    output = done.stderr.decode(errors="replace")
    return AttackResult(name, "" if done.returncode else "it passed the tests", output[-600:])


ROOT = Path(__file__).parents[4]
NOBODY = 65534
EVERYBODYS_PYTHON = "/usr/bin/python3"
"""One that an ordinary user may run too; the one we run in may lie in a home."""

_SET_DUMPABLE = 4
_APART = ("unshare", "--mount", "--ipc", "--pid", "--fork", "--mount-proc", "--kill-child")


class Staging(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be tried, and as whom."""

    level: Level
    """Of the sandbox; `none` for no sandbox."""
    ordinary: bool
    """As an ordinary user, even when started by root."""
    names: tuple[str, ...] = ()
    """Attacks; all where there are none."""

    @property
    def attacks(self) -> list[Attack]:
        return [attack for attack in ATTACKS if not self.names or attack.name in self.names]


def stage(staging: Staging) -> list[AttackResult]:
    command = [sys.executable, "-m", __name__, msgspec.json.encode(staging).decode()]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [*_apart(), *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        start_new_session=True,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return msgspec.json.decode(done.stdout, type=list[AttackResult])


@cache
def _apart() -> tuple[str, ...]:
    """What keeps an attack that succeeds from the machine, where we are root and it could do harm."""
    if os.geteuid() != 0 or not shutil.which(_APART[0]):
        return ()
    return _APART if subprocess.run([*_APART, "true"], capture_output=True).returncode == 0 else ()


def become_ordinary() -> None:
    """Somebody without rights for good, whom the kernel treats like any other user."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def _open(level: Level, python: str | None) -> Sandbox:
    if level == "none":
        return PlainSandbox(python or sys.executable)
    opened = open_sandbox(level=level, python=python, workers=AT_ONCE)
    assert opened.level == level
    return opened


def _folder() -> Path:
    root = Path(tempfile.mkdtemp(prefix="attacks-"))
    root.chmod(0o755)
    os.environ["HOME"] = str(root)
    return root


async def hold(staging: Staging, sandbox: Sandbox) -> list[AttackResult]:
    root = _folder()
    try:
        tried = await try_all(sandbox, staging.attacks, root) if staging.attacks else []
        return tried + await try_functions(sandbox, staging.names)
    finally:
        await sandbox.close()
        shutil.rmtree(root, ignore_errors=True)


def main() -> None:
    staging = msgspec.json.decode(sys.argv[1], type=Staging)
    python = None
    adopt_orphans()
    if staging.ordinary and os.geteuid() == 0:
        become_ordinary()
        python = EVERYBODYS_PYTHON
    tried = asyncio.run(hold(staging, _open(staging.level, python)))
    sys.stdout.buffer.write(msgspec.json.encode(tried))


if __name__ == "__main__":
    main()
