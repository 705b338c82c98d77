"""A research run as a picture: incumbents with their intervals over the evaluations that were taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING

from msgspec import Struct

from autoreason.artifacts import research_statements as statements
from autoreason.artifacts.keep_rule import mean_of
from autoreason.report.plot import Chart, Plot, Point, Series, colours, plot_charts

if TYPE_CHECKING:
    from autoreason.artifacts.research_report import ResearchReport
    from autoreason.artifacts.trial_events import EndTested

_NORMAL = 1.96
_NAMES = ("kept, with its 95 % interval", "not kept", "end test: start and result")


class _Mark(Struct, frozen=True):
    """A mean over the evaluations that were taken by then."""

    at: int
    mean: float
    reach: float

    @property
    def dot(self) -> Point:
        """The mean with its interval."""
        return Point(self.at, self.mean, show_mean(self.mean, self.reach))


def interval_reach(spread: float, looks: int) -> float:
    """How far the 95 % interval of a mean reaches to each side."""
    return _NORMAL * spread / sqrt(looks)


def show_mean(mean: float, reach: float) -> str:
    """A mean and its interval."""
    return f"{statements.figure(mean, reach)} ± {reach:.2g}" if reach else statements.figure(mean)


def plot_search(report: ResearchReport) -> Plot:
    """The incumbent's mean with its interval, candidates that were not kept, and the end test."""
    assert report.noise is not None
    spread = report.noise.spread
    at = len(report.noise.values)
    line = [_Mark(at, mean_of(report.noise.values), interval_reach(spread, at))]
    others: list[_Mark] = []
    for trial in report.trials:
        at += trial.evaluations
        if trial.mean is None or trial.effect is None:
            continue
        mark = _Mark(at, trial.mean, interval_reach(spread, trial.effect.looks))
        (line if trial.status == "kept" else others).append(mark)
    last = max(at, report.evaluations) + 1
    means = end_means(report.end) if report.end else {}
    tests = [
        Point(last, mean, f"end test, {name}: {statements.figure(mean)}")
        for name, mean in means.items()
    ]
    shades = colours(_NAMES)
    points = [_steps(line, last), _alone(each.dot for each in others), _alone(tests)]
    series = [Series(name, shades[name], found) for name, found in zip(_NAMES, points, strict=True)]
    heights = [point.y for found in points for point in found if point]
    show = partial(statements.figure, reach=max(heights) - min(heights))
    heading = f"{report.metric} ({report.better} is better)"
    # The name of a metric may be longer than the axis.
    chart = Chart(series, "evaluations", show=show, x_range=(0, last), heading=heading)
    return plot_charts("Incumbents over evaluations", chart)


def end_means(end: EndTested) -> dict[str, float]:
    """The start and the result on fresh evaluations, where there are any."""
    values = {"start": end.start, "result": end.result}
    known = {name: [each for each in found if each is not None] for name, found in values.items()}
    return {name: mean_of(found) for name, found in known.items() if found}


def _alone(dots: Iterable[Point]) -> list[Point | None]:
    """Dots that no line joins."""
    return [each for dot in dots for each in (dot, None)]


def _steps(line: Sequence[_Mark], last: int) -> list[Point | None]:
    """From each incumbent to the next; then their intervals."""
    steps: list[Point | None] = []
    for mark, end in zip(line, [*(mark.at for mark in line[1:]), last], strict=True):
        steps += [mark.dot, Point(end, mark.mean)]
    for mark in line:
        ends = mark.mean - mark.reach, mark.mean + mark.reach
        steps += [None, *(Point(mark.at, end) for end in ends)]
    return steps
