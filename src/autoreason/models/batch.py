"""Asking in batches: what is asked at about the same time is sent together, at half the price.

A `BatchTransport` takes the place of the connection under a model: it collects calls until no more come, sends them
as one batch, and gives each its reply when the batch has ended. Whatever it does is recorded before, in the
`BatchLog` of each run that asks, so that a process that was killed finds its batches again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing, nullcontext
from contextvars import ContextVar
from functools import partial
from hashlib import blake2b
from secrets import token_hex
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from autoreason.errors import CallFailed, Failure
from autoreason.exchange import BatchWaiting, Model, OnSignal, Reply, Request
from autoreason.keys import sub_key
from autoreason.models.batch_interface import (
    BATCH_INTERFACES,
    BatchNote,
    BatchOutcome,
    BatchState,
    unanswered,
)
from autoreason.models.layers import WrapperModel, idle_section
from autoreason.models.providers import BatchKind
from autoreason.models.transport import LOG, HttpCall, Timeouts, Transport, kind_of

RecordNote = Callable[[BatchNote], Awaitable[None]]


class BatchLog:
    """The batches that one run has requests in, as its record has them."""

    def __init__(self, run: str, notes: Iterable[BatchNote], record: RecordNote) -> None:
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
        return self._notes.get(self._batch_of.get(item, ""))

    def forget(self, item: str) -> None:
        """If a request is asked again, it is to be sent again."""
        self._batch_of.pop(item, None)

    async def add(self, step: str, note: BatchNote) -> None:
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
        asked = Asked(self._log.item(request), request.key, self._log, on_signal)
        token = ASKED.set(asked)
        try:
            return await self._model.ask(request, on_signal)
        finally:
            ASKED.reset(token)


class BatchCall:
    """A call that waits for a batch."""

    def __init__(self, asked: Asked, endpoint: str, line: bytes) -> None:
        self.asked, self.endpoint, self.line = asked, endpoint, line
        self.given_up = False
        """Whether nobody waits for it any more."""
        self._idle = True
        self._outcome: bytes | Exception | None = None
        self._change = asyncio.Event()

    async def reply(self) -> bytes:
        """The reply; a run that is stopped does not wait for it, unless it is just being sent."""
        try:
            while self._outcome is None:
                with idle_section() if self._idle else nullcontext():
                    await self._change.wait()
                self._change.clear()
        finally:
            self.given_up = True
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def move(self, *, idle: bool = True, outcome: bytes | Exception | None = None) -> None:
        """It goes on to another stage, or has ended."""
        self._idle, self._outcome = idle, outcome
        self._change.set()


class PendingBatch:
    """A batch that calls of this process wait for."""

    def __init__(self, note: BatchNote, items: Iterable[BatchCall] = ()) -> None:
        self.note = note
        self.items = {each.asked.item: each for each in items}

    async def record(self, step: str, **known: str) -> None:
        self.note = replace(self.note, **known)
        own: dict[BatchLog, list[str]] = {}
        for item, each in self.items.items():
            own.setdefault(each.asked.log, []).append(item)
        notes = ((log, replace(self.note, items=tuple(items))) for log, items in own.items())
        await asyncio.gather(*(log.add(step, note) for log, note in notes))

    def end(self, item: str, outcome: BatchOutcome) -> None:
        waiting = self.items.pop(item, None)
        if waiting is None:
            return
        if isinstance(outcome, CallFailed):
            waiting.asked.log.forget(item)
        waiting.move(outcome=outcome)

    def forget(self) -> tuple[BatchCall, ...]:
        for item, each in self.items.items():
            each.asked.log.forget(item)
        return tuple(self.items.values())

    def signal(self, done: int) -> None:
        for each in {each.asked.log: each.asked for each in self.items.values()}.values():
            if each.on_signal:
                note = self.note
                each.on_signal(BatchWaiting(each.key, note.batch, note.size, done, note.at))


T = TypeVar("T")
_LARGE = Timeouts(total=1800.0)
"""Hundreds of megabytes may be on their way."""
_KEPT = 29 * 24 * 3600.0
"""Seconds for which every provider keeps results."""


class BatchPace(Struct, frozen=True, kw_only=True):
    """How long to wait for what, in seconds."""

    quiet: float = 2.0
    """Without a further request, until those that were collected are sent."""
    longest: float = 30.0
    """Until they are sent in any case."""
    first_check: float = 5.0
    """Until a batch is looked at; each further wait is half as long again."""
    max_wait: float = 120.0
    """Between two checks."""
    late: float = 30.0
    """Until a batch is looked for once more that was sent without an answer."""
    outage: float = 3600.0
    """For how long a provider may be away while a batch is waited for."""


PACE = BatchPace()


class BatchTransport(Transport):
    """Sends the calls of one model in batches."""

    def __init__(self, kind: BatchKind, who: str, base: str) -> None:
        super().__init__(_LARGE)
        self._who, self._base, self._pace = who, base, PACE
        self._interface = BATCH_INTERFACES[kind](self._exchange, who)
        self._latest = HttpCall(who=who, url=base)
        self._queue: list[BatchCall] = []
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._batches: dict[str, PendingBatch] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._max_requests = self._interface.max_requests
        self._one_at_a_time = False
        """The account's queue is small: the next batch waits for the end of the one before."""

    async def fetch(self, call: HttpCall) -> bytes:
        assert call.body is not None
        self._latest, asked = call, ASKED.get()
        endpoint = "/v1" + call.url.removeprefix(self._base)
        item = BatchCall(asked, endpoint, self._interface.line(asked.item, endpoint, call.body))
        if note := asked.log.find(asked.item):
            self._join(note, item)
        else:
            self._collect([item])
        reply = await item.reply()
        # Asked for again, it could not be read, and another one is needed.
        asked.log.forget(asked.item)
        return reply

    async def close(self) -> None:
        """Stop waiting; batches go on at the provider."""
        if self._timer:
            self._timer.cancel()
        self._queue.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().close()

    # Collecting.

    def _collect(self, items: Iterable[BatchCall]) -> None:
        loop = asyncio.get_running_loop()
        self._queue.extend(items)
        if self._timer:
            self._timer.cancel()
        else:
            self._since = loop.time()
        due = min(loop.time() + self._pace.quiet, self._since + self._pace.longest)
        self._timer = loop.call_at(due, self._flush)

    def _flush(self) -> None:
        """Send what was collected, in as few batches as it fits into."""
        self._timer = None
        queue = [each for each in self._queue if not each.given_up]
        queue.sort(key=lambda each: each.endpoint)
        while queue and not (self._one_at_a_time and self._tasks):
            size = number = 0
            for each in queue[: self._max_requests]:
                size += len(each.line) + 1
                full = size > self._interface.max_bytes or each.endpoint != queue[0].endpoint
                if number and full:
                    break
                number += 1
            self._start(self._send_batch(queue[:number]))
            queue = queue[number:]
        self._queue = queue

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._queue and not self._timer:
            self._flush()

    # One batch from its record to its results.

    async def _send_batch(self, items: list[BatchCall]) -> None:
        name = f"autoreason-{token_hex(12)}"
        note = BatchNote(key="", batch=name, size=len(items), at=time.time())
        batch = self._batches[name] = PendingBatch(note, items)
        try:
            state = await self._create(batch)
            for each in items:
                each.move()
            await self._follow(batch, state)
            for item in tuple(batch.items):
                batch.end(item, unanswered(self._who, "it is not among the results"))
        except Exception as error:
            self._leave(batch, error)

    async def _create(self, batch: PendingBatch) -> BatchState:
        interface = self._interface
        items = tuple(batch.items.values())
        lines = [each.line for each in items]
        for each in items:
            each.move(idle=False)
        await batch.record("planned")
        try:
            if file := await interface.upload(batch.note.batch, lines):
                await batch.record("uploaded", file=file)
            state = await interface.create(batch.note, items[0].endpoint, lines)
        except CallFailed as failed:
            # An upload begins nothing; without a refusal a batch may have arrived all the same.
            sent = bool(batch.note.file) or not interface.finds_by_name
            refused = failed.status is not None and failed.status < 500
            found = await self._find(batch) if sent and not refused else None
            if found is None:
                # One that may have arrived is looked for again before it is sent again.
                if refused or not sent:
                    batch.forget()
                raise
            state = found
        await batch.record("sent", remote=state.remote)
        return state

    def _join(self, note: BatchNote, item: BatchCall) -> None:
        batch = self._batches.get(note.batch)
        if batch and batch.items:
            batch.items[item.asked.item] = item
        else:
            batch = self._batches[note.batch] = PendingBatch(note, [item])
            self._start(self._resume(batch))

    async def _resume(self, batch: PendingBatch) -> None:
        try:
            if batch.note.remote:
                state = await self._known(batch, partial(self._interface.look, batch.note.remote))
            elif found := await self._find(batch):
                state = found
                await batch.record("sent", remote=state.remote)
            else:
                self._send_again(batch)
                return
            # What kept a request from its reply then may be over by now.
            if not state.failed:
                await self._follow(batch, state, earlier=True)
            self._send_again(batch)
        except Exception as error:
            self._leave(batch, error)

    def _leave(self, batch: PendingBatch, error: Exception) -> None:
        """Nobody waits for a batch any more; it can be gone on with."""
        items, batch.items = batch.items, {}
        for each in items.values():
            each.move(outcome=error)

    def _send_again(self, batch: PendingBatch) -> None:
        items = batch.forget()
        batch.items = {}
        if items:
            self._collect(items)

    async def _find(self, batch: PendingBatch) -> BatchState | None:
        """A batch that was sent without an answer, if it arrived; None where it did not."""
        if found := await self._search(batch):
            return found
        await self._patiently(lambda: self._interface.abandon(batch.note))
        await asyncio.sleep(self._pace.late)
        return await self._search(batch)

    async def _search(self, batch: PendingBatch) -> BatchState | None:
        found = await self._patiently(lambda: self._interface.find(batch.note))
        if self._interface.finds_by_name:
            return found[0] if found else None
        known = {each.note.remote for each in self._batches.values()}
        found = [state for state in found if state.remote not in known]
        wait = self._pace.first_check
        # Together, for one of somebody else may take a day.
        while found:
            for state in found:
                if state.ended and await self._has_items(batch, state):
                    return state
            waiting = [state.remote for state in found if not state.ended]
            if waiting:
                await asyncio.sleep(wait)
                wait = min(wait * 1.5, self._pace.max_wait)
            found = [await self._patiently(partial(self._interface.look, each)) for each in waiting]
        return None

    async def _has_items(self, batch: PendingBatch, state: BatchState) -> bool:
        """Whether a batch that has ended has the requests that we look for, which only its results show."""

        async def read() -> bool:
            async with aclosing(self._results(state)) as results:
                return any([item in batch.items async for item, _ in results])

        return await self._patiently(read)

    async def _follow(
        self, batch: PendingBatch, state: BatchState, *, earlier: bool = False
    ) -> None:
        """Wait for the end of a batch and hand out its results; of an earlier process replies only."""
        wait = self._pace.first_check
        batch.signal(state.done)
        while not state.ended:
            await asyncio.sleep(wait)
            wait = min(wait * 1.5, self._pace.max_wait)
            state = await self._known(batch, partial(self._interface.look, batch.note.remote))
            batch.signal(state.done)
        full = state.failed is not None and state.failed.failure is Failure.RATE_LIMIT
        if full and batch.note.size > 1:
            self._max_requests = batch.note.size // 2
            LOG.info("the provider's queue is full: at most %d in a batch", self._max_requests)
            self._one_at_a_time = True
            self._send_again(batch)
            return
        if state.failed:
            batch.forget()
            raise state.failed
        batch.signal(batch.note.size)

        async def hand_out() -> None:
            async with aclosing(self._results(state)) as results:
                async for item, outcome in results:
                    if not (earlier and isinstance(outcome, CallFailed)):
                        batch.end(item, outcome)

        await self._known(batch, hand_out)

    async def _results(self, state: BatchState) -> AsyncGenerator[tuple[str, BatchOutcome], None]:
        """What came of each request, without lines that cannot be read: they do not become better."""
        unreadable = 0
        for path in state.outputs:
            async with aclosing(self.lines(self._call(path))) as lines:
                async for line in lines:
                    try:
                        result = self._interface.read(line, self._latest.hide)
                    except CallFailed:
                        unreadable += 1
                        continue
                    yield result
        if unreadable:
            LOG.info("%s: %d lines of the results cannot be read", state.remote, unreadable)

    async def _known(self, batch: PendingBatch, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self._patiently(work)
        except CallFailed as failed:
            if failed.status != 404:
                raise
            remote = batch.note.remote
            if time.time() - batch.note.at > _KEPT:
                batch.forget()
                raise unanswered(self._who, f"{remote} is too old") from None
            raise CallFailed(
                Failure.NO_ACCESS,
                f"{remote}, which this run waits for, is not known under this key",
                status=failed.status,
            ) from None

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        """Try until it works: a batch goes on while its provider cannot be reached."""
        clock = asyncio.get_running_loop().time
        wait, end = self._pace.first_check, clock() + self._pace.outage
        while True:
            try:
                return await work()
            except CallFailed as failed:
                if not failed.failure.passing or clock() > end:
                    raise
                pause = max(wait, failed.retry_after or 0.0)
                LOG.info("a batch is looked at again in %.1f s: %s", pause, kind_of(failed))
            await asyncio.sleep(pause)
            wait = min(wait * 1.5, self._pace.max_wait)

    # The wire.

    async def _exchange(
        self, path: str, body: bytes | None = None, *, media: str = "", method: str = ""
    ) -> bytes:
        return await super().fetch(self._call(path, body, media, method))

    def _call(
        self, path: str, body: bytes | None = None, media: str = "", method: str = ""
    ) -> HttpCall:
        headers = {**self._latest.headers, **({"content-type": media} if media else {})}
        url = self._base + path
        return HttpCall(who=self._who, url=url, headers=headers, body=body, method=method)
