"""The gate of a Ray cluster: one actor grants places to all suites that record in one journal, and money to each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from autoreason.errors import JournalError
from autoreason.job_types import MAX_WORKERS
from autoreason.journal import Journal
from autoreason.models.budget import CostBound
from autoreason.models.layers import ConcurrencyLimiter
from autoreason.models.pool import provider_limiter
from autoreason.run.call_gate import CallGate, GateSession
from autoreason.run.cell_budget import open_tracker, usage, usage_by_cell
from autoreason.run.cell_messages import Enter, FromGate, Opening, Reserve, ToGate
from autoreason.settings import Budget

_NAMESPACE = "autoreason"
_POLL_SECONDS = 60.0
"""How long the gate keeps a worker waiting that it has nothing to tell."""
_WATCH_SECONDS = 1.0
PAUSE = 0.2


class Account(Struct, frozen=True, kw_only=True):
    """A suite and the limits over all of its cells."""

    suite: str
    budget: Budget

    @property
    def limited(self) -> bool:
        """Whether calls are paid from a budget of all cells."""
        return self.budget != Budget()


class SuiteOpening(Struct, frozen=True, kw_only=True):
    """What every actor of a suite is created with, and again when Ray restarts it."""

    account: Account
    worker: Opening
    cluster: str
    """The same for all suites that share a gate: those of one cluster that record in one journal."""

    @property
    def gate(self) -> str:
        """The name of the gate's actor."""
        return f"autoreason-gate-{self.cluster}"

    @property
    def lock_prefix(self) -> str:
        """How the names begin under which workers are locked in the journal, which shows that they live."""
        return f"autoreason-worker-{self.cluster}-"


class Declaration(Struct, frozen=True, kw_only=True):
    """All that a worker has of a gate and wants of it, for one that knows nothing."""

    account: Account
    granted: list[Enter | Reserve]
    waiting: list[Enter | Reserve]
    used: dict[str, CostBound]
    """What its cells have used, without what is granted."""


_encode = msgspec.json.encode
_read_declaration = msgspec.json.Decoder(Declaration).decode
_read_messages = msgspec.json.Decoder(list[ToGate]).decode


def leave() -> NoReturn:
    """End this process, which cannot go on: Ray starts another, and its cells go on there."""
    os._exit(1)


def leave_on_error(task: asyncio.Task[None]) -> None:
    """A process whose background task has failed would keep all others waiting."""
    if not task.cancelled():
        with suppress(Exception):
            task.print_stack()
        leave()


class _SuiteGate:
    """The gate of one suite: places of all, money of its own."""

    def __init__(self, account: Account, journal: Journal, places: CallGate) -> None:
        self.account = account
        self._journal = journal
        self.calls = places.beside(open_tracker(journal, account.budget, account.suite))
        self._owners: dict[str, str] = {}
        """Which worker last reserved money for a run."""
        self._declared: set[str] = set()
        """Runs of which a worker said what they have used."""
        self.counted = False

    def declare(self, worker: str, used: Mapping[str, CostBound]) -> None:
        """Count what the cells of a worker have used."""
        for run, each in used.items():
            self._owners[run] = worker
            self._declared.add(run)
            self.calls.recount(run, each)

    def pay_for(self, worker: str, run: str) -> None:
        """A worker reserves money for a run."""
        if self._owners.get(run) != worker:
            # The worker before is dead, and its last messages may be lost.
            if run in self._owners:
                self._recount(run)
            self._owners[run] = worker

    def close(self, worker: str) -> None:
        """Of the cells of a dead worker the journal says what they have used."""
        for run in [run for run, owner in self._owners.items() if owner == worker]:
            self._recount(run)
            del self._owners[run]

    async def open(self) -> None:
        """Count the cells that no worker has declared; then there are grants, while a process drives the suite."""
        account = self.account
        if account.limited:
            found = await asyncio.to_thread(
                usage_by_cell, self._journal, account.budget, account.suite
            )
            for run, used in found.items():
                if run not in self._declared:
                    self.calls.recount(run, used)
        self.counted = True

    def allow(self, locked: Collection[str]) -> None:
        """Grant while the suite is locked, so that its workers stop asking when its process is gone."""
        if self.account.suite not in locked:
            self.calls.pause()
        elif self.counted:
            self.calls.opened.set()

    def _recount(self, run: str) -> None:
        spent = self._journal.spent(run)
        self.calls.recount(run, usage(self._journal, self.account.budget, run, spent))


class _Mailbox:
    """A worker's session, and the answers for it."""

    def __init__(self, worker: str, suite: _SuiteGate, epoch: int) -> None:
        self._worker = worker
        self.suite, self.epoch = suite, epoch
        self.session = GateSession(suite.calls, self._put)
        self._answers: list[FromGate] = []
        self._filled = asyncio.Event()

    def _put(self, answer: FromGate) -> None:
        self._answers.append(answer)
        self._filled.set()

    def take(self, message: ToGate) -> None:
        """Act on a message of the worker."""
        if isinstance(message, Reserve):
            self.suite.pay_for(self._worker, message.run)
        self.session.take(message)

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
    """The gate of all suites of a cluster. Where it died, another takes its place, and first learns what was granted.

    A worker lives while it is locked in the journal. Nothing is granted to a suite before every worker that lives, of
    any suite, has declared what it was granted; of all other cells the journal says what they have used.
    """

    def __init__(
        self,
        opening: SuiteOpening,
        limiter: Callable[[str], ConcurrencyLimiter] = provider_limiter,
    ) -> None:
        self._opening = opening
        self._places = CallGate(limiter=limiter)
        self._suites: dict[str, _SuiteGate] = {}
        self._mailboxes: dict[str, _Mailbox] = {}
        self._watching: asyncio.Task[None] | None = None

    @cached_property
    def _journal(self) -> Journal:
        # Not when the actor is created: one that cannot be created is not restarted.
        return Journal.open(self._opening.worker.journal, create=False)

    async def declare(self, worker: str, epoch: int, data: bytes) -> None:
        """Open a worker's session, in place of the one it had."""
        declaration = _read_declaration(data)
        suite = self._find_suite(declaration.account)
        if before := self._mailboxes.pop(worker, None):
            before.session.close()
        mailbox = self._mailboxes[worker] = _Mailbox(worker, suite, epoch)
        mailbox.session.restore(declaration.granted)
        suite.declare(worker, declaration.used)
        for message in declaration.waiting:
            mailbox.take(message)

    async def tell(self, worker: str, epoch: int, data: bytes) -> bytes | None:
        """Take messages in; what is granted at once, or None where the worker has to declare itself first."""
        mailbox = self._mailboxes.get(worker)
        if mailbox is None or mailbox.epoch != epoch:
            return None
        for message in _read_messages(data):
            mailbox.take(message)
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

    def _find_suite(self, account: Account) -> _SuiteGate:
        suite = self._suites.get(account.suite)
        # One that is resumed may have other limits.
        if suite is None or suite.account != account:
            suite = self._suites[account.suite] = _SuiteGate(account, self._journal, self._places)
        if self._watching is None:
            # Not when the actor is created, where there is no event loop yet.
            self._watching = asyncio.create_task(self._watch())
            self._watching.add_done_callback(leave_on_error)
        return suite

    async def _watch(self) -> None:
        """Open the gates of suites when all is known, and give back what dead workers had."""
        while True:
            with suppress(JournalError):
                known = set(self._mailboxes)
                locked = await asyncio.to_thread(self._journal.locked_runs)
                alive = {name for name in locked if name.startswith(self._opening.lock_prefix)}
                if alive <= known:
                    for suite in self._unopened():
                        await suite.open()
                for suite in self._suites.values():
                    suite.allow(locked)
                for worker in known - alive:
                    self._close(worker)
            await asyncio.sleep(PAUSE if self._unopened() else _WATCH_SECONDS)

    def _unopened(self) -> list[_SuiteGate]:
        return [each for each in self._suites.values() if not each.counted]

    def _close(self, worker: str) -> None:
        suite = self._mailboxes[worker].suite
        suite.close(worker)
        self._mailboxes.pop(worker).session.close()
        # One that was resumed with other limits has taken its place.
        replaced = self._suites.get(suite.account.suite) is not suite
        if not replaced and all(each.suite is not suite for each in self._mailboxes.values()):
            del self._suites[suite.account.suite]


def open_gate(opening: SuiteOpening, kind: type[GateActor] = GateActor) -> tuple[Any, bool]:
    """The gate's actor, and whether it was created here: it ends with the process that created it."""
    ray: Any = import_module("ray")
    with suppress(ValueError):
        return ray.get_actor(opening.gate, namespace=_NAMESPACE), False
    options = ray.remote(kind).options(
        name=opening.gate,
        namespace=_NAMESPACE,
        # Others may create it in this moment.
        get_if_exists=True,
        num_cpus=0,
        max_restarts=-1,
        max_concurrency=4 * MAX_WORKERS,
    )
    return options.remote(opening), True
