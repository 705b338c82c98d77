"""The journal on a PostgreSQL server of its own, compared with SQLite on the same disk; and as it grows."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
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
_SHAPE = ("--passes", "4", "-k", "99", "--seed", "1")
_PER_RUN = 25
GROWTH = (1_000, 100_000, 1_000_000)
"""Recorded calls in a journal."""


@contextmanager
def open_server() -> Iterator[Server]:
    """One whose commits reach the disk."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        Path(folder).chmod(0o755)
        server = Server(Path(folder, "server"))
        server.begin(durable=True)
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
    with open_server() as server:
        for _ in range(rounds):
            for kind in rates:
                with _file() as path:
                    url = path if kind == "sqlite" else server.create()
                    rates[kind].append(asyncio.run(_rate(url)))
                    paths[kind].append(_path(server.create() if kind == "postgres" else None))
        grown = _growth(server)
    share = 100 * median(rates["postgres"]) / median(rates["sqlite"])
    more = median(paths["postgres"]) - median(paths["sqlite"])
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
        at_most("postgres", "a run's path (200 ms a call), more than with SQLite", more, 3.0, "%"),
        *grown,
    ]


async def _rate(url: str) -> float:
    """Replies recorded a second by as many tasks as there are calls in flight, as runs record them."""
    with Journal.open(url, create=True) as journal:
        names = [await _begin(journal) for _ in range(_IN_FLIGHT // 8)]
        keys = iter(range(_CALLS))
        started = time.monotonic()

        async def work(name: str) -> None:
            for key in keys:
                await _call(journal, name, key)

        async with asyncio.TaskGroup() as group:
            for number in range(_IN_FLIGHT):
                group.create_task(work(names[number % len(names)]))
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


def _growth(server: Server) -> list[Measure]:
    """How long reading the newest run takes as the journal grows."""
    times: dict[str, list[float]] = {}
    with Journal.open(server.create("growth"), create=True) as journal:
        asyncio.run(_fill(journal))
        for before, size in pairwise((GROWTH[0], *GROWTH)):
            _multiply(server, before // GROWTH[0], size // GROWTH[0])
            for name, read in _READS.items():
                times.setdefault(name, []).append(_timed(read, journal))
    return [
        at_most(
            "postgres",
            f"{name} at {GROWTH[-1]:,} recorded calls, as a multiple of {GROWTH[0]:,}"
            f" ({1000 * every[0]:.1f} ms)",
            every[-1] / every[0],
            2.0,
            "x",
            **{f"ms_{size}": 1000 * each for size, each in zip(GROWTH, every, strict=True)},
        )
        for name, every in times.items()
    ]


def _multiply(server: Server, copies: int, wanted: int) -> None:
    """Copy the runs under other names, as older ones, within the server."""
    each = f"FROM {{}} CROSS JOIN generate_series({copies}, {wanted - 1}) AS n"
    ours = "WHERE {} NOT LIKE '%-of-%'"
    statements = [
        f"INSERT INTO {table} ({key}, {columns}) SELECT {key} || '-of-' || n, {values}"
        f" {each.format(table)} {ours.format(key)}"
        for table, key, columns, values in _COPIED
    ]
    # The last, as the server does by itself a minute later.
    server.execute("SET search_path = autoreason", *statements, "VACUUM ANALYZE", database="growth")


_CALL = "key, role, model, outcome, input, output, seconds, at, request, reply"
_COPIED = (
    (
        *("runs", "id", "title, status, created, updated, version"),
        "title, status, '2020' || substr(created, 5), updated, version",
    ),
    ("events", "run", "seq, type, version, at, payload", "seq, type, version, at, payload"),
    ("asked", "run", "key, role, model, at", "key, role, model, at"),
    ("replies", "run", _CALL, _CALL),
)
_READS: dict[str, Callable[[Journal], object]] = {
    "`runs`": lambda journal: journal.runs(),
    "`show`": lambda journal: journal.story(journal.find("last").id),
    "`resume`": lambda journal: journal.replies(journal.find("last").id),
}


def _timed(read: Callable[[Journal], object], journal: Journal) -> float:
    """The quickest of several."""
    times = []
    for _ in range(100):
        started = time.perf_counter()
        read(journal)
        times.append(time.perf_counter() - started)
    return min(times)


async def _fill(journal: Journal) -> None:
    """Runs of a usual length, side by side."""
    async with asyncio.TaskGroup() as group:
        for _ in range(GROWTH[0] // _PER_RUN):
            group.create_task(_fill_run(journal, await _begin(journal)))


async def _fill_run(journal: Journal, name: str) -> None:
    for key in range(_PER_RUN):
        await _call(journal, name, key)
