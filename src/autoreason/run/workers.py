"""Cells in workers: processes with their own journal and models, which lease what their calls need.

`python -m autoreason.run.workers` is one; its cells come through a pipe. A worker that dies is replaced. On a Ray
cluster, which only places them, workers are actors.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

import msgspec
from msgspec import Struct

from autoreason.artifacts.research_task import research_of
from autoreason.artifacts.saved_evaluation import evaluation_path
from autoreason.errors import (
    AutoreasonError,
    InvalidInput,
    JournalError,
    ProviderFailed,
    WritingFailed,
)
from autoreason.events import RunStarted
from autoreason.files import Place, ServerUrl, data_folder, write_atomically
from autoreason.job_types import MAX_PARALLEL, MAX_WORKERS, Lab
from autoreason.journal import Journal, codec
from autoreason.journal.run_names import suite_name
from autoreason.journal.writer import HeldRows
from autoreason.models.budget import BudgetTracker, CostBound
from autoreason.models.pool import ModelPool
from autoreason.programs.examiner.process import set_path
from autoreason.run.cells import (
    CellOutcome,
    CellRun,
    CellServices,
    LocalExecutor,
    lock_when_free,
    open_tracker,
    usage,
    usage_by_cell,
)
from autoreason.run.leases import BASE, Lease, LeasedBudget, Leases, as_row, total
from autoreason.run.result import StopSwitch
from autoreason.settings import Budget, Settings
from autoreason.studies.lab_suite import Suite

_STOP = b"stop\n"
"""In place of a cell: no new calls, but replies on their way are still taken in."""
_LONGEST_LINE = 2**30
_POLL_SECONDS = 0.2
_WATCH_SECONDS = 1.0
_MAX_DEATHS = 20
"""Workers that a cell may outlive before it is to blame."""


class Opening(Struct, frozen=True, kw_only=True):
    worker: str
    """Its name, under which it is locked in the journal while it lives."""
    suite: str
    budget: Budget
    """Of all cells of the suite."""
    journal: str
    """Where it goes, nobody else reads the password of a server."""
    base_url: dict[str, str] | str | None
    allow_http: bool


class SentCell(Struct, frozen=True):
    run: str
    started: str
    """Its task, settings and prompts, as the journal writes them."""
    again: bool
    seconds_left: float | None
    """Of the time for all cells; None without a limit."""


def send_cell(cell: CellRun, seconds_left: float = inf) -> SentCell:
    started = RunStarted(task=cell.task, settings=cell.settings, prompts=cell.prompts, version="")
    seconds = None if seconds_left == inf else seconds_left
    return SentCell(cell.run, codec.write(started), cell.again, seconds)


class CellWorker:
    def __init__(self, opening: Opening) -> None:
        self._suite = opening.suite
        self.journal = Journal.open(opening.journal, create=False)
        self._lock = ExitStack()
        self._lock.enter_context(self.journal.lock(opening.worker))
        self._leases = Leases(self.journal, opening.worker)
        self._budget: LeasedBudget | None = None
        if opening.budget != Budget():
            self._budget = self._leases.budget(opening.suite, opening.budget)
        pool = ModelPool(
            opening.base_url, allow_http=opening.allow_http, limiter=self._leases.limiter
        )
        self._switch = StopSwitch()
        self.stop = self._switch.stop
        self._cells = LocalExecutor(
            self.journal, pool, self._switch, None, lambda _: self._budget, CellServices()
        )
        self._watching = asyncio.create_task(self._watch())

    async def run(self, sent: SentCell) -> CellOutcome:
        """Run a cell to its end or a pause, from where another worker left it."""
        if self._budget and sent.seconds_left is not None:
            self._budget.time_ends = monotonic() + sent.seconds_left
        started = codec.read_event(sent.started)
        assert isinstance(started, RunStarted)
        cell = CellRun(
            run=sent.run,
            part="",
            task=started.task,
            settings=started.settings,
            prompts=started.prompts,
            again=sent.again,
        )
        try:
            return await self._cells.run(cell)
        except WritingFailed:
            # Its cells go on in the process that replaces this one, with a connection that works.
            os._exit(1)
        except AutoreasonError as error:
            return CellOutcome(None, refusal=str(error))

    async def _watch(self) -> None:
        """Start no calls while no process drives the suite: it was killed, or lost the journal."""
        while True:
            with suppress(JournalError):
                owner = await asyncio.to_thread(self.journal.lock_owner, self._suite)
                self._leases.allow(allowed=owner is not None)
            await asyncio.sleep(_WATCH_SECONDS)


def _take_pipes() -> tuple[BinaryIO, int]:
    """The pipes from and to the scheduler; models and rules of the user's own read nothing and print as errors do."""
    pipes = os.fdopen(os.dup(0), "rb", buffering=0), os.dup(1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return pipes


async def _work() -> None:
    """Work until the scheduler is gone; what is under way then is asked again, as after any kill."""
    commands, replies = _take_pipes()
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), commands
    )
    if not (opening := await reader.readline()):
        return
    worker = CellWorker(msgspec.json.decode(opening, type=Opening))
    tasks: set[asyncio.Task[None]] = set()

    async def run(sent: SentCell) -> None:
        data = _line((sent.run, await worker.run(sent)))
        with suppress(BrokenPipeError):
            while data:
                data = data[os.write(replies, data) :]

    while data := await reader.readline():
        if data == _STOP:
            worker.stop()
            continue
        task = asyncio.create_task(run(msgspec.json.decode(data, type=SentCell)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def _line(message: object) -> bytes:
    return msgspec.json.encode(message) + b"\n"


read_outcome = msgspec.json.Decoder(tuple[str, CellOutcome]).decode
"""The run of a cell, and what came of it."""


class WorkerDied(Exception):
    """A worker is gone, or cannot be reached any more."""


class Worker(Protocol):
    """A worker as its scheduler sees it; where it is gone, `run` raises `WorkerDied`."""

    async def run(self, cell: SentCell) -> CellOutcome: ...
    def stop(self) -> None: ...
    async def close(self) -> None: ...


class _WorkerProcess:
    def __init__(self, process: Process, opening: Opening) -> None:
        self._process = process
        self._cells: dict[str, asyncio.Future[CellOutcome]] = {}
        self._send(_line(opening))
        self._reading = asyncio.create_task(self._read())

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(line)

    async def run(self, cell: SentCell) -> CellOutcome:
        if self._reading.done():
            raise WorkerDied
        ended = self._cells[cell.run] = asyncio.get_running_loop().create_future()
        self._send(_line(cell))
        try:
            outcome: CellOutcome = await ended
        finally:
            del self._cells[cell.run]
        return outcome

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with suppress(msgspec.DecodeError):
                while data := await self._process.stdout.readline():
                    run, outcome = read_outcome(data)
                    if run in self._cells:
                        self._cells[run].set_result(outcome)
        finally:
            # Else it would go on with the cells that another is sent.
            await self._kill()
            for ended in self._cells.values():
                if not ended.done():
                    ended.set_exception(WorkerDied())

    def stop(self) -> None:
        self._send(_STOP)

    async def close(self) -> None:
        await self._kill()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _kill(self) -> None:
        if self._process.returncode is None:
            # `Process.kill` would wait for an ended process too, which only asyncio's watcher may.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()


class _Started:
    """A worker, and all cells that it was ever sent."""

    def __init__(self, name: str, worker: Worker) -> None:
        self.name, self.worker = name, worker
        self.load, self.cells = 0, set[str]()
        self.burial: asyncio.Task[None] | None = None


class WorkerExecutor:
    """Runs cells in workers on this machine. When one dies, the journal says what its cells have used."""

    def __init__(
        self, terms: Lab, journal: Journal, settings: Settings, switch: StopSwitch
    ) -> None:
        self._terms, self._journal = terms, journal
        self._settings, self._switch = settings, switch
        self._table = journal.open_leases()
        self._suite = ""
        self._clock: BudgetTracker | None = None
        self._counted: dict[str, CostBound] = {}
        """What cells had used when this process began, or when their worker died."""
        self._workers: list[_Started] = []
        self._starting = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None

    async def run(self, cell: CellRun) -> CellOutcome:
        for _ in range(_MAX_DEATHS):
            chosen = await self._least_loaded(suite_name(cell.run))
            sent = send_cell(cell, self._clock.seconds_left if self._clock else inf)
            chosen.load += 1
            chosen.cells.add(cell.run)
            try:
                return await chosen.worker.run(sent)
            except WorkerDied:
                if chosen.burial is None:
                    self._workers.remove(chosen)
                    chosen.burial = asyncio.create_task(self._bury(chosen))
                await asyncio.shield(chosen.burial)
            finally:
                chosen.load -= 1
        raise ProviderFailed(f"{cell.run}: its worker died {_MAX_DEATHS} times")

    async def _least_loaded(self, suite: str) -> _Started:
        async with self._starting:
            if not self._suite:
                await self._open(suite)
            while len(self._workers) < self._wanted():
                place, settings = self._journal.place, self._settings
                opening = Opening(
                    worker=f"worker-{uuid4().hex[:12]}",
                    suite=suite,
                    budget=settings.budget,
                    journal=place.url if isinstance(place, ServerUrl) else str(place),
                    base_url=settings.base_url,
                    allow_http=settings.allow_http,
                )
                self._workers.append(_Started(opening.worker, await self._start(opening)))
            return min(self._workers, key=lambda each: each.load)

    def _wanted(self) -> int:
        return self._terms.workers

    async def _start(self, opening: Opening) -> Worker:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "autoreason.run.workers"),
            stdin=PIPE,
            stdout=PIPE,
            limit=_LONGEST_LINE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        return _WorkerProcess(process, opening)

    async def _open(self, suite: str) -> None:
        """Count what was used before, once the workers of a process that was killed are gone."""
        for account, holder in await self._table.holders():
            if account == suite and holder != BASE:
                async with lock_when_free(self._journal, holder):
                    pass
        self._suite = suite
        await self._clear()
        budget = self._settings.budget
        self._clock = await asyncio.to_thread(open_tracker, self._journal, budget, suite)
        if self._clock:
            await self._count(await asyncio.to_thread(usage_by_cell, self._journal, budget, suite))
        self._watching = asyncio.create_task(self._pass_stop_on())

    async def _pass_stop_on(self) -> None:
        while True:
            # The switch is set from a handler of signals as well, and workers may be started later.
            for each in self._workers if self._switch.stopped else ():
                each.worker.stop()
            await asyncio.sleep(_POLL_SECONDS)

    async def _bury(self, dead: _Started) -> None:
        """Nobody goes on with the cells of a worker before it has surely ended, and they are counted."""
        await dead.worker.close()
        journal, budget = self._journal, self._settings.budget

        def read() -> dict[str, CostBound]:
            return {run: usage(journal, budget, run, journal.spent(run)) for run in dead.cells}

        async with lock_when_free(journal, dead.name):
            if self._clock:
                await self._count(await asyncio.to_thread(read), dead.name)

    async def _count(self, found: dict[str, CostBound], dead: str = BASE) -> None:
        self._counted |= found
        used = total(self._counted.values())

        def decide(rows: HeldRows, _now: float) -> None:
            rows[self._suite].pop(dead, None)
            rows[self._suite][BASE] = as_row(Lease(used, used))

        await self._table.update([self._suite], decide)

    async def _clear(self) -> None:
        """End all leases of this suite, of workers that are gone, and of what nobody shares any more."""
        found = await self._table.holders()
        alive = await asyncio.to_thread(self._journal.locked_runs)
        # Those of another suite that runs are the matter of its own process.
        accounts = {account for account, _ in found} - (alive - {self._suite})

        def decide(rows: HeldRows, _now: float) -> None:
            for account, holder in found:
                if account in accounts and holder not in (BASE, *alive):
                    rows[account].pop(holder, None)
            for held in rows.values():
                if held.keys() <= {BASE}:
                    held.clear()

        await self._table.update(accounts, decide)

    async def close(self) -> None:
        if self._watching:
            self._watching.cancel()
        for each in self._workers:
            await each.worker.close()
        # A journal that cannot be reached any more does not fail it here.
        with suppress(AutoreasonError):
            for each in self._workers:
                async with lock_when_free(self._journal, each.name):
                    pass
            if self._suite:
                await self._clear()
            self._table.close()


_COUNT_SECONDS = 5.0
"""Between two counts of the processors of a cluster."""
_PATIENCE = 10.0
_STORE_BYTES = 100 * 2**20
"""For a cluster of our own: cells go through no shared memory."""


def require_server(place: Place) -> None:
    if not isinstance(place, ServerUrl):
        raise InvalidInput("Ray needs a journal on a server; give `journal` postgresql://…")


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


def _save_here(files: Mapping[str, bytes]) -> None:
    """Save what another machine has saved, where it is missing; it is checked by its digest when it is read."""
    for name, body in files.items():
        path = data_folder() / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(path, body, private=True)


class CellActor:
    def __init__(self, opening: Opening, files: Sequence[Awaitable[Mapping[str, bytes]]]) -> None:
        self._opening, self._files = opening, files
        self._worker: CellWorker | None = None

    async def run(self, cell: SentCell) -> CellOutcome:
        for files in self._files:
            _save_here(await files)
        return await self._open().run(cell)

    async def stop(self) -> None:
        self._open().stop()

    def _open(self) -> CellWorker:
        # Not when the actor is created, where there is no event loop yet.
        self._worker = self._worker or CellWorker(self._opening)
        return self._worker


class _RayWorker:
    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def run(self, cell: SentCell) -> CellOutcome:
        try:
            outcome: CellOutcome = await self._actor.run.remote(cell)
        except _ray().exceptions.RayActorError as error:
            raise WorkerDied from error
        return outcome

    def stop(self) -> None:
        self._actor.stop.remote()

    async def close(self) -> None:
        _ray().kill(self._actor)


class RayExecutor(WorkerExecutor):
    """Runs cells in workers that Ray spreads over the nodes of a cluster."""

    _ours = False
    _tasks: Suite
    _files: list[Any] | None = None
    _processors, _counted_at = 0, 0.0

    @classmethod
    async def connect(
        cls, suite: Suite, terms: Lab, journal: Journal, settings: Settings, switch: StopSwitch
    ) -> RayExecutor:
        require_server(journal.place)
        # In a thread: it takes seconds, and in the main one Ray would take our signals.
        ours = await asyncio.to_thread(connect, terms.ray)
        executor = cls(terms, journal, settings, switch)
        executor._ours, executor._tasks = ours, suite
        return executor

    def _wanted(self) -> int:
        if not self._terms.workers and monotonic() >= self._counted_at + _COUNT_SECONDS:
            # A cluster of our own says none.
            processors = int(_ray().cluster_resources().get("CPU", 0)) or os.cpu_count() or 1
            self._processors, self._counted_at = min(MAX_WORKERS, processors), monotonic()
        return self._terms.workers or self._processors

    async def _start(self, opening: Opening) -> Worker:
        ray = _ray()
        if self._files is None:
            files = saved_files(self._tasks)
            # In a list Ray leaves it where it is until a worker asks; as an argument it warns that it may be lost.
            self._files = [ray.put(files)] if files else []
        actors = ray.remote(CellActor).options(
            # They wait for models, so that none needs a processor of its own; else
            # one that lost its node could not begin again on a cluster that is full.
            num_cpus=0,
            scheduling_strategy="SPREAD",
            max_concurrency=2 * MAX_PARALLEL,
        )
        return _RayWorker(actors.remote(opening, self._files))

    async def close(self) -> None:
        await super().close()
        if self._ours:
            await asyncio.to_thread(_ray().shutdown)


def _ray() -> Any:
    """Ray's module, whose types are not all to be had."""
    try:
        return import_module("ray")
    except ImportError:
        raise InvalidInput("`ray` needs Ray; run `pip install '.[ray]'` in the clone") from None


def connect(address: str) -> bool:
    """Connect this process to a cluster; false where it is connected already."""
    ray = _ray()
    if ray.is_initialized():
        return False
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Else it prints what its own logs have of workers that died, on standard output.
    import_module("ray._private.worker")._worker_logs_enabled = False  # type: ignore[attr-defined]
    # Ray would report to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Else it warns of what concerns GPUs only.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    own: dict[str, Any] = {"num_cpus": 0, "object_store_memory": _STORE_BYTES}
    try:
        host, colon, port = address.rpartition(":")
        if colon:
            # Where nothing listens Ray itself would try for many minutes.
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
        ray.init(
            address=address,
            include_dashboard=False if address == "local" else None,
            configure_logging=False,
            log_to_driver=False,
            **(own if address == "local" else {}),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"no Ray cluster is at {address} ({error}); try local") from error
    return True


if __name__ == "__main__":
    # The scheduler, which the terminal interrupts too, says what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.new_event_loop().run_until_complete(_work())
    os._exit(0)
