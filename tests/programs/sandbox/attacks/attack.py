"""What an attack is, what can be seen of it from outside, and how we would know that it succeeded."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

from msgspec import Struct
from tests.programs.sandbox.attacks.scene import Scene

from autoreason.programs.sandbox.base import ProgramRun, RunLimits

SMALL = RunLimits(seconds=0.2, memory=96 << 20, output=1 << 20)
"""Enough for every attack that would succeed, and soon over for those that want more."""


class AttackTrace(Struct, frozen=True, kw_only=True):
    """What somebody who trusts nothing the program says has seen of it."""

    runs: tuple[ProgramRun, ...]
    wall: float
    """Seconds of the longest run, by our own clock."""
    processes: int = 0
    """The most at once, beyond those that were there before."""
    threads: int = 0
    """The most at once in any process."""
    memory: int = 0
    """The most at once, of all its processes and of shared memory, in bytes."""
    survivors: tuple[str, ...] = ()
    """Processes that bear its token after the last run."""
    heard: bool = False
    """One of our sockets received its token."""
    called: bool = False
    """We could connect to it."""
    appeared: tuple[str, ...] = ()
    """Files outside that bear its token, or that it changed."""
    bystander: str = ""
    """What happened to a process that has nothing to do with it."""

    @property
    def text(self) -> str:
        return b"\n".join(run.stdout + run.stderr for run in self.runs).decode(errors="replace")


Sign = Callable[[AttackTrace, Scene], str]
"""Says what shows that an attack succeeded; empty where nothing does."""


class Attack(Struct, frozen=True):
    """A program that wants more than it should get, and how we would know that it got it."""

    name: str
    sign: Sign
    source: str
    limits: RunLimits = SMALL
    again: bool = False
    """Run a second time, and a third in a session of its own, without what the first was given."""
    alone: bool = False
    """Nothing else runs meanwhile: what it takes from the machine is measured."""
    harmful: bool = False
    """Never run without a sandbox."""

    def program(self, words: dict[str, str]) -> str:
        text = dedent(self.source).strip() + "\n"
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        return text


def attacks(sign: Sign, sources: dict[str, str], **options: Any) -> list[Attack]:
    """Those of one sign and the same options."""
    return [Attack(name, sign, source, **options) for name, source in sources.items()]


REFUSED = {1, 13, 38}
"""EPERM, EACCES, ENOSYS: the kernel, or the filter before it, would not."""


def is_accepted(run: ProgramRun, answer: str) -> bool:
    """Whether a judge would take it: the right answer and a clean end."""
    clean = run.end_reason == "exit" and run.status == 0
    return clean and run.stdout.decode(errors="replace").split() == [answer]


def shows(seen: AttackTrace, scene: Scene) -> str:
    """Its output has something that is only to be found outside."""
    found = [name for name, value in scene.secrets.items() if value in seen.text]
    return f"it printed {', '.join(found)}" if found else ""


def accepted(seen: AttackTrace, scene: Scene) -> str:
    return "it was accepted" if any(is_accepted(run, scene.answer) for run in seen.runs) else ""


def carried(seen: AttackTrace, scene: Scene) -> str:
    """A later run knows what an earlier one was given."""
    later = b"".join(run.stdout + run.stderr for run in seen.runs[1:])
    return "a later run knew the first one's input" if scene.given.encode() in later else ""


def reached(seen: AttackTrace, _: Scene) -> str:
    return "we received what it sent" if seen.heard else ""


def listens(seen: AttackTrace, _: Scene) -> str:
    return "we could connect to it" if seen.called else ""


def appears(seen: AttackTrace, _: Scene) -> str:
    return f"it made or changed {', '.join(seen.appeared[:3])}" if seen.appeared else ""


def survives(seen: AttackTrace, _: Scene) -> str:
    """A process of it is there after the verdict."""
    return f"still alive: {', '.join(seen.survivors)}" if seen.survivors else ""


def harms(seen: AttackTrace, _: Scene) -> str:
    return f"a bystander {seen.bystander}" if seen.bystander else ""


def lingers(seen: AttackTrace, _: Scene) -> str:
    """It kept the sandbox busy for longer than its limits allow, by our clock."""
    return f"it took {seen.wall:.1f} s" if seen.wall > 5 else ""


def swells(seen: AttackTrace, _: Scene) -> str:
    return f"it held {seen.memory >> 20} MiB" if seen.memory > 350 << 20 else ""


def swarms(seen: AttackTrace, _: Scene) -> str:
    if seen.processes > 12:
        return f"it became {seen.processes} processes"
    return f"it became {seen.threads} threads" if seen.threads > 600 else ""


def floods(seen: AttackTrace, _: Scene) -> str:
    out = max(len(run.stdout) for run in seen.runs)
    err = max(len(run.stderr) for run in seen.runs)
    return f"{out} and {err} bytes came out" if out > 2 << 20 or err > 2 << 20 else ""


def answers(seen: AttackTrace, _: Scene) -> str:
    """The kernel did, or weighed, what was asked: `call number errno` in its output, and no refusal."""
    calls = [line.split() for line in seen.text.splitlines() if line.startswith("call ")]
    through = [number for _, number, errno in calls if int(errno) not in REFUSED]
    return f"system calls {' '.join(through)} got through" if through else ""


def either(*signs: Sign) -> Sign:

    def sign(seen: AttackTrace, scene: Scene) -> str:
        return "; ".join(filter(None, (one(seen, scene) for one in signs)))

    return sign
