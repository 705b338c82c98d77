"""A worker of a cluster: no cell is run by two of them."""

from __future__ import annotations

import asyncio
from math import inf
from pathlib import Path

from autoreason.job_types import Refine
from autoreason.journal import Journal
from autoreason.run.cell_messages import Opening, start_cell
from autoreason.run.cell_worker import CellWorker
from autoreason.run.cells import CellRun
from autoreason.run.gate_client import GateClient
from autoreason.settings import Models, Settings
from autoreason.task import Task

CELL = "20260101-amber-fox.0001"


async def test_a_cell_that_two_workers_are_sent_is_run_once(tmp_path: Path) -> None:
    url = str(tmp_path / "journal.db")
    Journal.open(url, create=True).close()
    settings = Settings(
        job=Refine(strategy="single"), models=Models.everywhere("echo/echo"), seed=1
    )
    cell = CellRun(run=CELL, part="a", task=Task(brief="Explain tides."), settings=settings)
    message = start_cell(cell, limited=False)
    opening = Opening(journal=url, base_url=None, allow_http=False)
    workers = [CellWorker(opening, GateClient(lambda _: None)) for _ in range(3)]
    ended = await asyncio.gather(*(worker.run_alone(message, inf) for worker in workers))
    assert ended[0].result
    assert ended[0].result.finished
    assert ended[1:] == ended[:1] * 2
    assert workers[0].journal.row(CELL).spent.calls == 1
    for worker in workers:
        worker.journal.close()
