"""Many runs at once in a separate process, or the bare loop that they are compared with."""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession, TCPConnector
from msgspec import Struct

from autoreason.exchange import Request
from autoreason.journal import Journal
from autoreason.keys import Key
from autoreason.models.dialects.openai import chat_body
from autoreason.models.layers import CircuitBreaker, ConcurrencyLimiter, RetryingModel
from autoreason.models.pool import ModelPool, open_model
from autoreason.models.providers import Quirks
from autoreason.run.refine import refine
from benchmarks.commands import BRIEF

ADDRESS = "openai/fake"
_MEGABYTE = 1024 if sys.platform != "darwin" else 1024 * 1024
Wave = list[dict[str, Any]]
"""Bodies of calls made side by side."""


class WorkCost(Struct, frozen=True, kw_only=True):
    """What the work cost."""

    calls: int
    seconds: float
    cpu: float
    memory: float
    """Megabytes at the peak."""

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds


async def run_all(base: str, runs: int, passes: int, journal: Journal, width: int = 0) -> int:
    """Runs side by side with one pool and one journal; how many calls they made."""
    pool = ModelPool(base)
    if width:
        model = RetryingModel(
            open_model(ADDRESS, base_url=base),
            limiter=ConcurrencyLimiter(width),
            breaker=CircuitBreaker("openai"),
        )
        pool.add({ADDRESS: model})
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    refine.aio(
                        BRIEF, ADDRESS, seed=seed, journal=journal, pool=pool, k=99, passes=passes
                    )
                )
                for seed in range(runs)
            ]
    finally:
        await pool.close()
        if width:
            await model.close()
    results = [task.result() for task in tasks]
    if any(result.status != "capped" for result in results):
        raise RuntimeError("a run did not end as it should")
    return sum(result.calls for result in results)


async def record_waves(base: str, passes: int, journal: Journal) -> list[Wave]:
    """The calls of one run in the order in which they must follow one another."""
    await run_all(base, 1, passes, journal)
    requests = [call.request for call in journal.calls(journal.runs()[0].id)]
    return [
        [chat_body(request, "fake", Quirks(), False) for request in wave]
        for _, wave in groupby(requests, key=_stage)
    ]


def _stage(request: Request) -> str:
    """Judges of one panel are asked together, all others alone."""
    return str(Key.parse(request.key).before("judge"))


async def loop_bare(base: str, waves: list[Wave], workers: int) -> int:
    """The same calls in the same order with nothing but the HTTP client; how many there were."""
    headers = {"authorization": "Bearer x"}
    async with ClientSession(connector=TCPConnector(limit=0), headers=headers) as session:

        async def call(body: dict[str, Any]) -> None:
            async with session.post(f"{base}/chat/completions", json=body) as response:
                await response.json()

        async def work() -> None:
            for wave in waves:
                if len(wave) == 1:
                    await call(wave[0])
                else:
                    await asyncio.gather(*map(call, wave))

        await asyncio.gather(*(work() for _ in range(workers)))
    return workers * sum(map(len, waves))


async def measure(mode: str, base: str, runs: int, passes: int, width: int) -> WorkCost:
    """Do the work and look at the clocks."""
    with (
        tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder,
        Journal.open(str(Path(folder, "journal.db")), create=True) as journal,
    ):
        waves = await record_waves(base, passes, journal) if mode == "bare" else []
        cpu, started = time.process_time(), time.monotonic()
        if mode == "bare":
            calls = await loop_bare(base, waves, runs)
        else:
            calls = await run_all(base, runs, passes, journal, width)
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGABYTE
    return WorkCost(calls=calls, seconds=seconds, cpu=cpu, memory=peak)


def main() -> None:
    """Run in the given mode and print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("ours", "bare"))
    parser.add_argument("base")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--width", type=int, default=0, help="calls at once from the start")
    arguments = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "x"
    cost = asyncio.run(
        measure(arguments.mode, arguments.base, arguments.runs, arguments.passes, arguments.width)
    )
    print(msgspec.json.encode(cost).decode())


if __name__ == "__main__":
    main()
