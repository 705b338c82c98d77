"""Two hundred runs at once, as cells of a suite: in one process, in two, and in two workers on Ray."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from autoreason.journal import Journal
from autoreason.run.lab import lab
from benchmarks.measure import Measure, for_information
from benchmarks.postgres import own_server
from benchmarks.server import ROOT

_RUNS = 200
_CELLS = 400
_MODEL = f"{ROOT / 'benchmarks' / 'thinking.py'}:ThinkingModel/thinking"
_SUITE = """\
name: scaling
seed: 1
tasks:
{tasks}
arms:
  contest: {{passes: 4, k: 99, reviewers: 0, draft: own, candidates: B+AB, judges: 5}}
  again: {{passes: 4, k: 99, reviewers: 0, draft: own, candidates: B+AB, judges: 3}}
repeats: 1
measures: [words]
"""


def measure_scaling(rounds: int = 3) -> list[Measure]:
    """Call rates of two processes as multiples of one's, each with the same kind of journal, in alternation."""
    ways: dict[str, dict[str, Any]] = {"one": {}, "two": {"workers": 2}}
    with (
        own_server(durable=True) as server,
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
    ):
        path = write_suite(Path(folder), _CELLS)
        files: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds):
            for way, options in ways.items():
                url = f"{folder}/{way}{number}.db"
                files[way].append(asyncio.run(rate(path, url, parallel=_RUNS, **options)))
        measures = _compare("`--workers 2`, journal in a file", files["one"], files["two"], 1.8)
        if find_spec("ray") is None:
            return [*measures, for_information("scaling", "Ray is not installed", "–")]
        rates: dict[str, list[float]] = {"one": [], "two": []}
        for _ in range(rounds):
            for way, options in ({"one": {}, "two": {"workers": 2, "ray": "local"}}).items():
                rates[way].append(
                    asyncio.run(rate(path, server.create(), parallel=_RUNS, **options))
                )
        on_server = "`--ray local --workers 2`, journal on a server"
        return [*measures, *_compare(on_server, rates["one"], rates["two"], 1.6)]


def write_suite(folder: Path, cells: int) -> Path:
    """The file of a suite of so many cells."""
    path = folder / "suite.yaml"
    lines = "\n".join(f"  t{number}: Explain tide number {number}." for number in range(cells // 2))
    path.write_text(_SUITE.format(tasks=lines))
    return path


async def rate(path: Path, url: str, **options: Any) -> float:
    """Calls a second, without the first and the last tenth: starting and ending are not what is compared."""
    with Journal.open(url, create=True) as journal:
        result = await lab.aio(path, _MODEL, journal=journal, anyway=True, **options)
        assert result.status == "done", result.reason
        times = sorted(_reply_times(journal, result.run))
    cut = len(times) // 10
    middle = times[cut:-cut]
    return (len(middle) - 1) / (middle[-1] - middle[0]).total_seconds()


def _reply_times(journal: Journal, suite: str) -> list[datetime]:
    return [call.at for cell in journal.cells(suite) for call in journal.calls(cell.id)]


def _compare(what: str, one: list[float], two: list[float], target: float) -> list[Measure]:
    ratios = [second / first for first, second in zip(one, two, strict=True)]
    value = median(ratios)
    return [
        Measure(
            name="scaling",
            what=f"{_RUNS} runs at once: calls a second of {what}, as a multiple of one process's",
            target=f"≥ {target:g} x",
            measured=f"{value:.2f} x",
            kept=value >= target,
            raw={"value": value, "best": max(ratios), "worst": min(ratios)},
        ),
        for_information(
            "scaling",
            "the same: calls a second of one process and of two",
            f"{median(one):.0f} and {median(two):.0f}",
            one=median(one),
            two=median(two),
        ),
    ]
