"""Leases in the journal: what a decision on them costs, by how many workers have a row."""

from __future__ import annotations

import asyncio
import tempfile
import time

from autoreason.journal import Journal
from autoreason.journal.writer import HeldRows
from autoreason.models.budget import CostBound
from autoreason.run.leases import Lease, as_row
from benchmarks.measure import Measure, for_information
from benchmarks.postgres import own_server

_DECISIONS = 300
_HOLDERS = (2, 100, 1000)


def measure_leases(decisions: int = _DECISIONS) -> list[Measure]:
    """Seconds and processor time of this process for a decision, on each kind of database."""
    with (
        own_server(durable=True) as server,
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
    ):
        places = {"SQLite": f"{folder}/journal.db", "PostgreSQL": server.create()}
        return [
            for_information(
                "leases",
                f"{kind}, {holders:,} workers: a decision, processor time of it",
                "{:.2f} ms, {:.2f} ms".format(
                    *asyncio.run(time_decisions(url, holders, decisions))
                ),
            )
            for kind, url in places.items()
            for holders in _HOLDERS
        ]


async def time_decisions(url: str, holders: int, decisions: int) -> tuple[float, float]:
    """Milliseconds by the clock and of the processor."""
    row = as_row(Lease(CostBound(9, 9000, None), CostBound(3, 3000, None)))

    def fill(rows: HeldRows, _now: float) -> None:
        rows["suite"] = {f"worker-{number}": row for number in range(holders)}

    def decide(rows: HeldRows, now: float) -> int:
        rows["suite"]["worker-0"] = as_row(Lease(since=now))
        return len(rows["suite"])

    with Journal.open(url, create=True) as journal:
        table = journal.open_leases()
        await table.update(["suite"], fill)
        clock, processor = time.monotonic(), time.process_time()
        for _ in range(decisions):
            await table.update(["suite"], decide)
        took = time.monotonic() - clock, time.process_time() - processor
        table.close()
    return 1000 * took[0] / decisions, 1000 * took[1] / decisions
