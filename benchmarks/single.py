"""One run at a time, from the command line: idle time, start-up, streaming."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import median

from benchmarks.commands import AUTOREASON, Ran, run, timed
from benchmarks.measure import Measure, at_most, for_information
from benchmarks.server import serving
from benchmarks.timing import idle, longest_chain

_FOUR_PASSES = ("--passes", "4", "-k", "99", "--seed", "1")
_SHORT = ("--passes", "1", "--judges", "2", "--no-playoff", "--seed", "1")
_LATENCY = 200.0
_BARE = (sys.executable, "-c", "pass")
_AIOHTTP = (sys.executable, "-c", "import aiohttp")
_HELP = (AUTOREASON, "--help")


def measure_idle(rounds: int = 5) -> list[Measure]:
    """How long the provider has nothing to do because we are busy, and how long we are after it."""
    shares, idles, chains, after = [], [], [], []
    for _ in range(rounds):
        with serving(_LATENCY) as provider:
            ran = run(_FOUR_PASSES, provider)
        chains.append(longest_chain(ran.calls))
        idles.append(1000 * idle(ran.calls))
        shares.append(100 * idles[-1] / (chains[-1] * _LATENCY))
        after.append(1000 * ran.after_last)
    step = median(idles) / (median(chains) - 1)
    return [
        at_most(
            "idle",
            f"between reply and next call, of the critical path ({median(chains):.0f} x 200 ms)",
            median(shares),
            2.0,
            "%",
            idle_ms=median(idles),
            best=min(shares),
            worst=max(shares),
        ),
        for_information("idle", "the same per step", f"{step:.2f} ms", step_ms=step),
        at_most("idle", "last reply to exit", median(after), 100.0, "ms", best=min(after)),
    ]


def measure_startup(rounds: int = 11) -> list[Measure]:
    """How long until something happens."""
    bare, helped, imported, runs = zip(*(_start() for _ in range(rounds + 1)), strict=True)
    times = _milliseconds(helped) / _milliseconds(bare)
    first = median(one.to_first for one in runs)
    multiple = 1000 * first / _milliseconds(bare)
    aiohttp = _milliseconds(imported) - _milliseconds(bare)
    return [
        at_most(
            "startup",
            f"`--help`, as a multiple of a bare interpreter ({_milliseconds(bare):.0f} ms)",
            times,
            10.0,
            "x",
            help_ms=_milliseconds(helped),
            bare_ms=_milliseconds(bare),
            help_cpu_ms=1000 * median(one.cpu for one in helped),
            bare_cpu_ms=1000 * median(one.cpu for one in bare),
        ),
        at_most(
            "startup",
            "process start to first model request",
            first,
            0.45,
            "s",
            best=min(one.to_first for one in runs),
            cpu_ms=1000 * median(one.cpu_at_first for one in runs),
        ),
        for_information(
            "startup",
            "the same, as a multiple of a bare interpreter",
            f"{multiple:.1f} x",
            multiple=multiple,
        ),
        for_information(
            "startup", "`import aiohttp` alone", f"{aiohttp:.0f} ms", aiohttp_ms=aiohttp
        ),
    ]


def _start() -> tuple[Ran, Ran, Ran, Ran]:
    """Everything whose start is compared, once."""
    with serving() as provider:
        return timed(_BARE), timed(_HELP), timed(_AIOHTTP), run(_SHORT, provider)


def measure_streaming(rounds: int = 5) -> list[Measure]:
    """What a run with a live view takes."""
    running, whole, memory, calls = [], [], [], 0
    for _ in range(rounds):
        with serving(_LATENCY) as provider:
            ran = run(_FOUR_PASSES, provider, terminal=True)
        calls = len(ran.calls)
        running.append(1000 * (ran.cpu - ran.cpu_at_first) / calls)
        whole.append(1000 * ran.cpu / calls)
        memory.append(ran.memory)
    return [
        at_most(
            "streaming",
            f"processor time a call, live view on, {calls} calls",
            median(running),
            10.0,
            "ms",
            best=min(running),
            worst=max(running),
        ),
        for_information("streaming", "the same with start-up", f"{median(whole):.1f} ms"),
        at_most("streaming", "peak memory", max(memory), 80.0, "MB"),
    ]


def _milliseconds(runs: Sequence[Ran]) -> float:
    return 1000 * median(one.wall for one in runs)
