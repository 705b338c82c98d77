"""Runs killed with SIGKILL at random moments must end as the unbroken run does, and pay for nothing twice."""

from __future__ import annotations

import asyncio
import math
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autoreason.events import LIFECYCLE, AnyEvent
from autoreason.exchange import Model, OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.models.pool import ModelPool
from autoreason.prompts import built_in
from autoreason.run.driver import resume, start
from autoreason.settings import Models, make_settings
from autoreason.task import Task

_TASK = Task(brief="Write a note about the new coffee machine.\n\nKeep it short and kind.")
LATENCY = 0.002
ASKED_TWICE = 70
_FAILED = 71


@dataclass(frozen=True)
class KillResult:
    """The result of a series of kills."""

    kills: int
    runs: int
    different: int
    """Runs that ended in another text or other events than the unbroken run."""
    asked_twice: int
    """Times a call was made whose reply was already recorded."""
    seconds: float


class CarefulModel:
    """A model that answers slowly and refuses requests whose reply is already recorded."""

    def __init__(self, recorded: Collection[str], model: Model | None = None) -> None:
        self._model = model or EchoModel()
        self._recorded = recorded

    @property
    def address(self) -> str:
        """The model it speaks for."""
        return self._model.address

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer, unless this was answered before."""
        refuse_recorded(request.key, self._recorded)
        await asyncio.sleep(LATENCY)
        return await self._model.ask(request, on_signal)

    async def close(self) -> None:
        """Nothing to close."""


def refuse_recorded(key: str, recorded: Collection[str]) -> None:
    """End the process with a status of its own where something recorded is asked again."""
    if key in recorded:
        os._exit(ASKED_TWICE)


def kill_runs(
    kills: int, seed: int = 1, passes: int = 4, create: Callable[[], str] | None = None
) -> KillResult:
    """Start runs and kill them `kills` times in all; each in a new journal, in a file unless another is created."""
    started = time.monotonic()
    chance = random.Random(seed)
    kills_so_far = runs = different = asked_twice = 0
    with tempfile.TemporaryDirectory(prefix="autoreason-kills-") as folder:
        while kills_so_far < kills:
            runs += 1
            path = create() if create else str(Path(folder, f"{runs}.db"))
            expected = story(_run(str(Path(folder, f"{runs}-unbroken.db")), runs, passes))
            code, killed = run_with_kills(partial(_run, path, runs, passes), chance)
            kills_so_far += killed
            asked_twice += code == ASKED_TWICE
            different += code != 0 or story(path) != expected
    return KillResult(kills_so_far, runs, different, asked_twice, time.monotonic() - started)


def run_with_kills(
    work: Callable[[], object], chance: random.Random, longest: float = 0.12, more: float = 1.1
) -> tuple[int, int]:
    """Let a child work and kill it, again and again, until it ends by itself: its exit code, and how often that was."""
    kills = 0
    while (code := run_in_child(work, chance.uniform(0.0, longest))) is None:
        # On a busy machine it may need longer to begin than it is let live: every time a little more.
        longest *= more
        kills += 1
    return code, kills


def run_in_child(work: Callable[[], object], patience: float = math.inf) -> int | None:
    """Let a child work and kill it when patience ends; its exit code, None where it was killed."""
    child = os.fork()
    if child == 0:
        code = _FAILED
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        child_ended, status = os.waitpid(child, os.WNOHANG)
        if child_ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if code == -signal.SIGKILL else code


def _run(path: str, seed: int, passes: int) -> str:
    """Begin the one run of a journal, or go on with it."""
    settings = make_settings(Models.everywhere("echo/echo"), seed, passes=passes)
    with Journal.open(path, create=True) as journal:
        rows = journal.runs()
        run = rows[0].id if rows else None
        started = run is not None and bool(journal.events(run))
        pool = ModelPool()
        pool.add({"echo/echo": CarefulModel(journal.replies(run) if run else ())})
        if run is not None and started:
            if rows[0].status == "running":
                asyncio.run(resume(run, journal, {"pool": pool}))
        else:
            asyncio.run(start(_TASK, settings, journal, {"pool": pool}, prompts=built_in()))
    return path


def story(path: str | Path) -> list[AnyEvent]:
    """The events of the newest run, without how often it was taken up."""
    with Journal.open(path, create=False) as journal:
        events = [item.event for item in journal.events(journal.runs()[0].id)]
    return [event for event in events if not isinstance(event, LIFECYCLE)]
