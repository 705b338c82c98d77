"""Quality against calls as a picture: one small chart a world, one line a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor, log10
from typing import NamedTuple

from autoreason.studies.simulate.study import Cell

_COLUMNS = 3
_WIDTH, _HEIGHT = 300, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 12, 30, 34
_LEGEND = 22
_UNSEEN = 1e-9
"""Of what is drawn, less than a pixel."""
_COLOURS = ("#0b6e99", "#d1495b", "#3a7d44", "#8e5ea2", "#b7791f", "#444444")
_STYLE = (
    "text{font:11px sans-serif;fill:#333}.title{font-weight:bold}.axis{fill:#777}"
    ".grid{stroke:#ddd;stroke-width:1}.line{fill:none;stroke-width:2;stroke-linejoin:round}"
)


class _Scale(NamedTuple):
    """Numbers to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def draw(cells: Sequence[Cell]) -> str:
    """The curves of a study as an SVG document."""
    protocols = list(dict.fromkeys(cell.protocol for cell in cells))
    charts = [list(group) for _, group in groupby(cells, key=lambda cell: cell.world)]
    columns = min(_COLUMNS, len(charts))
    width = max(columns * _WIDTH, 14 + 130 * len(protocols))
    rows = ceil(len(charts) / columns)
    height = rows * _HEIGHT + _LEGEND * len(protocols)
    colours = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(protocols)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>True quality of the text delivered, against calls</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_legend(colours),
    ]
    for at, group in enumerate(charts):
        x, y = at % columns * _WIDTH, at // columns * _HEIGHT + _LEGEND * len(protocols)
        parts += [f'<g transform="translate({x} {y})">', *_chart(group, colours), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(colours: dict[str, str]) -> Iterator[str]:
    for at, (name, colour) in enumerate(colours.items()):
        y = 16 + at * _LEGEND
        yield f'<path class="line" stroke="{colour}" d="M10 {y - 4}H30"/>'
        yield f'<text x="36" y="{y}">{escape(name)}</text>'


def _chart(cells: Sequence[Cell], colours: dict[str, str]) -> Iterator[str]:
    points = [point for cell in cells for point in cell.curve or []]
    calls, quality = [x for x, _ in points], [y for _, y in points]
    across = _Scale(0, _rounded(max(calls), ceil), _LEFT, _WIDTH - _RIGHT)
    low, high = _rounded(min(0, *quality), floor), _rounded(max(*quality, 0.1), ceil)
    up = _Scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    yield f'<text class="title" x="{_LEFT}" y="18">{escape(cells[0].world)}</text>'
    for value in (low, 0.0, high) if low < 0 else (0.0, high / 2, high):
        yield f'<path class="grid" d="M{_LEFT} {up(value):.1f}H{_WIDTH - _RIGHT}"/>'
        yield (
            f'<text class="axis" x="{_LEFT - 5}" y="{up(value) + 4:.1f}" text-anchor="end">'
            f"{value:g}</text>"
        )
    for value in (0.0, across.high / 2, across.high):
        yield (
            f'<text class="axis" x="{across(value):.1f}" y="{_HEIGHT - _BOTTOM + 15}" '
            f'text-anchor="middle">{value:g}{" calls" if value == across.high / 2 else ""}</text>'
        )
    for cell in cells:
        corners = [f"{across(x):.1f} {up(y):.1f}" for x, y in [(1.0, 0.0), *(cell.curve or [])]]
        yield (
            f'<path class="line" stroke="{colours[cell.protocol]}" '
            f'd="M{"L".join(corners)}"><title>{escape(cell.protocol)}</title></path>'
        )


def _rounded(value: float, to: Callable[[float], int]) -> float:
    """A number of one or two digits at or beyond the value, unless that is too small to be seen."""
    if abs(value) < _UNSEEN:
        return 0.0
    step: float = 10 ** floor(log10(abs(value))) / 2
    return to(value / step) * step
