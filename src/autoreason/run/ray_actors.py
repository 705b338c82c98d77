"""What runs on the nodes of a Ray cluster: workers that run cells, and the one gate that all their calls pass."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import msgspec
from msgspec import Struct

from autoreason.artifacts.evaluator.saved_evaluation import evaluation_path
from autoreason.artifacts.research_task import research_of
from autoreason.errors import AutoreasonError, JournalError, RunLocked, WritingFailed
from autoreason.files import write_atomically
from autoreason.journal import Journal
from autoreason.models.budget import CostBound
from autoreason.models.concurrency import ConcurrencyLimiter
from autoreason.models.pool import provider_limiter
from autoreason.paths import data_folder
from autoreason.programs.examiner.store import set_path
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
from autoreason.studies.lab.lab_job import MAX_WORKERS
from autoreason.studies.lab.lab_suite import Suite

_NAMESPACE = "autoreason"
_POLL_SECONDS = 60.0
"""How long the gate keeps a worker waiting that it has nothing to tell."""
_WATCH_SECONDS = 1.0
_PAUSE = 0.2


class Account(Struct, frozen=True, kw_only=True):
    """A suite and the limits over all of its cells."""

    suite: str
    base: str
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
_read_answers = msgspec.json.Decoder(list[FromGate]).decode
_read_start = msgspec.json.Decoder(StartCell).decode


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
        """Count the cells that no worker has declared; then there are grants."""
        account = self.account
        for suite in filter(None, (account.base, account.suite) if account.limited else ()):
            found = await asyncio.to_thread(usage_by_cell, self._journal, account.budget, suite)
            for run, used in found.items():
                if run not in self._declared:
                    self.calls.recount(run, used)
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
            self._watching.add_done_callback(_leave_on_error)
        return suite

    async def _watch(self) -> None:
        """Open the gates of suites when all is known, and give back what dead workers had."""
        while True:
            with suppress(JournalError):
                known = set(self._mailboxes)
                alive = await asyncio.to_thread(self._live_workers)
                if alive <= known:
                    for suite in self._unopened():
                        await suite.open()
                for worker in known - alive:
                    self._close(worker)
            await asyncio.sleep(_PAUSE if self._unopened() else _WATCH_SECONDS)

    def _unopened(self) -> list[_SuiteGate]:
        return [each for each in self._suites.values() if not each.calls.opened.is_set()]

    def _live_workers(self) -> set[str]:
        prefix = self._opening.lock_prefix
        return {name for name in self._journal.locked_runs() if name.startswith(prefix)}

    def _close(self, worker: str) -> None:
        suite = self._mailboxes[worker].suite
        suite.close(worker)
        self._mailboxes.pop(worker).session.close()
        if not any(each.suite is suite for each in self._mailboxes.values()):
            self._suites.pop(suite.account.suite, None)


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


class GateLink:
    """Carries what a worker and the gate say to each other, many messages in one call."""

    def __init__(self, opening: SuiteOpening, name: str) -> None:
        self._opening, self._name = opening, name
        self._gate: Any = None
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
        self._gate, _ = open_gate(self._opening)
        account = self._opening.account
        settled = -1
        while settled != self.client.settled:
            settled = self.client.settled
            await worker.journal.flush()
        self.client.return_spare()
        # Nothing is awaited from here on: what is paid for is recorded, and all else is granted or waiting.
        used = {
            run: usage(worker.journal, account.budget, run, worker.journal.spent(run))
            for run in (worker.running if account.limited else ())
        }
        declaration = Declaration(
            account=account,
            granted=self.client.granted,
            waiting=self.client.waiting,
            used=used,
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


def saved_files(suite: Suite) -> dict[str, bytes]:
    """Sets of problems and evaluators, which are saved beside the journal, by their paths in the data folder."""
    paths: set[Path] = set()
    for each in suite.tasks.values():
        if digest := each.terms.get("set"):
            paths.add(set_path(digest))
        if (research := research_of(each.task)) and research.evaluation:
            paths.add(evaluation_path(research.evaluation))
    folder = data_folder()
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.exists()}


def save_here(files: Mapping[str, bytes]) -> None:
    """Save what another machine has saved, where it is missing; it is checked by its digest when it is read."""
    for name, body in files.items():
        path = data_folder() / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(path, body, private=True)


async def run_alone(worker: CellWorker, message: StartCell) -> CellEnded:
    """Run a cell once no other worker has it; the one before may live on for a while without its node."""
    # The run's own lock would come too late: after reading whether there is something to go on with.
    claim = f"claim-{message.run}"
    while True:
        if not any(map(worker.journal.lock_owner, (claim, message.run))):
            with suppress(RunLocked), worker.journal.lock(claim):
                return await worker.run(message)
        await asyncio.sleep(_PAUSE)


class CellActor:
    """A worker: runs cells side by side, over its own journal and models."""

    def __init__(self, opening: SuiteOpening, files: Mapping[str, bytes]) -> None:
        self._opening = opening
        self._files = files
        self._exits = ExitStack()
        self._worker: CellWorker | None = None
        self._linking: asyncio.Task[None] | None = None

    async def run(self, data: bytes) -> CellEnded:
        """Run a cell to its end or a pause, from where another worker left it."""
        message = _read_start(data)
        try:
            return await run_alone(self._open(), message)
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
            save_here(self._files)
            name = f"{self._opening.lock_prefix}{uuid4().hex[:12]}"
            link = GateLink(self._opening, name)
            worker = CellWorker(self._opening.worker, link.client)
            self._exits.enter_context(worker.journal.lock(name))
            self._linking = asyncio.create_task(link.run(worker))
            self._linking.add_done_callback(_leave_on_error)
            self._worker = worker
        return self._worker
