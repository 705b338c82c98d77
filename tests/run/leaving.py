"""Runs that are left after every single call, or by another process just now, and taken up again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from tests.run.runs import go_on, start_run

from autoreason.errors import CallFailed, Failure
from autoreason.events import LIFECYCLE, AnyEvent
from autoreason.exchange import OnSignal, Reply, Request
from autoreason.journal import Journal
from autoreason.models.doubles import ScriptedModel
from autoreason.run.recorded import replay
from autoreason.run.result import Result
from autoreason.settings import Settings
from autoreason.task import Task

Script = Mapping[str, Any]


class Breaking:
    """A scripted model that answers so many calls, each after a while, and then is out of reach."""

    address = "scripted/scripted"

    def __init__(self, script: Script, calls: int | None = None, luck: int | None = None) -> None:
        self.answered: list[str] = []
        self.asked: list[str] = []
        self._inner = ScriptedModel(script)
        self._left = calls
        self._luck = None if luck is None else random.Random(luck)

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        self.asked.append(request.key)
        if self._luck:
            await asyncio.sleep(self._luck.random() / 500)
        if self._left is not None:
            if self._left == 0:
                raise CallFailed(Failure.CONNECTION, "out of reach")
            self._left -= 1
        self.answered.append(request.key)
        return await self._inner.ask(request, on_signal)

    async def close(self) -> None:
        """Nothing to let go of."""


def emitted(journal: Journal, run: str) -> list[AnyEvent]:
    """A strategy's own story of a run."""
    return [item.event for item in journal.events(run) if not isinstance(item.event, LIFECYCLE)]


async def left_after_every_call(
    journal: Journal, task: Task, settings: Settings, script: Script, **options: Any
) -> Result:
    """Assert that it makes no difference where a run is left; how the unbroken one ended."""
    whole = Breaking(script)
    ended = await start_run(journal, whole, task=task, settings=settings, **options)
    story = emitted(journal, ended.run)
    for calls in range(len(whole.answered)):
        broken = Breaking(script, calls)
        paused = await start_run(journal, broken, task=task, settings=settings, **options)
        assert paused.status == "provider_failed"
        recorded = set(broken.answered)
        assert len(recorded) == calls
        repaired = Breaking(script)
        result = await go_on(journal, paused.run, repaired, **options)
        assert (result.status, result.story.text) == (ended.status, ended.story.text)
        assert result.calls == ended.calls
        assert not recorded & set(repaired.asked)
        assert sorted([*broken.answered, *repaired.answered]) == sorted(whole.answered)
        assert emitted(journal, result.run) == story
    assert (await replay.aio(ended.run, journal=journal)).same
    return ended


@contextmanager
def leave_when_asked(journal: Journal, run: str) -> Iterator[None]:
    """Have a run locked as by another process, which leaves it when this one asks for the lock."""
    other, lock_async = ExitStack(), journal.lock_async

    def lock(name: str) -> AbstractAsyncContextManager[None]:
        other.close()
        return lock_async(name)

    with other, patch.object(journal, "lock_async", lock):
        other.enter_context(journal.lock(run))
        assert journal.row(run).live
        yield
