"""Protocols against worlds: many runs of each, on two processes where that is quicker."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, product
from math import comb, hypot
from multiprocessing import get_context
from statistics import fmean
from typing import Any, ClassVar, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from scipy.special import stdtrit

from autoreason.errors import InvalidInput
from autoreason.fields import FieldDoc, read_docs
from autoreason.report.numbers import UNKNOWN, count, listed, percent
from autoreason.report.report import Report, Section
from autoreason.report.table import Column, Table
from autoreason.settings import (
    MAX_REVISERS,
    Models,
    Protocol,
    Settings,
    make_settings,
    read_changes,
)
from autoreason.stats.results import BEYOND_CHANCE
from autoreason.studies.simulate.play import Interval, Outcomes, Summary, play_all, summarise
from autoreason.studies.simulate.world import World

NAMES: tuple[Protocol, ...] = ("paper", "robust")
SETTINGS = (
    "drafts",
    "k",
    "passes",
    "judges",
    "single_judge",
    "extra_judges",
    "max_judges",
    "close_margin",
    "early_stop",
    "balanced_orders",
    "voting",
    "required_lead",
    "tie_order",
    "quoted_critique",
    "playoff",
    "playoff_texts",
    "confirmation",
    "candidates",
    "revisers",
    "blind_revision",
    "subtractive_synthesis",
    "plateau",
    "plateau_change",
)
"""What makes a difference to a simulated run; `revisers` is how many there are."""
NO_DIFFERENCE = {
    "critic_facts": "nothing recorded says what a critic without facts overlooks",
    "style": "nothing recorded says how judges see otherwise who are asked otherwise",
}
"""Switches that are played like the default, and why."""
_ADDRESS = "simulated/cast"


class NamedProtocol(NamedTuple):
    """A protocol under the name that tables give it."""

    name: str
    settings: Settings
    note: str = ""
    """Which of its changes are played like the default, and why."""


def named_protocol(protocol: Protocol, changes: Mapping[str, Any] | None = None) -> NamedProtocol:
    """A protocol with changes, named after them."""
    fields = dict(changes or {})
    for name in fields:
        if name not in (*SETTINGS, *NO_DIFFERENCE):
            raise InvalidInput(
                f"`{name}` makes no difference to a simulated run; set one of {', '.join(SETTINGS)}"
            )
    shown = {name: ">".join(v) if isinstance(v, tuple) else v for name, v in fields.items()}
    label = " ".join([protocol, *(f"{name}={value}" for name, value in shown.items())])
    revisers = fields.pop("revisers", 1)
    if type(revisers) is not int or not 1 <= revisers <= MAX_REVISERS:
        raise InvalidInput(
            f"`revisers` is {revisers}; give how many there are, from 1 to {MAX_REVISERS}"
        )
    models = Models.everywhere(_ADDRESS)
    if revisers > 1:
        models = replace(models, revisers=(_ADDRESS,) * revisers)
    # All of them, to refuse what cannot be.
    make_settings(models, 0, protocol, **fields)
    played = {name: value for name, value in fields.items() if name not in NO_DIFFERENCE}
    alike = [f"`{name}`: {NO_DIFFERENCE[name]}" for name in sorted(fields.keys() - played.keys())]
    return NamedProtocol(label, make_settings(models, 0, protocol, **played), "; ".join(alike))


def choose_protocols(names: Sequence[str], changes: Sequence[str]) -> list[NamedProtocol]:
    """The protocols of these names, or all; then the last of them once more with the changes."""
    chosen = [name for name in NAMES if name in names or not names]
    protocols = [named_protocol(name) for name in chosen]
    if changes:
        last = next(name for name in NAMES if name == (names or chosen)[-1])
        protocols.append(named_protocol(last, read_changes(changes, _known())))
    return protocols


def _known() -> dict[str, FieldDoc]:
    """What `--set` takes: settings, and how many revisers there are."""
    docs = read_docs(Settings)
    known = {name: docs[name] for name in (*SETTINGS, *NO_DIFFERENCE) if name in docs}
    return {**known, "revisers": docs["drafts"]}


R = TypeVar("R")
OnProgress = Callable[[int, int], None]
"""Is called with how many of how many are done."""
Play = Callable[[World, Settings, int, int, int | None], Outcomes]
"""Runs of a protocol in a world: how many, their seed, and the most calls of each."""
_MIN_RUNS = 60
"""With fewer runs, one process is enough."""


class Plan(Struct, frozen=True):
    """How a study is run."""

    runs: int
    seed: int
    budget: int | None = None
    """The most calls of a run, playoff included; None is no limit."""


class Cell(Struct, frozen=True, kw_only=True):
    """One protocol in one world."""

    world: str
    protocol: str
    summary: Summary


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
        """One table per world, and what the columns mean."""
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
        return [*sections, Section(sentences=notes)]

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


def run_study(
    worlds: Sequence[World],
    protocols: Sequence[NamedProtocol],
    plan: Plan,
    on_progress: OnProgress | None = None,
    play: Play = play_all,
) -> SimulationReport:
    """Every protocol in every world; `on_progress` hears how many cells of how many are done."""
    jobs = [(world, each, plan, play) for world, each in product(worlds, protocols)]
    processes = 1 if plan.runs * len(jobs) < _MIN_RUNS else 2
    return SimulationReport(
        plan=plan,
        worlds=list(worlds),
        cells=in_processes(_fill_cell, jobs, on_progress, processes),
        alike=[each.note for each in protocols if each.note],
    )


def _fill_cell(world: World, protocol: NamedProtocol, plan: Plan, play: Play) -> Cell:
    outcomes = play(world, protocol.settings, plan.runs, plan.seed, plan.budget)
    summary = summarise(outcomes, confirmed=protocol.settings.confirmation > 0)
    return Cell(world=world.name, protocol=protocol.name, summary=summary)


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
