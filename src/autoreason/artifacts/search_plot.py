"""A research run as a picture: incumbents with their intervals over the evaluations that were taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from msgspec import Struct

from autoreason.artifacts import research_statements as statements
from autoreason.report.plot import LEGEND, Plot, Scale, colours, frame, label, legend

if TYPE_CHECKING:
    from autoreason.artifacts.research_report import ResearchReport
    from autoreason.artifacts.trial_events import EndTested

_WIDTH, _HEIGHT = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 26, 22
_NORMAL = 1.96


class _Mark(Struct, frozen=True):
    """A mean over the evaluations that were taken by then."""

    at: int
    mean: float
    reach: float


def plot_search(report: ResearchReport) -> Plot:
    """The incumbent's mean with its interval, candidates that were not kept, and the end test."""
    assert report.noise is not None
    spread = report.noise.spread
    at = len(report.noise.values)
    line = [_Mark(at, fmean(report.noise.values), _NORMAL * spread / sqrt(at))]
    others: list[_Mark] = []
    for trial in report.trials:
        at += trial.evaluations
        if trial.mean is None or trial.effect is None:
            continue
        mark = _Mark(at, trial.mean, _NORMAL * spread / sqrt(trial.effect.looks))
        (line if trial.status == "kept" else others).append(mark)
    last = max(at, report.evaluations) + 1
    tests = _test_marks(report.end, last) if report.end else []
    ends = [
        mean
        for mark in (*line, *others, *tests)
        for mean in (mark.mean - mark.reach, mark.mean + mark.reach)
    ]
    low, high = min(ends), max(ends)
    if low == high:
        low, high = low - 1, high + 1
    names = ["kept, with its 95 % interval", "not kept", "end test: start and result"]
    shades = colours(names)
    top = LEGEND * len(names)
    across, up = Scale(0, last, _LEFT, _WIDTH - _RIGHT), Scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    parts = [
        *legend(shades),
        f'<g transform="translate(0 {top})">',
        label(f"{report.metric} ({report.better} is better), by evaluations", _LEFT, 16, "title"),
        *_axes(across, up),
        *(_dot(across(each.at), up(each.mean), shades[names[1]], 2) for each in others),
        *_steps(line, across, up, shades[names[0]], last),
        *(_dot(across(each.at), up(each.mean), shades[names[2]], 4) for each in tests),
        "</g>",
    ]
    return frame("Incumbents over evaluations", _WIDTH, top + _HEIGHT, parts)


def _test_marks(end: EndTested, at: int) -> list[_Mark]:
    means = [[value for value in values if value is not None] for values in (end.start, end.result)]
    return [_Mark(at, fmean(values), 0.0) for values in means if values]


def _axes(across: Scale, up: Scale) -> Iterator[str]:
    for value in (up.low, (up.low + up.high) / 2, up.high):
        y = up(value)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield label(statements.figure(value, up.high - up.low), _LEFT - 5, y + 4, "axis", "end")
    for value in (0, across.high // 2, across.high):
        yield label(f"{value:,.0f}", across(value), _HEIGHT - 6, "axis", "middle")


def _steps(line: Sequence[_Mark], across: Scale, up: Scale, shade: str, last: int) -> Iterator[str]:
    corners = [f"M{across(line[0].at):.1f} {up(line[0].mean):.1f}"]
    for mark in line[1:]:
        corners.append(f"H{across(mark.at):.1f}V{up(mark.mean):.1f}")
    yield f'<path class="line" stroke="{shade}" d="{"".join(corners)}H{across(last):.1f}"/>'
    for mark in line:
        x, low, high = across(mark.at), up(mark.mean - mark.reach), up(mark.mean + mark.reach)
        yield f'<path stroke="{shade}" d="M{x:.1f} {low:.1f}V{high:.1f}"/>'
        yield _dot(x, up(mark.mean), shade, 3)


def _dot(x: float, y: float, shade: str, size: int) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{shade}"/>'
