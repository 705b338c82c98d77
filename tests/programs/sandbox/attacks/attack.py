"""What an attack is, and what can be seen of it from outside."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import TYPE_CHECKING

from msgspec import Struct

from autoreason.programs.sandbox.base import ProgramRun, RunLimits

if TYPE_CHECKING:
    from tests.programs.sandbox.attacks.scene import Scene

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
        """All it wrote."""
        return b"\n".join(run.stdout + run.stderr for run in self.runs).decode(errors="replace")


Sign = Callable[[AttackTrace, "Scene"], str]
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
        """Its source with the names of what is outside filled in."""
        text = dedent(self.source).strip() + "\n"
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        return text
