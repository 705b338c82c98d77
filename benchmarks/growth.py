"""`runs`, `show`, `resume` and `show` of a suite while the journal around them grows, in a file and on a server."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import cycle, islice, pairwise
from pathlib import Path

from tools.postgres import Server

from autoreason.journal import Journal
from autoreason.journal.journal import locate, open_store
from autoreason.journal.listing import readable_story, select_runs
from autoreason.models.doubles import EchoModel
from autoreason.run.cells import lab_status
from autoreason.run.lab import lab
from autoreason.run.recorded import resume
from autoreason.run.refine import refine
from autoreason.run.verbs import RefineOptions
from autoreason.settings import Budget
from benchmarks.commands import AUTOREASON, timed
from benchmarks.lab import write_suite
from benchmarks.measure import Measure, at_most, for_information
from benchmarks.postgres import own_server

GROWTH = (1_000, 100_000, 1_000_000)
"""Recorded calls in a journal."""
_LISTS = ("runs", "runs --model qqq", "runs --status converged", "runs --search qqq")
"""No run matches any of the last three."""
_PER_RUN = 25
_TIMES, _COMMANDS = 30, 5


def measure_growth(sizes: tuple[int, ...] = GROWTH) -> list[Measure]:
    """How long reading and going on takes as a journal grows."""
    return [*_grow("sqlite", sizes), *_grow("postgres", sizes)]


@contextmanager
def _place(kind: str) -> Iterator[tuple[str, Server | None]]:
    """Where a journal is, and on which server."""
    if kind == "sqlite":
        with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
            yield str(Path(folder, "journal.db")), None
    else:
        with own_server(durable=False) as server:
            yield server.create("growth"), server


def _grow(kind: str, sizes: tuple[int, ...]) -> Iterator[Measure]:
    times: dict[str, list[float]] = {}
    with _place(kind) as (url, server):
        with Journal.open(url, create=True) as journal:
            status = partial(lab_status, asyncio.run(_fill(journal, sizes[0])))
        works: dict[str, Callable[..., object]] = {**_WORKS, "`show` of a suite": status}
        for before, size in pairwise((sizes[0], *sizes)):
            multiply(url, before // sizes[0], size // sizes[0])
            if server:
                # As it does by itself a minute later.
                server.execute("VACUUM ANALYZE", database="growth")
            cpu = _cpu_with(server)
            with Journal.open(url, create=True) as journal:
                for name, work in works.items():
                    times.setdefault(name, []).append(_mean(partial(work, journal=journal), cpu))
                words = journal.find("last").id.partition("-")[2]
            for command in (*_LISTS, "show WORDS"):
                given = command.replace("WORDS", words).split()
                whole = [AUTOREASON, *given, "--journal", url]
                least = min(timed(whole).cpu for _ in range(_COMMANDS))
                times.setdefault(f"the command `{command}`", []).append(least)
    for name, every in times.items():
        yield at_most(
            "growth",
            f"{kind}: {name} at {sizes[-1]:,} recorded calls, as a multiple of {sizes[0]:,}"
            f" ({1000 * every[0]:.3g} ms)",
            max(every) / every[0],
            2.0,
            "x",
        )
        shown = ", ".join(f"{1000 * each:.3g}" for each in every)
        yield for_information(
            "growth", f"{kind}: {name} at {', '.join(f'{size:,}' for size in sizes)}", f"{shown} ms"
        )


async def _fill(journal: Journal, calls: int) -> str:
    """A small suite, whose name is returned, then runs of a usual length that wait for a larger budget."""
    with tempfile.TemporaryDirectory(prefix="autoreason-bench-") as folder:
        path = write_suite(Path(folder), 1, 2)
        suite = await lab.aio(path, EchoModel(), journal=journal, anyway=True)
    options: RefineOptions = {"passes": 99, "k": 99, "reviewers": 0, "confirmation": 0}
    options |= {"journal": journal, "budget": Budget(calls=_PER_RUN)}
    for _ in range(calls // _PER_RUN):
        await refine.aio("Explain tides.", EchoModel(), **options)
    return suite.run


_ORIGINAL = "{0} NOT LIKE '%-of-%' AND {0} NOT LIKE '%.%'"
_NAMED = "CASE WHEN n % 2 = 0 THEN {0} || '-of-' || n ELSE 'suite-' || {0} || '.' || n END"
"""Half of them older runs, half newer cells of suites."""
_CALL = "role, model, at"
_SUMS = "input, output, cache_read, cache_write, reasoning, cost, seconds"
_TABLES = {
    "runs": (
        "id",
        "title, status, created, updated, version, search, uses",
        "title, status, {age}, updated, version, search, uses",
    ),
    "texts": ("run", "digest, text", ""),
    "events": ("run", "seq, type, at, payload", ""),
    "asked": ("run", f"key, {_CALL}", ""),
    "replies": ("run", f"key, {_CALL}, outcome, {_SUMS}, request, reply", ""),
}
_AGE = "CASE WHEN n % 2 = 0 THEN '2020' ELSE '2030' END || substr(created, 5)"


def multiply(url: str, copies: int, wanted: int) -> None:
    """Copy every run under other names, within the database."""
    if wanted <= copies:
        return
    store = open_store(locate(url))
    with closing(store.open_writer()) as connection:
        connection.begin()
        for table, (name, columns, values) in _TABLES.items():
            connection.execute(
                f"WITH RECURSIVE numbers (n) AS (SELECT {copies} UNION ALL"
                f" SELECT n + 1 FROM numbers WHERE n < {wanted - 1})"
                f" INSERT INTO {table} ({name}, {columns})"
                f" SELECT {_NAMED.format(name)}, {values.format(age=_AGE) or columns}"
                f" FROM {table} CROSS JOIN numbers WHERE {_ORIGINAL.format(name)}"
            )
        connection.commit()


def _list(journal: Journal) -> None:
    for row in islice(select_runs(journal), 20):
        readable_story(journal, row.id)


_TURNS = cycle(range(1, 31))


def _go_on(journal: Journal) -> None:
    """One call more of one of the newest runs, each in turn."""
    row = journal.find(f"@{next(_TURNS)}")
    budget = Budget(calls=row.spent.calls + 1)
    asyncio.run(resume.aio(row.id, journal=journal, model=EchoModel(), budget=budget))


_WORKS: dict[str, Callable[..., object]] = {
    "`runs`": _list,
    "`show`": lambda journal: journal.story(journal.find("last").id),
    "`resume`, one call more": _go_on,
}


def _mean(work: Callable[[], object], cpu: Callable[[], float]) -> float:
    """Processor time on average, which a busy machine hardly changes."""
    work()
    started = cpu()
    for _ in range(_TIMES):
        work()
    return (cpu() - started) / _TIMES


def _cpu_with(server: Server | None) -> Callable[[], float]:
    """Processor seconds of this process, and of a server with its sessions."""
    if server is None:
        return time.process_time
    postmaster = int((server.data / "postmaster.pid").read_text().split()[0])
    tick = os.sysconf("SC_CLK_TCK")

    def cpu() -> float:
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                if postmaster in (int(stat.parent.name), int(fields[1])):
                    # Its own, and that of sessions that have ended.
                    ticks += sum(map(int, fields[11:15]))
        return time.process_time() + ticks / tick

    return cpu
