"""The journal on a PostgreSQL server of its own, compared with SQLite on the same disk."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from tools.postgres import Server

from autoreason.events import RunStarted
from autoreason.exchange import Message, Outcome, Reply, Request, Usage
from autoreason.journal import Journal
from autoreason.settings import Models, make_settings
from autoreason.task import Task
from benchmarks.commands import BRIEF, run
from benchmarks.measure import Measure, at_most, for_information
from benchmarks.server import serving
from benchmarks.timing import idle, longest_chain

_IN_FLIGHT = 512
_CALLS = 10_000
_LATENCY = 200.0
_SHAPE = ("--rounds", "4", "-k", "99", "--seed", "1")


@contextmanager
def own_server(*, durable: bool) -> Iterator[Server]:
    """A server, durable if its commits reach the disk."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        Path(folder).chmod(0o755)
        server = Server(Path(folder, "server"))
        server.begin(durable=durable)
        try:
            yield server
        finally:
            server.remove()


@contextmanager
def _file() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        yield str(Path(folder, "journal.db"))


def measure_postgres(rounds: int = 3) -> list[Measure]:
    """What a server costs in comparison with a file, in alternation."""
    rates: dict[str, list[float]] = {"sqlite": [], "postgres": []}
    paths: dict[str, list[float]] = {"sqlite": [], "postgres": []}
    with own_server(durable=True) as server:
        for _ in range(rounds):
            for kind in rates:
                with _file() as path:
                    url = path if kind == "sqlite" else server.create()
                    rates[kind].append(asyncio.run(_rate(url)))
                    paths[kind].append(_path(server.create() if kind == "postgres" else None))
    share = 100 * median(rates["postgres"]) / median(rates["sqlite"])
    longer = median(paths["postgres"]) / median(paths["sqlite"])
    both = " and ".join(f"{median(each):.0f}" for each in rates.values())
    return [
        Measure(
            name="postgres",
            what=f"{_IN_FLIGHT} calls in flight: replies recorded, as a share of SQLite's rate",
            target="≥ 60 %",
            measured=f"{share:.0f} %",
            kept=share >= 60,
            raw={"value": share},
        ),
        for_information("postgres", "the same a second: SQLite and PostgreSQL", both),
        at_most(
            "postgres", "between reply and next call, as a multiple of SQLite's", longer, 2.0, "x"
        ),
    ]


async def _rate(url: str) -> float:
    """Replies recorded a second by as many tasks as there are calls in flight, as runs record them."""
    with Journal.open(url, create=True) as journal:
        names = [await _begin(journal) for _ in range(_IN_FLIGHT // 8)]
        keys = iter(range(_CALLS))
        started = time.monotonic()

        async def work() -> None:
            for key in keys:
                # Judges who read the same text are those of one run.
                await _call(journal, names[key // 8 % len(names)], key)

        async with asyncio.TaskGroup() as group:
            for _ in range(_IN_FLIGHT):
                group.create_task(work())
        return _CALLS / (time.monotonic() - started)


async def _begin(journal: Journal) -> str:
    return await journal.begin_run("A note", "0", _STARTED)


async def _call(journal: Journal, run: str, key: int) -> None:
    """One call as a run records it: a prompt of which most is known already, and a text that is new."""
    text = f"<<<TEXT A>>>\n{_TEXT}{key // 8}\n<<<END TEXT A>>>\n\nRank."
    request = Request(
        role="judge",
        key=f"call/{key}",
        model="openai/fake",
        messages=(Message("system", _TEXT, stable=True), Message("user", text)),
        max_tokens=1000,
    )
    reply = Reply(
        outcome=Outcome.OK,
        text=f"{key} {_TEXT}",
        model="openai/fake",
        usage=Usage(input=1000, output=300),
        cost=None,
        seconds=1.0,
    )
    journal.record_request(run, request)
    await journal.record_reply(run, request, reply)


_STARTED = RunStarted(
    task=Task(brief=BRIEF),
    settings=make_settings(Models.everywhere("openai/fake"), 1),
    prompts={},
    version="0",
)
_TEXT = "The lighthouse has two hundred and eleven steps, and breakfast is at eight. " * 12


def _path(url: str | None) -> float:
    """Of the critical path of a run, the share in which nothing was under way."""
    with serving(_LATENCY) as provider:
        ran = run((*_SHAPE, *(("--journal", url) if url else ())), provider)
    return 100 * 1000 * idle(ran.calls) / (longest_chain(ran.calls) * _LATENCY)
