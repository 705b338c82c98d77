"""The gate of a cluster: how many grants a second it makes, and by a queue what that means for many workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from math import inf
from typing import Any

import msgspec

from autoreason.exchange import Outcome, Reply, Usage
from autoreason.models.budget import BudgetTracker, CostBound
from autoreason.models.layers import ConcurrencyLimiter
from autoreason.run.call_gate import CallGate, GateSession
from autoreason.run.cell_messages import Enter, Granted, Release, Reserve, Settle, ToGate
from autoreason.settings import Budget
from benchmarks.measure import Measure, for_information

_CALLS = 5_000
_BATCH = 50
"""Calls that one worker asks for at once."""
_REQUESTS_A_MINUTE = (10_000, 100_000, 1_000_000)
_REPLY = Reply(
    outcome=Outcome.OK,
    text="",
    model="acme/large",
    usage=Usage(input=900, output=300),
    cost=Decimal("0.004"),
    seconds=1.0,
)
_read = msgspec.json.Decoder(list[ToGate]).decode
Exchange = Callable[[bytes], Awaitable[bytes]]
"""Sends messages to a gate; what it grants."""


class MeasuredGate:
    """A gate whose every call needs a place and money, behind one method."""

    def __init__(self) -> None:
        self._session: GateSession | None = None
        self._granted: list[Granted] = []

    async def exchange(self, data: bytes) -> bytes:
        """Take messages in, and answer with all that was granted meanwhile."""
        if self._session is None:
            budget = BudgetTracker(Budget(cost=Decimal(10**9)))
            gate = CallGate(budget, lambda _: ConcurrencyLimiter(10**6))
            self._session = GateSession(
                gate, lambda each: self._granted.append(each) if isinstance(each, Granted) else None
            )
        for message in _read(data):
            self._session.take(message)
        for _ in range(3):
            await asyncio.sleep(0)
        granted, self._granted = self._granted, []
        return msgspec.json.encode(granted)

    async def processor_time(self) -> float:
        """Of this process so far, Ray's own threads included."""
        return time.process_time()


async def _ask(exchange: Exchange, batch: int, calls: int = _CALLS) -> None:
    """A place and money for every call, granted and given back; so many calls share a message."""
    for first in range(0, calls, batch):
        numbers = range(2 * first, 2 * (first + batch), 2)
        asked: list[ToGate] = [Enter(number=n, provider="acme") for n in numbers]
        asked += [
            Reserve(number=n + 1, run="a.1", upper=CostBound(1, 1200, Decimal("0.01")))
            for n in numbers
        ]
        granted = msgspec.json.decode(await exchange(msgspec.json.encode(asked)))
        if len(granted) != len(asked):
            raise RuntimeError(f"{len(granted)} of {len(asked)} were granted")
        ended: list[ToGate] = [Release(number=n, sign="well") for n in numbers]
        ended += [Settle(number=n + 1, reply=_REPLY) for n in numbers]
        await exchange(msgspec.json.encode(ended))


def waiting(service: float, calls_a_minute: float) -> tuple[float, float]:
    """How busy one server is (M/M/1), and how many seconds a call waits for it on average."""
    busy = service * calls_a_minute / 60
    return busy, service * busy / (1 - busy) if busy < 1 else inf


def measure_gate() -> list[Measure]:
    """Processor time of the gate in this process and as an actor, and a queue in front of it."""
    started = time.process_time()
    asyncio.run(_ask(MeasuredGate().exchange, _BATCH))
    costs = {"in one process": (time.process_time() - started) / _CALLS}
    if find_spec("ray"):
        costs |= asyncio.run(_on_ray())
    measures = [
        for_information(
            "gate",
            f"{where}: processor time of the gate for a call, calls a second",
            f"{1e3 * cost:.2f} ms, {1 / cost:.0f}/s",
        )
        for where, cost in costs.items()
    ]
    for where, cost in costs.items():
        for rate in _REQUESTS_A_MINUTE:
            busy, wait = waiting(cost, rate)
            measures.append(
                for_information(
                    "gate",
                    f"{where}, {rate:,} calls a minute: busy, wait of a call",
                    f"{100 * busy:.1f} %, {1e3 * wait:.2f} ms" if busy < 1 else "too many",
                )
            )
    return measures


async def _on_ray() -> dict[str, float]:
    """The same as an actor of a cluster on this machine, alone and in batches."""
    from autoreason.run.ray_cells import connect

    ray: Any = import_module("ray")
    await asyncio.to_thread(connect, "local")
    try:
        actor = ray.remote(MeasuredGate).options(num_cpus=0).remote()

        async def exchange(data: bytes) -> bytes:
            granted: bytes = await actor.exchange.remote(data)
            return granted

        async def cost(batch: int, calls: int) -> float:
            before = await actor.processor_time.remote()
            await _ask(exchange, batch, calls)
            return float(await actor.processor_time.remote() - before) / calls

        await cost(1, 100)
        return {
            "as an actor, one call a message": await cost(1, 1000),
            f"as an actor, {_BATCH} calls a message": await cost(_BATCH, _CALLS),
        }
    finally:
        await asyncio.to_thread(ray.shutdown)
