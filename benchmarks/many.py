"""Two hundred runs at once, compared with a bare loop over the same HTTP client."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

import msgspec

from benchmarks.measure import Measure, at_most, for_information
from benchmarks.server import ROOT, serving
from benchmarks.worker import WorkCost

_LATENCY = 50.0
_RUNS = 200
_WIDE = 1000


def work(mode: str, width: int = 0, runs: int = _RUNS) -> WorkCost:
    """One worker against a provider of its own."""
    with serving(_LATENCY) as provider:
        command = [sys.executable, "-m", "benchmarks.worker", mode, provider.base]
        command += ["--runs", str(runs), "--width", str(width)]
        completed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(completed.stdout, type=WorkCost)


def measure_many(rounds: int = 3) -> list[Measure]:
    """Our rate as a share of the bare loop's, in alternation."""
    bare, ours, wide = [], [], []
    for _ in range(rounds):
        bare.append(work("bare"))
        ours.append(work("ours"))
        wide.append(work("ours", _WIDE))
    shares = [100 * one.rate / other.rate for one, other in zip(ours, bare, strict=True)]
    wide_shares = [100 * one.rate / other.rate for one, other in zip(wide, bare, strict=True)]
    return [
        Measure(
            name="many",
            what=f"{_RUNS} runs at once: call rate, as a share of a bare loop's",
            target="≥ 80 %",
            measured=f"{median(shares):.0f} %",
            kept=median(shares) >= 80,
            raw={"value": median(shares), "best": max(shares), "worst": min(shares)},
        ),
        at_most("many", "peak memory", max(one.memory for one in ours), 400.0, "MB"),
        for_information(
            "many",
            "the same with every place open from the start",
            f"{median(wide_shares):.0f} %",
            share=median(wide_shares),
        ),
        _rate("ours", ours),
        _rate("ours, places open", wide),
        _rate("bare loop", bare),
    ]


def _rate(who: str, cost: list[WorkCost]) -> Measure:
    rate = median(one.rate for one in cost)
    cpu = median(1000 * one.cpu / one.calls for one in cost)
    return for_information(
        "many",
        f"{who}: calls a second, processor time a call",
        f"{rate:.0f}/s, {cpu:.2f} ms",
        rate=rate,
        cpu_ms=cpu,
    )
