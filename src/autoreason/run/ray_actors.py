"""What runs on the nodes of a Ray cluster: workers that run cells, and the one gate that all their calls pass."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property
from importlib import import_module
from typing import Any, NoReturn
from uuid import uuid4

import msgspec
from msgspec import Struct

from autoreason.errors import AutoreasonError, JournalError, WritingFailed
from autoreason.journal import Journal
from autoreason.models.budget import CostBound
from autoreason.models.concurrency import ConcurrencyLimiter
from autoreason.models.pool import provider_limiter
from autoreason.run.call_gate import CallGate, GateSession
from autoreason.run.cell_budget import open_tracker, usage, usage_by_cell
from autoreason.run.cell_messages import (
    CellEnded,
    Enter,
    FromGate,
    Opening,
    Reserve,
    StartCell,
    ToGate,
)
from autoreason.run.cell_worker import CellWorker
from autoreason.run.gate_client import GateClient
from autoreason.settings import Budget

_POLL_SECONDS = 60.0
"""How long the gate keeps a worker waiting that it has nothing to tell."""
_WATCH_SECONDS = 1.0
_PAUSE = 0.2


class SuiteOpening(Struct, frozen=True, kw_only=True):
    """What every actor of a suite is created with, and again when Ray restarts it."""

    suite: str
    base: str
    budget: Budget
    worker: Opening

    @property
    def limited(self) -> bool:
        """Whether calls are paid from a budget of all cells."""
        return self.budget != Budget()

    @property
    def gate(self) -> str:
        """The name of the gate's actor."""
        return f"autoreason-gate-{self.suite}"

    @property
    def lock_prefix(self) -> str:
        """How the names begin under which workers are locked in the journal, which shows that they live."""
        return f"{self.suite}-worker-"


class Declaration(Struct, frozen=True, kw_only=True):
    """All that a worker has of a gate and wants of it, for one that knows nothing."""

    granted: list[Enter | Reserve]
    waiting: list[Enter | Reserve]
    used: dict[str, CostBound]
    """What its cells have used, without what is granted."""


_encode = msgspec.json.encode
_read_declaration = msgspec.json.Decoder(Declaration).decode
_read_messages = msgspec.json.Decoder(list[ToGate]).decode
_read_answers = msgspec.json.Decoder(list[FromGate]).decode
_read_start = msgspec.json.Decoder(StartCell).decode


class _Mailbox:
    """A worker's session, and the answers for it."""

    def __init__(self, gate: CallGate, epoch: int) -> None:
        self.epoch = epoch
        self.session = GateSession(gate, self._put)
        self._answers: list[FromGate] = []
        self._filled = asyncio.Event()

    def _put(self, answer: FromGate) -> None:
        self._answers.append(answer)
        self._filled.set()

    async def wait(self) -> None:
        """Wait for an answer, or a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL_SECONDS):
                while not self._answers:
                    self._filled.clear()
                    await self._filled.wait()

    def collect(self) -> list[FromGate]:
        """All answers so far, once."""
        answers, self._answers = self._answers, []
        return answers


class GateActor:
    """The gate of a suite. Where it died, another takes its place and grants nothing before it knows what was granted.

    A worker lives while it is locked in the journal. A new gate waits until every worker that lives has declared what
    it was granted; of all other cells the journal says what they have used.
    """

    def __init__(
        self,
        opening: SuiteOpening,
        limiter: Callable[[str], ConcurrencyLimiter] = provider_limiter,
    ) -> None:
        self._opening = opening
        self._limiter = limiter
        self._mailboxes: dict[str, _Mailbox] = {}
        self._owners: dict[str, str] = {}
        """Which worker last reserved money for a run."""
        self._declared: set[str] = set()
        """Runs of which a worker said what they have used."""
        self._gate: CallGate | None = None
        self._watching: asyncio.Task[None] | None = None

    @cached_property
    def _journal(self) -> Journal:
        # Not when the actor is created: one that cannot be created is not restarted.
        return Journal.open(self._opening.worker.journal, create=False)

    async def declare(self, worker: str, epoch: int, data: bytes) -> None:
        """Open a worker's session, in place of the one it had."""
        declaration = _read_declaration(data)
        gate = self._open()
        if before := self._mailboxes.pop(worker, None):
            before.session.close()
        mailbox = self._mailboxes[worker] = _Mailbox(gate, epoch)
        mailbox.session.restore(declaration.granted)
        for run, used in declaration.used.items():
            self._owners[run] = worker
            self._declared.add(run)
            gate.recount(run, used)
        for message in declaration.waiting:
            self._take(worker, mailbox, message)

    async def tell(self, worker: str, epoch: int, data: bytes) -> bytes | None:
        """Take messages in; what is granted at once, or None where the worker has to declare itself first."""
        mailbox = self._mailboxes.get(worker)
        if mailbox is None or mailbox.epoch != epoch:
            return None
        for message in _read_messages(data):
            self._take(worker, mailbox, message)
        # What waits for nothing is granted in the next rounds of the event loop.
        for _ in range(3):
            await asyncio.sleep(0)
        return _encode(mailbox.collect())

    async def poll(self, worker: str, epoch: int) -> bytes | None:
        """What was granted later, or None where the worker has to declare itself first."""
        mailbox = self._mailboxes.get(worker)
        if mailbox is None or mailbox.epoch != epoch:
            return None
        await mailbox.wait()
        return _encode(mailbox.collect())

    def _open(self) -> CallGate:
        # Not when the actor is created, where there is no event loop yet.
        if self._gate is None:
            opening = self._opening
            budget = open_tracker(self._journal, opening.budget, opening.suite)
            self._gate = CallGate(budget, self._limiter)
            self._gate.opened.clear()
            self._watching = asyncio.create_task(self._watch(self._gate))
            self._watching.add_done_callback(_leave_on_error)
        return self._gate

    def _take(self, worker: str, mailbox: _Mailbox, message: ToGate) -> None:
        if isinstance(message, Reserve) and self._owners.get(message.run) != worker:
            # The worker before is dead, and its last messages may be lost.
            if message.run in self._owners:
                self._recount(message.run)
            self._owners[message.run] = worker
        mailbox.session.take(message)

    def _recount(self, run: str) -> None:
        assert self._gate is not None
        spent = self._journal.spent(run)
        self._gate.recount(run, usage(self._journal, self._opening.budget, run, spent))

    async def _watch(self, gate: CallGate) -> None:
        """Open the gate when all is known, and give back what dead workers had."""
        while True:
            with suppress(JournalError):
                known = set(self._mailboxes)
                alive = await asyncio.to_thread(self._live_workers)
                if not gate.opened.is_set() and alive <= known:
                    await self._count_others(gate)
                    gate.opened.set()
                for worker in known - alive:
                    self._close(worker)
            await asyncio.sleep(_WATCH_SECONDS if gate.opened.is_set() else _PAUSE)

    def _live_workers(self) -> set[str]:
        prefix = self._opening.lock_prefix
        return {name for name in self._journal.locked_runs() if name.startswith(prefix)}

    async def _count_others(self, gate: CallGate) -> None:
        """Count the cells that no worker has declared."""
        opening = self._opening
        if not opening.limited:
            return
        for suite in filter(None, (opening.base, opening.suite)):
            found = await asyncio.to_thread(usage_by_cell, self._journal, opening.budget, suite)
            for run, used in found.items():
                if run not in self._declared:
                    gate.recount(run, used)

    def _close(self, worker: str) -> None:
        for run in [run for run, owner in self._owners.items() if owner == worker]:
            self._recount(run)
            del self._owners[run]
        self._mailboxes.pop(worker).session.close()


class GateLink:
    """Carries what a worker and the gate say to each other, many messages in one call."""

    def __init__(self, opening: SuiteOpening, name: str) -> None:
        self._opening, self._name = opening, name
        self._gate: Any = import_module("ray").get_actor(opening.gate)
        self._outbox: list[ToGate] = []
        self._filled = asyncio.Event()
        self._epoch = 0
        self.client = GateClient(self._send)

    def _send(self, message: ToGate) -> None:
        self._outbox.append(message)
        self._filled.set()

    async def run(self, worker: CellWorker) -> None:
        """Talk to the gate; when it is gone, declare to the next one what was granted."""
        lost = (import_module("ray").exceptions.RayError, _Unknown)
        while True:
            self._epoch += 1
            try:
                await self._declare(worker)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._tell())
                    group.create_task(self._poll())
            except* lost:
                await asyncio.sleep(_PAUSE)

    async def _declare(self, worker: CellWorker) -> None:
        settled = -1
        while settled != self.client.settled:
            settled = self.client.settled
            await worker.journal.flush()
        self.client.return_spare()
        # Nothing is awaited from here on: what is paid for is recorded, and all else is granted or waiting.
        used = {
            run: usage(worker.journal, self._opening.budget, run, worker.journal.spent(run))
            for run in (worker.running if self._opening.limited else ())
        }
        declaration = Declaration(
            granted=self.client.granted, waiting=self.client.waiting, used=used
        )
        self._outbox.clear()
        await self._gate.declare.remote(self._name, self._epoch, _encode(declaration))

    async def _tell(self) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            messages, self._outbox = self._outbox, []
            if not messages:
                continue
            data = _encode(messages)
            self._take(await self._gate.tell.remote(self._name, self._epoch, data))

    async def _poll(self) -> None:
        while True:
            self._take(await self._gate.poll.remote(self._name, self._epoch))

    def _take(self, answers: bytes | None) -> None:
        if answers is None:
            raise _Unknown
        for answer in _read_answers(answers):
            self.client.take(answer)


class _Unknown(Exception):
    """The gate does not know this worker."""


def leave() -> NoReturn:
    """End this process, which cannot go on: Ray starts another, and its cells go on there."""
    os._exit(1)


def _leave_on_error(task: asyncio.Task[None]) -> None:
    """A process whose background task has failed would keep all others waiting."""
    if not task.cancelled():
        with suppress(Exception):
            task.print_stack()
        leave()


class CellActor:
    """A worker: runs cells side by side, over its own journal and models."""

    def __init__(self, opening: SuiteOpening) -> None:
        self._opening = opening
        self._exits = ExitStack()
        self._worker: CellWorker | None = None
        self._linking: asyncio.Task[None] | None = None

    async def run(self, data: bytes) -> CellEnded:
        """Run a cell to its end or a pause, from where another worker left it."""
        message = _read_start(data)
        try:
            worker = self._open()
            # The worker before may be dead without its host's having noticed.
            while worker.journal.lock_owner(message.run) and not worker.stopped:  # noqa: ASYNC110
                await asyncio.sleep(_PAUSE)
            return await worker.run(message)
        except WritingFailed:
            leave()
        except AutoreasonError as error:
            return CellEnded(run=message.run, refusal=str(error))

    async def stop(self) -> None:
        """No new calls from now on."""
        self._open().stop()

    def _open(self) -> CellWorker:
        # Not when the actor is created: one that cannot be created is not restarted.
        if self._worker is None:
            name = f"{self._opening.lock_prefix}{uuid4().hex[:12]}"
            link = GateLink(self._opening, name)
            worker = CellWorker(self._opening.worker, link.client)
            self._exits.enter_context(worker.journal.lock(name))
            self._linking = asyncio.create_task(link.run(worker))
            self._linking.add_done_callback(_leave_on_error)
            self._worker = worker
        return self._worker
