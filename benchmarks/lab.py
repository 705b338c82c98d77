"""A suite of two thousand cells with a scripted model: what scheduling costs, its status and its report."""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from autoreason.journal import Journal
from autoreason.models.doubles import EchoModel
from autoreason.run.cells import CellOutcome, CellRun, LocalExecutor, lab_status, report_of
from autoreason.run.lab import lab
from autoreason.studies.lab_suite import CellResult
from benchmarks.commands import bare_start
from benchmarks.measure import IN_STARTS, Measure, at_most, for_information

_TASKS, _REPEATS, _CELLS = 50, 8, 2000
_SUITE = """\
name: scale
seed: 1
tasks:
{tasks}
arms:
  single: {{strategy: single}}
  revised: {{strategy: critique_revise, passes: 1}}
  again: {{strategy: improve, passes: 1}}
repeats: {repeats}
panel: {{judges: 2}}
comparisons:
  - {{name: revising, question: Does revising help, arms: [revised, single, again]}}
  - {{name: length, question: Is it longer, arms: [revised, single], measure: words}}
"""


def write_suite(folder: Path, tasks: int = _TASKS, repeats: int = _REPEATS) -> Path:
    """The file of a suite with five cells for each task and repeat."""
    lines = "\n".join(f"  t{n}: Explain tide number {n}." for n in range(tasks))
    path = folder / "suite.yaml"
    path.write_text(_SUITE.format(tasks=lines, repeats=repeats))
    return path


def measure_lab() -> list[Measure]:
    """Scheduling, memory, status and report."""
    with tempfile.TemporaryDirectory(prefix="autoreason-lab-") as folder:
        path = write_suite(Path(folder))
        scheduling, cells = asyncio.run(_schedule(path, Path(folder)))
        memory = [_memory()]
        with Journal.open(f"{folder}/journal.db", create=True) as journal:
            started = time.monotonic()
            result = asyncio.run(lab.aio(path, EchoModel(), journal=journal, parallel=16))
            whole = time.monotonic() - started
            memory.append(_memory())
            status = _cpu(lambda: lab_status(result.run, journal=journal))
            report = _cpu(lambda: report_of(result.run, journal=journal).files())
    start = bare_start().cpu
    times = f"{1000 * scheduling / cells:.2f} ms, {1000 * status:.0f} ms, {report:.1f} s"
    return [
        at_most(
            "lab",
            f"scheduling a cell of {cells:,}, {IN_STARTS}",
            scheduling / cells / start,
            0.125,
            "x",
        ),
        at_most("lab", f"status of {_CELLS:,} cells, the same", status / start, 20.0, "x"),
        at_most("lab", f"report of {_CELLS:,} cells, every file", report / start, 100.0, "x"),
        for_information("lab", "processor time of these three", times),
        for_information(
            "lab", f"all of it: {_CELLS:,} cells, {result.calls:,} calls", f"{whole:.0f} s"
        ),
        for_information(
            "lab",
            "peak memory after scheduling, after all",
            " MB, ".join(f"{each:.0f}" for each in memory) + " MB",
        ),
    ]


def _cpu(work: Callable[[], object]) -> float:
    """Processor seconds, which a busy machine does not change."""
    started = time.process_time()
    work()
    return time.process_time() - started


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


async def _schedule(path: Path, folder: Path) -> tuple[float, int]:
    """Processor seconds of a suite whose cells are nothing, and how many cells there are."""
    number = 0

    async def run(_self: LocalExecutor, cell: CellRun) -> CellOutcome:
        nonlocal number
        number += 1
        text = f"A text of {cell.run}."
        return CellOutcome(CellResult(run=cell.run, status="done", reason="", text=text, words=4))

    with (
        Journal.open(f"{folder}/nothing.db", create=True) as journal,
        patch.object(LocalExecutor, "run", run),
    ):
        started = time.process_time()
        await lab.aio(path, EchoModel(), journal=journal, parallel=16)
        return time.process_time() - started, number
