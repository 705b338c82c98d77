"""Pass rates as a picture: a row a difficulty, a dot a strategy, a bar for its interval."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from autoreason.plugins import short
from autoreason.programs.solve_report import Score, SolveReport
from autoreason.programs.tables import percent
from autoreason.task import without_controls

_WIDTH, _LEFT, _RIGHT = 720, 110, 24
_LINE, _GAP, _LEGEND, _AXIS = 18, 16, 20, 40
_COLOURS = ("#0b6e99", "#d1495b", "#3a7d44", "#8e5ea2", "#b7791f", "#444444")
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
_STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}.axis{fill:#777}"
    ".grid{stroke:#ddd;stroke-width:1}"
)


def draw(report: SolveReport) -> str:
    """Rates solved with their 95 % intervals, over all problems and by difficulty, as an SVG document."""
    groups = [("all", list(report.scores))]
    groups += [(tier, list(rows)) for tier, rows in groupby(report.tiers, lambda e: e.difficulty)]
    colours = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(report.strategies)}
    top = _LEGEND * len(colours) + _GAP
    body = sum(_LINE * len(scores) + _GAP for _, scores in groups)
    height = top + body + _AXIS
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<title>Share of problems solved, with 95 % intervals</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        *_legend(colours),
        *_axis(top, top + body),
    ]
    y = top
    for title, scores in groups:
        parts += _group(title, scores, colours, y)
        y += _LINE * len(scores) + _GAP
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(colours: dict[str, str]) -> Iterator[str]:
    for at, (name, colour) in enumerate(colours.items()):
        y = _LEGEND * at + _GAP
        yield f'<circle cx="16" cy="{y - 4}" r="4" fill="{colour}"/>'
        yield f'<text x="28" y="{y}">{_text(short(name))}</text>'


def _axis(top: int, bottom: int) -> Iterator[str]:
    for tenth in range(0, 11, 2):
        x = _across(tenth / 10)
        yield f'<path class="grid" d="M{x:.1f} {top}V{bottom}"/>'
        yield f'<text class="axis" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tenth * 10} %</text>'
    middle = _across(0.5)
    yield f'<text class="axis" x="{middle:.1f}" y="{bottom + 32}" text-anchor="middle">solved</text>'


def _group(title: str, scores: Sequence[Score], colours: dict[str, str], top: int) -> Iterator[str]:
    yield f'<text class="title" x="10" y="{top + 14}">{_text(title)}</text>'
    for at, score in enumerate(scores):
        found, y = score.solved, top + _LINE * at + 10
        if found.value is None:
            continue
        colour = colours[score.strategy]
        told = _text(f"{short(score.strategy)}, {title}: {percent(found)}")
        low, high = found.low, found.high
        if low is not None and high is not None:
            yield (
                f'<path stroke="{colour}" stroke-width="2" '
                f'd="M{_across(low):.1f} {y}H{_across(high):.1f}"/>'
            )
        yield (
            f'<circle cx="{_across(found.value):.1f}" cy="{y}" r="4" fill="{colour}">'
            f"<title>{told}</title></circle>"
        )


def _text(text: str) -> str:
    """A text that may come from a problem, without what no XML document may hold."""
    return escape(_NO_CHARACTERS.sub("", without_controls(text)))


def _across(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)
