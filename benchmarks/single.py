"""One run at a time, from the command line: idle time, start-up, streaming."""

from __future__ import annotations

from statistics import median

from benchmarks.commands import AUTOREASON, Ran, bare_start, run, run_client, timed
from benchmarks.measure import Measure, at_most, for_information
from benchmarks.server import serving
from benchmarks.timing import idle, longest_chain

_FOUR_PASSES = ("--rounds", "4", "-k", "99", "--seed", "1")
_SHORT = ("--rounds", "1", "--judges", "2", "--set", "reviewers=0", "--seed", "1")
_LATENCY = 200.0
_HELP = (AUTOREASON, "--help")


def measure_idle(rounds: int = 5) -> list[Measure]:
    """How long the provider has nothing to do because we are busy, and how long we are after it."""
    steps, client_steps, shares, multiples, after = [], [], [], [], []
    for _ in range(rounds):
        with serving(_LATENCY) as provider:
            ran = run(_FOUR_PASSES, provider)
        chain = longest_chain(ran.calls)
        with serving(_LATENCY) as provider:
            client = run_client(chain, provider)
        start = bare_start().wall
        steps.append(1000 * idle(ran.calls) / (chain - 1))
        client_steps.append(1000 * idle(client.calls) / (chain - 1))
        shares.append(100 * 1000 * idle(ran.calls) / (chain * _LATENCY))
        multiples.append(steps[-1] / 1000 / start)
        after.append(ran.after_last / start)
    return [
        at_most(
            "idle",
            "between reply and next call, as a multiple of a bare interpreter's start",
            median(multiples),
            0.5,
            "x",
            best=min(multiples),
            worst=max(multiples),
        ),
        for_information(
            "idle",
            "the same: ours, a bare client's; of a path of 200 ms a call",
            f"{median(steps):.2f} ms, {median(client_steps):.2f} ms; {median(shares):.2f} %",
            step_ms=median(steps),
            client_ms=median(client_steps),
        ),
        at_most(
            "idle",
            "last reply to exit, as a multiple of a bare interpreter's start",
            median(after),
            6.0,
            "x",
            best=min(after),
        ),
    ]


def measure_startup(rounds: int = 11) -> list[Measure]:
    """How long until something happens."""
    bare, helped, clients, runs = zip(*(_start() for _ in range(rounds + 1)), strict=True)
    start, client, ours = (
        1000 * median(each)
        for each in (
            [one.wall for one in bare],
            [one.to_first for one in clients],
            [one.to_first for one in runs],
        )
    )
    return [
        at_most(
            "startup",
            f"`--help`, as a multiple of a bare interpreter ({start:.0f} ms)",
            1000 * median(one.wall for one in helped) / start,
            6.0,
            "x",
            help_cpu_ms=1000 * median(one.cpu for one in helped),
            bare_cpu_ms=1000 * median(one.cpu for one in bare),
        ),
        at_most(
            "startup",
            "processor time to the first model request, as a multiple of a bare client's",
            median(one.cpu_at_first for one in runs) / median(one.cpu_at_first for one in clients),
            2.0,
            "x",
            cpu_ms=1000 * median(one.cpu_at_first for one in runs),
            client_cpu_ms=1000 * median(one.cpu_at_first for one in clients),
        ),
        for_information(
            "startup",
            "process start to first model request: ours, a bare client's",
            f"{ours:.0f} ms, {client:.0f} ms",
            ours_ms=ours,
            client_ms=client,
        ),
    ]


def _start() -> tuple[Ran, Ran, Ran, Ran]:
    """Everything whose start is compared, once."""
    with serving() as provider:
        client = run_client(1, provider)
    with serving() as provider:
        return bare_start(1), timed(_HELP), client, run(_SHORT, provider)


def measure_streaming(rounds: int = 5) -> list[Measure]:
    """What a run with a live view takes."""
    running, whole, multiples, memory, calls = [], [], [], [], 0
    for _ in range(rounds):
        with serving(_LATENCY) as provider:
            ran = run(_FOUR_PASSES, provider, terminal=True)
        calls = len(ran.calls)
        running.append(1000 * (ran.cpu - ran.cpu_at_first) / calls)
        whole.append(1000 * ran.cpu / calls)
        multiples.append(running[-1] / (1000 * bare_start().cpu))
        memory.append(ran.memory)
    return [
        at_most(
            "streaming",
            "processor time a call, live view on, as a multiple of a bare interpreter's start",
            median(multiples),
            0.75,
            "x",
            best=min(multiples),
            worst=max(multiples),
        ),
        for_information(
            "streaming",
            f"the same of {calls} calls, and with start-up",
            f"{median(running):.2f} ms, {median(whole):.1f} ms",
        ),
        at_most("streaming", "peak memory", max(memory), 80.0, "MB"),
    ]
