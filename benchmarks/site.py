"""How quickly a site of many runs is written: every page and the list."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.run.refine import refine
from autoreason.run.site import write_site
from benchmarks.growth import multiply
from benchmarks.measure import Measure, at_most, for_information

_RECORDED, _RUNS = 20, 1_000
_MOST_SECONDS = 1 / 20
"""Processor time for a page."""


def measure_site(runs: int = _RUNS) -> list[Measure]:
    """A site of so many runs of six rounds, whose texts are short."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        url = str(Path(folder, "journal.db"))
        with Journal.open(url, create=True) as journal:
            asyncio.run(_record(journal))
        # Every second copy is a cell of a suite, which a site does not list.
        multiply(url, 1, 2 * runs // _RECORDED)
        with Journal.open(url, create=False) as journal:
            rows = journal.runs(runs)
            began, cpu = time.perf_counter(), time.process_time()
            site = write_site(Path(folder, "site"), rows, journal)
            wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        size = sum(page.stat().st_size for page in Path(folder, "site").rglob("*.html"))
    what = f"a site of {site.pages:,} runs of six rounds: processor time a page"
    return [
        at_most("site", what, 1000 * cpu / site.pages, 1000 * _MOST_SECONDS, "ms"),
        for_information(
            "site",
            "pages a second; size of a page",
            f"{site.pages / wall:.0f}/s; {size / site.pages / 1000:.0f} kB",
        ),
    ]


async def _record(journal: Journal) -> None:
    for seed in range(_RECORDED):
        await refine.aio("Explain tides.", EchoModel(), passes=6, k=99, journal=journal, seed=seed)
