"""Pass rates as a plot: one group per difficulty, one dot per strategy, a bar for its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from autoreason.characters import in_markup
from autoreason.plugins import short
from autoreason.report.numbers import percent_interval
from autoreason.report.plot import LEGEND, Plot, Scale, colours, frame, label, legend

if TYPE_CHECKING:
    from autoreason.programs.solve_report import Score, SolveReport

_WIDTH, _LEFT, _RIGHT = 720, 110, 24
_LINE, _GAP, _AXIS = 18, 16, 40
_ACROSS = Scale(0, 1, _LEFT, _WIDTH - _RIGHT)


def draw(report: SolveReport) -> Plot:
    """Rates solved with their 95 % intervals, over all problems and by difficulty."""
    groups = [("all", list(report.scores))]
    groups += [
        (tier, list(rows)) for tier, rows in groupby(report.by_difficulty, lambda e: e.difficulty)
    ]
    shades = colours(list(map(short, report.strategies)))
    top = LEGEND * len(shades) + _GAP
    body = sum(_LINE * len(scores) + _GAP for _, scores in groups)
    parts = [*legend(shades), *_axis(top, top + body)]
    y = top
    for title, scores in groups:
        parts += _group(title, scores, shades, y)
        y += _LINE * len(scores) + _GAP
    title = "Share of problems solved, with 95 % intervals"
    return frame(title, _WIDTH, top + body + _AXIS, parts)


def _axis(top: int, bottom: int) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = _ACROSS(tenth / 10)
        yield f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>'
        yield label(f"{tenth * 10} %", x, bottom + 16, "axis", "middle")
    yield label("solved", _ACROSS(0.5), bottom + 32, "axis", "middle")


def _group(
    title: str, scores: Sequence[Score], shades: Mapping[str, str], top: int
) -> Iterator[str]:
    yield label(title, 10, top + 14, "title")
    for at, score in enumerate(scores):
        share, y = score.solved, top + _LINE * at + 10
        if share.value is None:
            continue
        name = short(score.strategy)
        colour = shades[name]
        if share.low is not None and share.high is not None:
            yield (
                f'<path stroke="{colour}" stroke-width="2" '
                f'd="M{_ACROSS(share.low):.1f} {y}H{_ACROSS(share.high):.1f}"/>'
            )
        about = in_markup(f"{name}, {title}: {percent_interval(share)}")
        yield (
            f'<circle cx="{_ACROSS(share.value):.1f}" cy="{y}" r="4" fill="{colour}">'
            f"<title>{about}</title></circle>"
        )
