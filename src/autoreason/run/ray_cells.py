"""Workers on a Ray cluster, which only places them."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from autoreason.artifacts.research_task import research_of
from autoreason.artifacts.saved_evaluation import evaluation_path
from autoreason.errors import InvalidInput
from autoreason.files import write_atomically
from autoreason.job_types import MAX_PARALLEL, MAX_WORKERS, Lab
from autoreason.journal import Journal
from autoreason.paths import Place, ServerUrl, data_folder
from autoreason.programs.examiner.process import set_path
from autoreason.run.cells import CellOutcome
from autoreason.run.result import StopSwitch
from autoreason.run.workers import (
    CellWorker,
    Opening,
    SentCell,
    Worker,
    WorkerDied,
    WorkerExecutor,
)
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import Suite

_LOOK_SECONDS = 5.0
"""Between two looks at how large the cluster is."""
_PATIENCE = 10.0
_STORE_BYTES = 100 * 2**20
"""For a cluster of our own: cells go through no shared memory."""


def require_server(place: Place) -> None:
    """Refuse a journal that other machines cannot write to."""
    if not isinstance(place, ServerUrl):
        raise InvalidInput(
            "workers on a Ray cluster cannot share a file of SQLite; "
            "give a journal on a server, `journal` postgresql://…"
        )


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
    """A worker as an actor."""

    def __init__(self, opening: Opening, files: Sequence[Awaitable[Mapping[str, bytes]]]) -> None:
        self._opening, self._files = opening, files
        self._worker: CellWorker | None = None

    async def run(self, cell: SentCell) -> CellOutcome:
        """Run a cell to its end or a pause."""
        for files in self._files:
            _save_here(await files)
        return await self._open().run(cell)

    async def stop(self) -> None:
        """No new calls from now on."""
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
    _processors, _looked = 0, 0.0

    @classmethod
    async def connect(
        cls,
        suite: Suite,
        terms: Lab,
        journal: Journal,
        settings: Settings,
        switch: StopSwitch,
    ) -> RayExecutor:
        """Connect to the cluster, or start one; refuses what cannot work there."""
        require_server(journal.place)
        # In a thread: it takes seconds, and in the main one Ray would take our signals.
        ours = await asyncio.to_thread(connect, terms.ray)
        executor = cls(terms, journal, settings, switch)
        executor._ours, executor._tasks = ours, suite
        return executor

    def _wanted(self) -> int:
        if not self._terms.workers and monotonic() >= self._looked + _LOOK_SECONDS:
            # A cluster of our own says none.
            processors = int(_ray().cluster_resources().get("CPU", 0)) or os.cpu_count() or 1
            self._processors, self._looked = min(MAX_WORKERS, processors), monotonic()
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
        """End all workers, and the cluster where it was started here."""
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
    if address.startswith("ray://"):
        raise InvalidInput(
            f"{address} is for Ray's client, which is not supported; run this on a machine of the "
            "cluster and give auto, or host:port"
        )
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
        _look_for(address)
        ray.init(
            address=address,
            include_dashboard=False if address == "local" else None,
            configure_logging=False,
            log_to_driver=False,
            **(own if address == "local" else {}),
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"no Ray cluster can be reached at {address} ({error}); start one, or give local"
        ) from error
    return True


def _look_for(address: str) -> None:
    """Raise where nothing listens at host:port: Ray itself would try for many minutes."""
    host, colon, port = address.rpartition(":")
    if colon:
        with socket.create_connection((host, int(port)), timeout=_PATIENCE):
            pass
