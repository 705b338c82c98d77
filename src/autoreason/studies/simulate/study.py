"""Protocols against worlds: many runs of each, on two processes where that is quicker."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, product
from math import comb, hypot
from multiprocessing import get_context
from statistics import fmean
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from scipy.special import stdtrit

from autoreason.report.numbers import UNKNOWN, count, listed, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.stats.results import BEYOND_CHANCE
from autoreason.studies.simulate.fast import check_fast, curve, play_fast
from autoreason.studies.simulate.outcomes import Interval, Summary, summarise
from autoreason.studies.simulate.play import play_all
from autoreason.studies.simulate.protocols import NamedProtocol
from autoreason.studies.simulate.simulation_plot import draw
from autoreason.studies.simulate.world import World

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
    alike: list[str] = []
    """Switches that were played like the default, and why."""

    @property
    def conclusion(self) -> str:
        """Which protocols deliver the best text beyond chance, and in how many worlds."""
        protocols = dict.fromkeys(self.names())
        worlds = count(len(self.worlds), "world")
        if len(protocols) == 1:
            (protocol,) = protocols
            quality = fmean(cell.summary.quality.value for cell in self.cells)
            calls = self._mean_calls(protocol)
            return f"{protocol} delivers quality {quality:.2f} for {calls:.0f} calls on average over {worlds}"
        won = Counter(self.best_protocols())
        if not won:
            return f"no protocol delivers a better text than the others beyond chance in any of {worlds}"
        best = name_winners(won, "text")
        spent = ", ".join(f"{name} {self._mean_calls(name):.0f}" for name in protocols)
        return f"{best} of {worlds}, beyond chance; calls on average: {spent}"

    def names(self) -> list[str]:
        """Names of protocols."""
        return [cell.protocol for cell in self.cells]

    def sections(self) -> list[Section]:
        """One table per world, what the columns mean, and quality against calls."""
        sections = [
            Section(
                f"{world.name}: {world.about}",
                tables=[_protocols([cell for cell in self.cells if cell.world == world.name])],
            )
            for world in self.worlds
        ]
        runs = f"{self.plan.runs:,} runs of each protocol in each world"
        notes = [
            ("Quality", f"{runs}; the first draft has quality 0"),
            ("Worse", "the share of displacements that made the text worse"),
            (
                "Claims",
                "of runs with a better text than the draft, those whose confirmation says so",
            ),
            ("Wrongly", "of the other runs, those whose confirmation says so too"),
        ]
        notes += [("Like the default", each) for each in self.alike]
        sections.append(Section(sentences=notes))
        if self.plan.curves:
            plots = [draw(self.cells)]
            tables = [_curves(self.cells)]
            sections.append(
                Section("Quality against calls", tables=tables, plots=plots, detail=True)
            )
        return sections

    def best_protocols(self) -> list[str]:
        """The protocols that lead by more than chance, world by world, corrected for every pair in every world."""
        cells = [(cell.world, cell.protocol, cell.summary.quality) for cell in self.cells]
        return best_by_world(cells, self.plan.runs)

    def _mean_calls(self, protocol: str) -> float:
        return fmean(cell.summary.calls.value for cell in self.cells if cell.protocol == protocol)


def best_by_world(cells: Sequence[tuple[str, str, Interval]], runs: int) -> list[str]:
    """Who leads in a world by more than chance, of cells with world, name and quality, world by world."""
    worlds, found = len({world for world, _, _ in cells}), []
    for _, group in groupby(cells, key=lambda cell: cell[0]):
        (_, name, first), (_, _, second), *others = sorted(group, key=lambda cell: -cell[2].value)
        if leads(first, second, runs, worlds * comb(len(others) + 2, 2)):
            found.append(name)
    return found


def name_winners(won: Counter[str], what: str) -> str:
    """Who delivers the best in how many worlds, the most frequent first."""
    (name, number), *others = won.most_common()
    return listed(
        [f"{name} delivers the best {what} in {number}", *(f"{name} in {n}" for name, n in others)]
    )


def leads(first: Interval, second: Interval, runs: int, comparisons: int) -> bool:
    """Whether one mean over runs exceeds another by more than chance, corrected for so many comparisons."""
    wider = stdtrit(runs - 1, 1 - BEYOND_CHANCE / 2 / comparisons) / stdtrit(runs - 1, 0.975)
    reach = wider * hypot(first.high - first.low, second.high - second.low) / 2
    return bool(first.value - second.value > reach)


def _protocols(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        summary = cell.summary
        shares = (summary.worse, summary.claimed, summary.claimed_wrongly)
        rows.append(
            (
                cell.protocol,
                str(summary.quality),
                f"{summary.calls.value:.1f}",
                f"{summary.passes.value:.1f}",
                *(percent(share.value) if share else UNKNOWN for share in shares),
            )
        )
    heads = ("quality (95 %)", "calls", "passes", "worse", "claims", "wrongly")
    return Table([Column("protocol", figures=False), *map(Column, heads)], rows)


def _curves(cells: Sequence[Cell]) -> Table:
    """The points of each line of the plot."""
    longest = max(len(cell.curve or []) for cell in cells)
    rows = []
    for cell in cells:
        points = [f"{quality:.2f} for {calls:.0f}" for calls, quality in cell.curve or []]
        rows.append((cell.world, cell.protocol, *points, *[""] * (longest - len(points))))
    columns = [Column("world", figures=False), Column("protocol", figures=False)]
    columns += [Column(str(passes)) for passes in range(1, longest + 1)]
    return Table(columns, rows, "Quality and calls with at most so many passes")


def run_study(
    worlds: Sequence[World],
    protocols: Sequence[NamedProtocol],
    plan: Plan,
    on_progress: OnProgress | None = None,
) -> SimulationReport:
    """Every protocol in every world; `on_progress` hears how many cells of how many are done."""
    if plan.fast or plan.curves:
        for each in protocols:
            check_fast(each.settings)
    jobs = [(world, each, plan) for world, each in product(worlds, protocols)]
    little = plan.runs * len(jobs) < (_MIN_FAST_RUNS if plan.fast else _MIN_RUNS)
    cells = in_processes(fill_cell, jobs, on_progress, processes=1 if little else 2)
    return SimulationReport(
        plan=plan,
        worlds=list(worlds),
        cells=cells,
        alike=[each.note for each in protocols if each.note],
    )


def fill_cell(world: World, protocol: NamedProtocol, plan: Plan) -> Cell:
    """Play the runs of one protocol in one world."""
    settings = protocol.settings
    play = play_fast if plan.fast else play_all
    outcomes = play(world, settings, plan.runs, plan.seed, plan.budget)
    summary = summarise(outcomes, confirmed=settings.confirmation > 0)
    points = None
    if plan.curves:
        points = curve(world, settings, CURVE_RUNS, plan.seed, plan.budget)
    return Cell(world=world.name, protocol=protocol.name, summary=summary, curve=points)


def in_processes(
    work: Callable[..., R],
    jobs: Sequence[tuple[Any, ...]],
    on_progress: OnProgress | None = None,
    processes: int = 2,
) -> list[R]:
    """The results of `work` on the arguments of each job, in their order; one job alone is done right here."""
    results: dict[int, R] = {}
    if on_progress:
        on_progress(0, len(jobs))
    for index, result in _results(work, jobs, processes if len(jobs) > 1 else 1):
        results[index] = result
        if on_progress:
            on_progress(len(results), len(jobs))
    return [results[index] for index in range(len(jobs))]


def _results(
    work: Callable[..., R], jobs: Sequence[tuple[Any, ...]], processes: int
) -> Iterator[tuple[int, R]]:
    if processes == 1:
        yield from ((index, work(*job)) for index, job in enumerate(jobs))
        return
    # Forking a process that may have threads is unsafe; starting a new one takes half a second.
    with get_context("spawn").Pool(processes, initializer=_ignore_interrupts) as pool:
        yield from pool.imap_unordered(partial(_numbered, work), enumerate(jobs))


def _ignore_interrupts() -> None:
    """Ctrl-C is for the main process, which ends these too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _numbered(work: Callable[..., R], job: tuple[int, tuple[Any, ...]]) -> tuple[int, R]:
    index, arguments = job
    return index, work(*arguments)
