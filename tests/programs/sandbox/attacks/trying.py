"""Runs attacks through a sandbox and looks, from outside, at what came of them."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from textwrap import dedent

from msgspec import Struct
from tests.programs.sandbox.attacks.attack import SMALL, Attack, AttackTrace
from tests.programs.sandbox.attacks.processes import Watch, bearing, below, status_of
from tests.programs.sandbox.attacks.scene import Scene

from autoreason.programs.sandbox.base import ProgramRun, RunLimits, Sandbox

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
    """What came of one attack."""

    name: str
    broken: str = ""
    """What shows that it succeeded; empty where the sandbox held."""
    output: str = ""
    """The end of what it wrote, for whoever looks into it."""


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
    """One attack on a scene of its own."""
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
    """Over when somebody answers at that port."""
    while True:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                return
        await asyncio.sleep(0.05)


async def _survivors(token: str) -> tuple[str, ...]:
    """Those that are still there when whatever was ending has ended."""
    found = bearing(token)
    if found:
        await asyncio.sleep(0.3)
        found = bearing(token)
    return found


async def _warm(sandbox: Sandbox) -> None:
    """Have everything started that the sandbox starts only when it is needed."""
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
    """A program that does what it should still can."""
    async with sandbox.open(_SUM, SMALL) as session:
        run = await session.run(b"20 22\n")
    fine = (run.end_reason, run.status, run.stdout) == ("exit", 0, b"42\n")
    return AttackResult(
        "an honest program after all of them", "" if fine else f"it was hindered: {run}"
    )


async def _nothing_left(before: int) -> AttackResult:
    """As many processes as at the start."""
    for _ in range(20):
        extra = len(below()) - before
        if extra <= 0:
            break
        await asyncio.sleep(0.05)
    broken = f"{extra} processes are left" if extra > 0 else ""
    return AttackResult("processes left after all of them", broken)
