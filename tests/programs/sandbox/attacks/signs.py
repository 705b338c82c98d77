"""How we would know, from outside, that an attack succeeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.programs.sandbox.attacks.attack import AttackTrace, Sign

from autoreason.programs.sandbox.base import ProgramRun

if TYPE_CHECKING:
    from tests.programs.sandbox.attacks.scene import Scene

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
    """It got the verdict it does not deserve."""
    return "it was accepted" if any(is_accepted(run, scene.answer) for run in seen.runs) else ""


def carried(seen: AttackTrace, scene: Scene) -> str:
    """A later run knows what an earlier one was given."""
    later = b"".join(run.stdout + run.stderr for run in seen.runs[1:])
    return "a later run knew the first one's input" if scene.given.encode() in later else ""


def reached(seen: AttackTrace, _: Scene) -> str:
    """Something it sent arrived at one of our sockets."""
    return "we received what it sent" if seen.heard else ""


def listens(seen: AttackTrace, _: Scene) -> str:
    """We could connect to it."""
    return "we could connect to it" if seen.called else ""


def appears(seen: AttackTrace, _: Scene) -> str:
    """It left or changed a file."""
    return f"it made or changed {', '.join(seen.appeared[:3])}" if seen.appeared else ""


def survives(seen: AttackTrace, _: Scene) -> str:
    """A process of it is there after the verdict."""
    return f"still alive: {', '.join(seen.survivors)}" if seen.survivors else ""


def harms(seen: AttackTrace, _: Scene) -> str:
    """A process that has nothing to do with it noticed."""
    return f"a bystander {seen.bystander}" if seen.bystander else ""


def lingers(seen: AttackTrace, _: Scene) -> str:
    """It kept the sandbox busy for longer than its limits allow, by our clock."""
    return f"it took {seen.wall:.1f} s" if seen.wall > 5 else ""


def swells(seen: AttackTrace, _: Scene) -> str:
    """It had far more memory than its limit."""
    return f"it held {seen.memory >> 20} MiB" if seen.memory > 350 << 20 else ""


def swarms(seen: AttackTrace, _: Scene) -> str:
    """It became many."""
    if seen.processes > 12:
        return f"it became {seen.processes} processes"
    return f"it became {seen.threads} threads" if seen.threads > 600 else ""


def floods(seen: AttackTrace, _: Scene) -> str:
    """More of its output came out than its limit allows."""
    out = max(len(run.stdout) for run in seen.runs)
    err = max(len(run.stderr) for run in seen.runs)
    return f"{out} and {err} bytes came out" if out > 2 << 20 or err > 2 << 20 else ""


def answers(seen: AttackTrace, _: Scene) -> str:
    """The kernel did, or weighed, what was asked: `call number errno` in its output, and no refusal."""
    told = [line.split() for line in seen.text.splitlines() if line.startswith("call ")]
    through = [number for _, number, errno in told if int(errno) not in REFUSED]
    return f"system calls {' '.join(through)} got through" if through else ""


def either(*signs: Sign) -> Sign:
    """Any of several."""

    def sign(seen: AttackTrace, scene: Scene) -> str:
        return "; ".join(filter(None, (one(seen, scene) for one in signs)))

    return sign
