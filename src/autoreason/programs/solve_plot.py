"""Pass rates as a plot: one group per difficulty, one dot per strategy, a line for its interval."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from autoreason.plugins import short
from autoreason.report.numbers import percent, percent_interval
from autoreason.report.plot import Chart, Plot, Point, Series, colours, plot_charts

if TYPE_CHECKING:
    from autoreason.programs.solve_report import Score, SolveReport

_GROUP = 0.8
"""The share of a group's width that its dots take."""


def draw(report: SolveReport) -> Plot:
    """Rates solved with their 95 % intervals, over all problems and by difficulty."""
    groups = [("all", list(report.scores))]
    groups += [
        (tier, list(rows)) for tier, rows in groupby(report.by_difficulty, lambda e: e.difficulty)
    ]
    strategies = list(report.strategies)
    shades = colours(list(map(short, strategies)))
    apart = _GROUP / max(1, len(strategies))
    points: dict[str, list[Point | None]] = {short(each): [] for each in strategies}
    for at, (tier, scores) in enumerate(groups):
        for score in scores:
            aside = strategies.index(score.strategy) - (len(strategies) - 1) / 2
            points[short(score.strategy)] += _interval(score, at + aside * apart, tier)
    series = [Series(name, shades[name], found) for name, found in points.items()]
    names = {float(at): tier for at, (tier, _) in enumerate(groups)}
    chart = Chart(series, "difficulty", "Solved", percent, names, (-0.5, len(groups) - 0.5), (0, 1))
    return plot_charts("Share of problems solved, with 95 % intervals", chart)


def _interval(score: Score, x: float, tier: str) -> list[Point | None]:
    share = score.solved
    if share.value is None:
        return []
    about = f"{short(score.strategy)}, {tier}: {percent_interval(share)}"
    dot = Point(x, share.value, about)
    if share.low is None or share.high is None:
        return [dot, None]
    return [Point(x, share.low), dot, Point(x, share.high), None]
