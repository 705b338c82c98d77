"""What simulations print: tables of what was true, and how far the work is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from autoreason.cli.views import words
from autoreason.cli.views.outcome import print_json

if TYPE_CHECKING:
    from autoreason.studies.simulate.fit import FittedJudges, FittedValue
    from autoreason.studies.simulate.outcomes import Mean, Ratio
    from autoreason.studies.simulate.search import SearchResult
    from autoreason.studies.simulate.split import Split
    from autoreason.studies.simulate.study import Cell, Plan
    from autoreason.studies.simulate.world import World

_SECONDS_BETWEEN_LINES = 10


class Progress:
    """How far the work is, on standard error: one line that changes, or a line now and then in a log."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what = what
        self._quiet = quiet
        self._changes = sys.stderr.isatty()
        self._began = self._said = monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._changes and not self._quiet:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __call__(self, done: int, total: int) -> None:
        """Say that so much of so much is done."""
        now = monotonic()
        line = f"{done} of {total} {self._what}, {now - self._began:.0f} s"
        if self._quiet:
            return
        if self._changes:
            click.echo(f"\r\x1b[K{line}", nl=False, err=True)
        elif now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            click.echo(line, err=True)


def print_study(
    worlds: Sequence[World], cells: Sequence[Cell], plan: Plan, *, as_json: bool
) -> None:
    """A block a world, a line a protocol."""
    if as_json:
        print_json({"plan": plan._asdict(), "worlds": worlds, "cells": cells})
        return
    headings = ("", "quality", "95 %", "calls", "passes", "worse", "claims", "wrongly")
    rows = [(cell.protocol, *_numbers(cell)) for cell in cells]
    widths = _widths([headings, *rows])
    for world in worlds:
        click.echo(f"{world.name}: {world.about}")
        click.echo(_line(headings, widths))
        for cell, row in zip(cells, rows, strict=True):
            if cell.world == world.name:
                click.echo(_line(row, widths))
        click.echo()
    click.echo(
        f"{plan.runs:,} runs each. The first draft has quality 0. Worse: the share of displacements "
        "that made the text worse. Claims: the share of runs with a better text than the draft whose "
        "confirmation says so; wrongly: the share of the others whose confirmation says so too."
    )


def print_fit(fitted: FittedJudges, world: World, *, as_json: bool) -> None:
    """What the ballots say of their judges."""
    if as_json:
        print_json({"fitted": fitted, "world": world})
        return
    said = {
        "lead of B over A": fitted.revision_lead,
        "lead of AB over A": fitted.synthesis_lead,
        "standing first": fitted.first,
        "standing last": fitted.last,
        "what judges see alike": fitted.common,
        "correlation of judges": fitted.correlation,
    }
    rows = [(name, f"{each.value:.2f}", _interval(each)) for name, each in said.items()]
    widths = _widths(rows)
    for row in rows:
        click.echo(_line(row, widths))
    click.echo(
        f"\n{words.count(fitted.ballots, 'ballot')} of {words.count(fitted.panels, 'panel')} in "
        f"{words.count(fitted.runs, 'run')}. The unit is a "
        "judge's own error (standard deviation 1)."
    )


def print_search(found: SearchResult, *, as_json: bool) -> None:
    """The best protocols, and those we know beside them; a line a world."""
    if as_json:
        print_json(found)
        return
    letters = [chr(ord("a") + at) for at in range(len(found.ranked))]
    for letter, each in zip(letters, found.ranked, strict=True):
        click.echo(f"  {letter}  {each.name}" + (f"  ({each.note})" if each.note else ""))
    rows = [
        ("", *letters, "best"),
        ("calls", *(f"{each.mean_calls:.0f}" for each in found.ranked), ""),
        ("regret", *(f"{each.regret:.2f}" for each in found.ranked), ""),
        *(
            (world, *(f"{each.quality[world].value:.2f}" for each in found.ranked), f"{best:.2f}")
            for world, best in found.best.items()
        ),
    ]
    widths = _widths(rows)
    click.echo()
    for row in rows:
        click.echo(_line(row, widths))
    click.echo(
        f"\n{found.tried:,} protocols tried, {found.eligible:,} of them within {found.calls} calls on "
        f"average over the worlds; best is the most that any of those delivered. Those shown were played "
        f"again, {found.runs:,} fresh runs in each world. Regret is the most by which one falls short of "
        "the best in any world, as a share of it."
    )


def print_splits(found: Sequence[Split], *, as_json: bool) -> None:
    """A line a split, the best first; then what the best delivers and claims, world by world."""
    if as_json:
        print_json([{**asdict(each), "regret": each.regret} for each in found])
        return
    rows = [("playoff + confirmation", "regret", "quality", "claims")]
    rows += [
        (
            f"{each.playoff} + {each.confirmation}",
            f"{each.regret:.2f}",
            f"{each.quality_short:.2f}",
            f"{each.claimed_short:.2f}",
        )
        for each in found
    ]
    best = found[0]
    worlds = [("", "quality", "claims")]
    worlds += [
        (world, f"{quality:.2f}", f"{best.claimed[world] * 100:.0f} %")
        for world, quality in best.quality.items()
    ]
    for table in (rows, worlds):
        widths = _widths(table)
        for row in table:
            click.echo(_line(row, widths))
        click.echo()
    click.echo(
        f"Regret: the most by which a split stays behind the best of all splits in any world, in what it delivers or "
        f"in the share of better texts that are confirmed. The last table is that of {best.playoff} + "
        f"{best.confirmation}."
    )


def _numbers(cell: Cell) -> tuple[str, ...]:
    summary = cell.summary
    return (
        f"{summary.quality.value:.2f}",
        _interval(summary.quality),
        f"{summary.calls.value:.1f}",
        f"{summary.passes.value:.1f}",
        *(
            f"{each.value * 100:.0f} %" if each else "-"
            for each in (summary.worse, summary.claimed, summary.claimed_wrongly)
        ),
    )


def _interval(each: Mean | Ratio | FittedValue) -> str:
    return f"{each.low:.2f} to {each.high:.2f}"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = cells
    aligned = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
    return "  ".join([f"  {first.ljust(widths[0])}", *aligned]).rstrip()
