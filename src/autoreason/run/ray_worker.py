"""A worker of a Ray cluster: runs cells side by side, whose calls pass the gate of the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from autoreason.artifacts.evaluator.saved_evaluation import evaluation_path
from autoreason.artifacts.research_task import research_of
from autoreason.errors import AutoreasonError, WritingFailed
from autoreason.files import write_atomically
from autoreason.paths import data_folder
from autoreason.programs.examiner.process import set_path
from autoreason.run.cell_budget import usage
from autoreason.run.cell_messages import CellEnded, FromGate, StartCell, ToGate
from autoreason.run.cell_worker import CellWorker
from autoreason.run.gate_client import GateClient
from autoreason.run.ray_gate import (
    PAUSE,
    Declaration,
    SuiteOpening,
    leave,
    leave_on_error,
    open_gate,
)
from autoreason.studies.lab.lab_suite import Suite

_read_answers = msgspec.json.Decoder(list[FromGate]).decode
_read_start = msgspec.json.Decoder(StartCell).decode


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
                await asyncio.sleep(PAUSE)

    async def _declare(self, worker: CellWorker) -> None:
        self._gate, _ = open_gate(self._opening)
        account, journal = self._opening.account, worker.journal
        settled = -1
        while settled != self.client.settled:
            settled = self.client.settled
            await journal.flush()
        self.client.return_spare()
        # Nothing is awaited from here on: what is paid for is recorded, and all else is granted or waiting.
        used = {
            run: usage(journal, account.budget, run, journal.spent(run), worker.abandoned(run))
            for run in (worker.running if account.limited else ())
        }
        declaration = Declaration(
            account=account,
            granted=self.client.granted,
            waiting=self.client.waiting,
            used=used,
        )
        self._outbox.clear()
        await self._gate.declare.remote(self._name, self._epoch, msgspec.json.encode(declaration))

    async def _tell(self) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            messages, self._outbox = self._outbox, []
            if not messages:
                continue
            data = msgspec.json.encode(messages)
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


class CellActor:
    """A worker: runs cells side by side, over its own journal and models."""

    def __init__(
        self, opening: SuiteOpening, files: Sequence[Awaitable[Mapping[str, bytes]]]
    ) -> None:
        self._opening = opening
        self._files = files
        self._exits = ExitStack()
        self._worker: CellWorker | None = None
        self._linking: asyncio.Task[None] | None = None

    async def run(self, data: bytes) -> CellEnded:
        """Run a cell to its end or a pause, from where another worker left it."""
        message = _read_start(data)
        for files in self._files:
            save_here(await files)
        try:
            return await self._open().run_alone(message, inf)
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
            self._linking.add_done_callback(leave_on_error)
            self._worker = worker
        return self._worker
