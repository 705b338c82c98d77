"""Protocols against worlds: many runs of each, on two processes where that is quicker."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import ClassVar, NamedTuple, TypeVar

from msgspec import Struct

from autoreason.report.report import Report, Section
from autoreason.studies.simulate import tables
from autoreason.studies.simulate.fast import check_fast, curve, play_fast
from autoreason.studies.simulate.outcomes import Summary, summarise
from autoreason.studies.simulate.play import play_all
from autoreason.studies.simulate.protocols import NamedProtocol
from autoreason.studies.simulate.world import World

J = TypeVar("J")
R = TypeVar("R")
OnProgress = Callable[[int, int], None]
"""Is called with how many of how many are done."""
CURVE_RUNS = 2000
_MIN_RUNS, _MIN_FAST_RUNS = 60, 10_000
"""With fewer runs, one process is enough."""


class Plan(Struct, frozen=True):
    """How a study is run."""

    runs: int
    seed: int
    budget: int | None = None
    """The most calls of a run, playoff included; None is no limit."""
    fast: bool = False
    """By the vectorised path instead of the tournament's own loop."""
    curves: bool = False


class Cell(Struct, frozen=True, kw_only=True):
    """One protocol in one world."""

    world: str
    protocol: str
    summary: Summary
    curve: list[tuple[float, float]] | None = None
    """Mean calls and mean quality where runs have at most 1, 2, 3, ... passes."""


class SimulationReport(Report, Struct, frozen=True, kw_only=True):
    """Protocols in worlds whose truth is known."""

    heading: ClassVar[str] = "Protocols in simulated worlds"
    plan: Plan
    worlds: list[World]
    cells: list[Cell]
    """World by world, every protocol in each."""

    @property
    def conclusion(self) -> str:
        """Which protocol delivers the best text, and in how many worlds."""
        return tables.conclude_study(self)

    def names(self) -> list[str]:
        """Names of protocols."""
        return [cell.protocol for cell in self.cells]

    def sections(self) -> list[Section]:
        """One table per world, what the columns mean, and quality against calls."""
        return tables.study_sections(self)


class CellTask(NamedTuple):
    """The work for one cell."""

    world: World
    protocol: NamedProtocol
    plan: Plan


def run_study(
    worlds: Sequence[World],
    protocols: Sequence[NamedProtocol],
    plan: Plan,
    on_progress: OnProgress | None = None,
) -> SimulationReport:
    """Every protocol in every world; `on_progress` hears how many cells of how many are done."""
    if plan.fast or plan.curves:
        for _, settings in protocols:
            check_fast(settings)
    jobs = [CellTask(world, each, plan) for world, each in product(worlds, protocols)]
    little = plan.runs * len(jobs) < (_MIN_FAST_RUNS if plan.fast else _MIN_RUNS)
    cells = in_processes(fill_cell, jobs, on_progress, processes=1 if little else 2)
    return SimulationReport(plan=plan, worlds=list(worlds), cells=cells)


def fill_cell(job: CellTask) -> Cell:
    """Play the runs of one cell."""
    (world, (name, settings), plan) = job
    play = play_fast if plan.fast else play_all
    outcomes = play(world, settings, plan.runs, plan.seed, plan.budget)
    summary = summarise(outcomes, confirmed=settings.confirmation > 0)
    points = None
    if plan.curves:
        points = curve(world, settings, CURVE_RUNS, plan.seed, plan.budget)
    return Cell(world=world.name, protocol=name, summary=summary, curve=points)


def in_processes(
    work: Callable[[J], R],
    jobs: Sequence[J],
    on_progress: OnProgress | None = None,
    processes: int = 2,
) -> list[R]:
    """The results of jobs, in their order; one job alone is done right here."""
    results: dict[int, R] = {}
    for index, result in _results(work, jobs, processes if len(jobs) > 1 else 1):
        results[index] = result
        if on_progress:
            on_progress(len(results), len(jobs))
    return [results[index] for index in range(len(jobs))]


def _results(work: Callable[[J], R], jobs: Sequence[J], processes: int) -> Iterator[tuple[int, R]]:
    if processes == 1:
        yield from ((index, work(job)) for index, job in enumerate(jobs))
        return
    # Forking a process that may have threads is unsafe; starting a new one takes half a second.
    with get_context("spawn").Pool(processes, initializer=_ignore_interrupts) as pool:
        yield from pool.imap_unordered(partial(_numbered, work), enumerate(jobs))


def _ignore_interrupts() -> None:
    """Ctrl-C is for the main process, which ends these too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _numbered(work: Callable[[J], R], job: tuple[int, J]) -> tuple[int, R]:
    index, each = job
    return index, work(each)
