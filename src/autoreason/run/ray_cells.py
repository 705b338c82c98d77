"""Cells on a Ray cluster: Ray places the workers, restarts them where nodes are lost, and sends their cells again."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections import Counter
from hashlib import sha256
from importlib import import_module
from time import monotonic
from typing import Any

import msgspec

from autoreason.errors import InvalidInput, ProviderFailed
from autoreason.job_types import MAX_PARALLEL, MAX_WORKERS, Lab
from autoreason.journal import Journal
from autoreason.paths import Place, ServerUrl, hide_password
from autoreason.run.cell_messages import opening, start_cell
from autoreason.run.cell_workers import pass_stop_on, read_outcome
from autoreason.run.cells import CellOutcome, CellRun
from autoreason.run.ray_gate import Account, GateActor, SuiteOpening, open_gate
from autoreason.run.ray_worker import CellActor, saved_files
from autoreason.run.result import StopSwitch
from autoreason.settings import Settings
from autoreason.studies.lab.lab_suite import Suite

_LOOK_SECONDS = 5.0
"""Between two looks at how large the cluster is."""
_PATIENCE = 10.0
_MAX_RESTARTS = 100
"""Of a worker, before a cell is to blame; nodes that announce their end do not count."""
_STORE_BYTES = 100 * 2**20
"""For a cluster of our own: cells go through no shared memory."""


def require_server(place: Place) -> None:
    """Refuse a journal that other machines cannot write to."""
    if not isinstance(place, ServerUrl):
        raise InvalidInput(
            "workers on a Ray cluster cannot share a file of SQLite; "
            "give a journal on a server, `journal` postgresql://…"
        )


class RayExecutor:
    """Runs cells in actors on the nodes of a cluster; the gate is an actor, too."""

    def __init__(
        self,
        suite: Suite,
        terms: Lab,
        journal: Journal,
        settings: Settings,
        switch: StopSwitch,
    ) -> None:
        self._tasks = suite
        self._terms, self._settings, self._switch = terms, settings, switch
        self._opening = opening(journal, settings)
        self._ours = False
        self._files: list[Any] = []
        self._gate: Any = None
        self._gate_is_ours = False
        self._workers: list[Any] = []
        self._load: Counter[int] = Counter()
        self._looked = 0.0
        self._watching: asyncio.Task[None] | None = None

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
        executor = cls(suite, terms, journal, settings, switch)
        # In a thread: it takes seconds, and in the main one Ray would take our signals.
        executor._ours = await asyncio.to_thread(connect, terms.ray)
        return executor

    async def run(self, cell: CellRun) -> CellOutcome:
        """Run a cell in the worker that has the fewest."""
        opening = self._suite(cell.suite)
        self._open(opening)
        number = min(range(len(self._workers)), key=self._load.__getitem__)
        data = msgspec.json.encode(start_cell(cell, limited=opening.account.limited))
        self._load[number] += 1
        try:
            return read_outcome(await self._workers[number].run.remote(data))
        except _ray().exceptions.RayActorError as error:
            raise ProviderFailed(
                f"{cell.run}: its worker died {_MAX_RESTARTS} times; see Ray's own logs"
            ) from error
        finally:
            self._load[number] -= 1

    def _suite(self, suite: str) -> SuiteOpening:
        account = Account(suite=suite, budget=self._settings.budget)
        return SuiteOpening(account=account, worker=self._opening, cluster=self._cluster())

    def _cluster(self) -> str:
        address = _ray().get_runtime_context().gcs_address
        # By whichever user.
        database = hide_password(self._opening.journal).rpartition("@")[2]
        return sha256(f"{address} {database}".encode()).hexdigest()[:12]

    def _open(self, opening: SuiteOpening) -> None:
        """Create the actors; more of them where the cluster has grown."""
        if self._gate is None:
            self._gate, self._gate_is_ours = open_gate(opening, GateActor)
            if files := saved_files(self._tasks):
                # In a list Ray leaves it where it is until a worker asks; as an argument it warns that it may be lost.
                self._files = [_ray().put(files)]
            self._watching = asyncio.create_task(pass_stop_on(self._switch, self._stop))
        if self._workers and monotonic() < self._looked + _LOOK_SECONDS:
            return
        self._looked = monotonic()
        wanted = self._terms.workers or min(MAX_WORKERS, _processors())
        while len(self._workers) < wanted:
            worker = (
                _ray()
                .remote(CellActor)
                .options(
                    # They wait for models, so that none needs a processor of its own; else
                    # one that lost its node could not begin again on a cluster that is full.
                    num_cpus=0,
                    scheduling_strategy="SPREAD",
                    max_restarts=_MAX_RESTARTS,
                    # Ray tries several times a second while a node is lost and not known to be.
                    max_task_retries=-1,
                    max_concurrency=2 * MAX_PARALLEL,
                )
            )
            self._workers.append(worker.remote(opening, self._files))

    def _stop(self) -> None:
        for worker in self._workers:
            worker.stop.remote()

    async def close(self) -> None:
        """End the actors, and the cluster where it was started here."""
        ray = _ray()
        if self._watching:
            self._watching.cancel()
        # Other suites that use our gate start another, as when it dies.
        for actor in (*self._workers, *([self._gate] if self._gate_is_ours else [])):
            ray.kill(actor)
        if self._ours:
            await asyncio.to_thread(ray.shutdown)


def _ray() -> Any:
    """Ray's module, whose types are not all to be had."""
    try:
        return import_module("ray")
    except ImportError:
        raise InvalidInput("`ray` needs Ray; run `pip install '.[ray]'` in the clone") from None


def _processors() -> int:
    """How many the cluster has; a cluster of our own says none."""
    return int(_ray().cluster_resources().get("CPU", 0)) or os.cpu_count() or 1


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
