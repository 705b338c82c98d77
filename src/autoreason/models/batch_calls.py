"""Calls that wait for a batch, and the batch that they wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import nullcontext

from msgspec.structs import replace

from autoreason.errors import CallFailed
from autoreason.exchange import BatchWaiting
from autoreason.models.batch_interface import Outcome
from autoreason.models.batch_log import Asked, BatchLog, BatchNote
from autoreason.models.cancellation import idle_section


class BatchCall:
    """A call that waits for a batch."""

    def __init__(self, asked: Asked, line: bytes) -> None:
        self.asked, self.line = asked, line
        self.given_up = False
        """Whether nobody waits for it any more."""
        self._idle = True
        self._outcome: bytes | Exception | None = None
        self._change = asyncio.get_running_loop().create_future()

    async def reply(self) -> bytes:
        """The reply; a run that is stopped does not wait for it, unless it is just being sent."""
        try:
            while self._outcome is None:
                with idle_section() if self._idle else nullcontext():
                    await self._change
        finally:
            self.given_up = True
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def move(self, *, idle: bool = True, outcome: bytes | Exception | None = None) -> None:
        """It goes on to another stage, or has ended."""
        self._idle, self._outcome = idle, outcome
        change, self._change = self._change, asyncio.get_running_loop().create_future()
        if not change.done():
            change.set_result(None)


class PendingBatch:
    """A batch that calls of this process wait for."""

    def __init__(self, note: BatchNote, items: Iterable[BatchCall] = ()) -> None:
        self.note = note
        self.items = {each.asked.item: each for each in items}
        self.kept: dict[str, bytes] = {}
        """Replies for which nobody has asked yet."""

    async def record(self, step: str, **known: str) -> None:
        """Record what is known of it in every run that has requests in it."""
        self.note = replace(self.note, **known)
        own: dict[BatchLog, list[str]] = {}
        for item, each in self.items.items():
            own.setdefault(each.asked.log, []).append(item)
        notes = ((log, replace(self.note, items=tuple(items))) for log, items in own.items())
        await asyncio.gather(*(log.add(step, note) for log, note in notes))

    def end(self, item: str, outcome: Outcome) -> None:
        """What the provider says came of a request."""
        waiting = self.items.pop(item, None)
        if isinstance(outcome, bytes) and (waiting is None or waiting.given_up):
            self.kept[item] = outcome
        if waiting is None:
            return
        if isinstance(outcome, CallFailed):
            waiting.asked.log.forget(item)
        waiting.move(outcome=outcome)

    def forget(self) -> tuple[BatchCall, ...]:
        """None of its requests was begun, and each may be sent again."""
        for item, each in self.items.items():
            each.asked.log.forget(item)
        return tuple(self.items.values())

    def signal(self, done: int) -> None:
        """Say how far it is, once to every run that waits for it."""
        for each in {each.asked.log: each.asked for each in self.items.values()}.values():
            if each.on_signal:
                note = self.note
                each.on_signal(BatchWaiting(each.key, note.batch, note.size, done, note.at))
