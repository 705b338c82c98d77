"""What simulations show, as tables and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import comb, hypot
from statistics import fmean
from typing import TYPE_CHECKING

from autoreason.report.numbers import UNKNOWN, count, interval, percent
from autoreason.report.report import Section
from autoreason.report.statements import listed
from autoreason.report.table import Column, Table
from autoreason.stats.results import BEYOND_CHANCE, Estimate

if TYPE_CHECKING:
    from autoreason.studies.simulate import fit
    from autoreason.studies.simulate.fit import FitReport
    from autoreason.studies.simulate.outcomes import Mean, Ratio
    from autoreason.studies.simulate.search import SearchReport
    from autoreason.studies.simulate.split import SplitReport
    from autoreason.studies.simulate.study import Cell, SimulationReport


def conclude_study(report: SimulationReport) -> str:
    """Which protocols deliver the best text beyond chance, and in how many worlds."""
    protocols = dict.fromkeys(report.names())
    worlds = count(len(report.worlds), "world")
    if len(protocols) == 1:
        (protocol,) = protocols
        quality = fmean(cell.summary.quality.value for cell in report.cells)
        calls = _mean_calls(report, protocol)
        return f"{protocol} delivers quality {quality:.2f} for {calls:.0f} calls on average over {worlds}"
    won = Counter(best_protocols(report))
    if not won:
        return (
            f"no protocol delivers a better text than the others beyond chance in any of {worlds}"
        )
    first, *others = (f"{name} in {number}" for name, number in won.most_common())
    best = listed([first.replace(" in ", " delivers the best text in ", 1), *others])
    spent = ", ".join(f"{name} {_mean_calls(report, name):.0f}" for name in protocols)
    return f"{best} of {worlds}, beyond chance; calls on average: {spent}"


def _mean_calls(report: SimulationReport, protocol: str) -> float:
    return fmean(cell.summary.calls.value for cell in report.cells if cell.protocol == protocol)


def best_protocols(report: SimulationReport) -> Iterator[str]:
    """The protocols that lead by more than chance, world by world, corrected for every pair in every world."""
    for _, group in groupby(report.cells, key=lambda cell: cell.world):
        cells = sorted(group, key=lambda cell: -cell.summary.quality.value)
        if _leads(cells, len(report.worlds) * comb(len(cells), 2)):
            yield cells[0].protocol


def _leads(cells: Sequence[Cell], comparisons: int) -> bool:
    from scipy.special import stdtrit

    first, second = (cell.summary.quality for cell in cells[:2])
    free = cells[0].summary.runs - 1
    wider = stdtrit(free, 1 - BEYOND_CHANCE / 2 / comparisons) / stdtrit(free, 0.975)
    reach = wider * hypot(first.high - first.low, second.high - second.low) / 2
    return bool(first.value - second.value > reach)


def study_sections(report: SimulationReport) -> list[Section]:
    """One table per world, what the columns mean, and quality against calls."""
    sections = [
        Section(
            f"{world.name}: {world.about}",
            tables=[_protocols([cell for cell in report.cells if cell.world == world.name])],
        )
        for world in report.worlds
    ]
    runs = f"{report.plan.runs:,} runs of each protocol in each world"
    notes = [
        ("Quality", f"{runs}; the first draft has quality 0"),
        ("Worse", "the share of displacements that made the text worse"),
        ("Claims", "of runs with a better text than the draft, those whose confirmation says so"),
        ("Wrongly", "of the other runs, those whose confirmation says so too"),
    ]
    sections.append(Section(sentences=notes))
    if report.plan.curves:
        from autoreason.studies.simulate.plot import draw

        sections.append(Section("Quality against calls", plots=[draw(report.cells)], detail=True))
    return sections


def _protocols(cells: Sequence[Cell]) -> Table:
    rows = []
    for cell in cells:
        summary = cell.summary
        shares = (summary.worse, summary.claimed, summary.claimed_wrongly)
        rows.append(
            (
                cell.protocol,
                _interval(summary.quality),
                f"{summary.calls.value:.1f}",
                f"{summary.passes.value:.1f}",
                *(percent(share.value) if share else UNKNOWN for share in shares),
            )
        )
    heads = ("quality (95 %)", "calls", "passes", "worse", "claims", "wrongly")
    return Table([Column("protocol", figures=False), *map(Column, heads)], rows)


def conclude_fit(report: FitReport) -> str:
    """How far two judges see the same in a text."""
    return (
        f"what two judges see in a text correlates by {_interval(report.fitted.correlation)} "
        "(95 % interval)"
    )


def fit_sections(report: FitReport) -> list[Section]:
    """Every estimate with its interval."""
    fitted = report.fitted
    estimates = {
        "lead of B over A": fitted.revision_lead,
        "lead of AB over A": fitted.synthesis_lead,
        "standing first": fitted.first,
        "standing last": fitted.last,
        "what judges see alike": fitted.common,
        "correlation of judges": fitted.correlation,
    }
    table = Table(
        [Column("", figures=False), Column("estimate (95 %)")],
        [(name, _interval(each)) for name, each in estimates.items()],
    )
    data = (
        f"{count(fitted.ballots, 'ballot')} of {count(fitted.panels, 'panel')} in "
        f"{count(fitted.runs, 'run')}; the unit is a judge's own error (standard deviation 1)"
    )
    return [Section(tables=[table], sentences=[("Ballots", data)])]


def conclude_search(report: SearchReport) -> str:
    """The protocol with the least regret."""
    best = report.ranked[0]
    return (
        f"{best.name} has the least regret of those shown, {best.regret:.2f} (in {best.worst}), "
        f"for {best.mean_calls:.0f} calls on average"
    )


def search_sections(report: SearchReport) -> list[Section]:
    """The protocols, and their quality by world."""
    ranked = report.ranked
    letters = [chr(ord("a") + at) for at in range(len(ranked))]
    words = [Column(title, figures=False) for title in ("", "protocol", "known as")]
    names = Table(
        words,
        [(letter, one.name, one.note) for letter, one in zip(letters, ranked, strict=True)],
    )
    worlds = [
        (world, *(f"{one.quality[world].value:.2f}" for one in ranked), f"{best:.2f}")
        for world, best in report.best.items()
    ]
    rows = [
        ("calls", *(f"{one.mean_calls:.0f}" for one in ranked), ""),
        ("regret", *(f"{one.regret:.2f}" for one in ranked), ""),
        *worlds,
    ]
    quality = Table([Column("", figures=False), *map(Column, (*letters, "best"))], rows)
    notes = [
        (
            "Tried",
            f"{report.tried:,} protocols tried, {report.eligible:,} of them within {report.calls} calls on "
            "average over the worlds; best is the most that any of those delivered",
        ),
        (
            "Shown",
            f"played again, {report.runs:,} fresh runs in each world",
        ),
        (
            "Regret",
            "the most by which a protocol falls short of the best in any world, as a share of it",
        ),
    ]
    return [Section(tables=[names, quality], sentences=notes)]


def conclude_splits(report: SplitReport) -> str:
    """The split that falls short the least."""
    best = report.splits[0]
    return (
        f"{count(best.playoff, 'judge')} for the playoff and {best.confirmation} for the confirmation "
        f"fall short the least, by {best.regret:.2f} at most"
    )


def split_sections(report: SplitReport) -> list[Section]:
    """Every split, then the best one by world."""
    splits = [
        (
            f"{one.playoff} + {one.confirmation}",
            *(f"{value:.2f}" for value in (one.regret, one.quality_short, one.claimed_short)),
        )
        for one in report.splits
    ]
    heads = ("regret", "quality", "claims")
    best = report.splits[0]
    worlds = [
        (world, f"{quality:.2f}", percent(best.claimed[world]))
        for world, quality in best.quality.items()
    ]
    regret = (
        "the most by which a split falls short of the best of all splits in any world, in what it "
        "delivers or in the share of better texts that are confirmed"
    )
    return [
        Section(
            tables=[
                Table(
                    [Column("playoff + confirmation", figures=False), *map(Column, heads)], splits
                )
            ],
            sentences=[("Regret", regret)],
        ),
        Section(
            f"By world, {best.playoff} + {best.confirmation}",
            tables=[Table([Column("world", figures=False), *map(Column, heads[1:])], worlds)],
        ),
    ]


def _interval(found: Mean | Ratio | fit.FittedValue) -> str:
    return interval(Estimate(found.value, found.low, found.high))
