"""What a run records of the batches that its requests are in, and asking a model through them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from autoreason.exchange import Model, OnSignal, Query, Reply, Request
from autoreason.keys import sub_key
from autoreason.models.wrapper import WrapperModel


class BatchNote(Query[str], frozen=True, kw_only=True):
    """What is known of a batch: recorded before it is sent, and again when the provider has named it."""

    kind = "batch"
    batch: str
    """Our own name for it."""
    size: int
    """Requests in it, those of other runs among them."""
    at: float
    """When it was recorded first, in seconds since 1970."""
    items: tuple[str, ...] = ()
    """The ids of this run's requests."""
    file: str = ""
    """The uploaded requests, where they are uploaded first."""
    remote: str = ""
    """The provider's name for it; empty where it may not have been sent."""


Record = Callable[[BatchNote], Awaitable[None]]


class BatchLog:
    """The batches that one run has requests in, as its record has them."""

    def __init__(self, run: str, notes: Iterable[BatchNote], record: Record) -> None:
        self._run, self._record = run, record
        self._notes: dict[str, BatchNote] = {}
        self._batch_of: dict[str, str] = {}
        for note in notes:
            self._take_in(note)

    def item(self, request: Request) -> str:
        """The id of a request within batches, the same whenever this run asks it."""
        content = self._run.encode() + b"\n" + msgspec.json.encode(request)
        return blake2b(content, digest_size=20).hexdigest()

    def find(self, item: str) -> BatchNote | None:
        """The last batch that a request was in; None where it must be sent."""
        return self._notes.get(self._batch_of.get(item, ""))

    def forget(self, item: str) -> None:
        """If a request is asked again, it is to be sent again."""
        self._batch_of.pop(item, None)

    async def add(self, step: str, note: BatchNote) -> None:
        """Record what is known of a batch now, unless the record has it."""
        before = self._notes.get(note.batch)
        if before and (before.file, before.remote) == (note.file, note.remote):
            return
        items = () if before else note.items
        await self._record(replace(note, key=sub_key("batch", note.batch, step), items=items))
        self._take_in(note)

    def _take_in(self, note: BatchNote) -> None:
        if before := self._notes.get(note.batch):
            note = replace(before, file=note.file, remote=note.remote)
        else:
            self._batch_of |= dict.fromkeys(note.items, note.batch)
        self._notes[note.batch] = note


class Asked(NamedTuple):
    """The request that a model is being asked."""

    item: str
    key: str
    log: BatchLog
    on_signal: OnSignal | None


ASKED: ContextVar[Asked] = ContextVar("asked in a batch")


class BatchModel(WrapperModel):
    """A model over a `BatchTransport`, asked by one run."""

    def __init__(self, model: Model, log: BatchLog) -> None:
        super().__init__(model)
        self._log = log

    async def ask(self, request: Request, on_signal: OnSignal | None = None) -> Reply:
        """Answer one request when the batch that it is in has ended."""
        asked = Asked(self._log.item(request), request.key, self._log, on_signal)
        token = ASKED.set(asked)
        try:
            return await self._model.ask(request, on_signal)
        finally:
            ASKED.reset(token)
