"""Quality against calls as a picture: one small chart per world, one line per protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from autoreason.characters import in_markup
from autoreason.report.plot import LEGEND, Plot, Scale, colours, frame, label, legend

if TYPE_CHECKING:
    from autoreason.studies.simulate.study import Cell

_COLUMNS = 3
_WIDTH, _HEIGHT = 300, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 12, 30, 34
_TOO_SMALL = 1e-9
"""Of what is drawn, less than a pixel."""


def draw(cells: Sequence[Cell]) -> Plot:
    """The curves of a study."""
    protocols = list(dict.fromkeys(cell.protocol for cell in cells))
    charts = [list(group) for _, group in groupby(cells, key=lambda cell: cell.world)]
    columns = min(_COLUMNS, len(charts))
    width = max(columns * _WIDTH, 14 + 130 * len(protocols))
    top = LEGEND * len(protocols)
    shades = colours(protocols)
    parts = [*legend(shades)]
    for at, group in enumerate(charts):
        x, y = at % columns * _WIDTH, at // columns * _HEIGHT + top
        parts += [f'<g transform="translate({x} {y})">', *_chart(group, shades), "</g>"]
    height = ceil(len(charts) / columns) * _HEIGHT + top
    return frame("True quality of the text delivered, against calls", width, height, parts)


def _chart(cells: Sequence[Cell], shades: dict[str, str]) -> Iterator[str]:
    points = [point for cell in cells for point in cell.curve or []]
    calls, quality = [x for x, _ in points], [y for _, y in points]
    across = Scale(0, _rounded(max(calls), ceil), _LEFT, _WIDTH - _RIGHT)
    low, high = _rounded(min(0, *quality), floor), _rounded(max(*quality, 0.1), ceil)
    up = Scale(low, high, _HEIGHT - _BOTTOM, _TOP)
    yield label(cells[0].world, _LEFT, 18, "title")
    for value in (low, 0.0, high) if low < 0 else (0.0, high / 2, high):
        yield f'<path class="grid" d="M{_LEFT} {up(value):.1f}H{_WIDTH - _RIGHT}"/>'
        yield label(f"{value:g}", _LEFT - 5, up(value) + 4, "axis", "end")
    for value in (0.0, across.high / 2, across.high):
        unit = " calls" if value == across.high / 2 else ""
        yield label(f"{value:g}{unit}", across(value), _HEIGHT - _BOTTOM + 15, "axis", "middle")
    for cell in cells:
        corners = [f"{across(x):.1f} {up(y):.1f}" for x, y in [(1.0, 0.0), *(cell.curve or [])]]
        yield (
            f'<path class="line" stroke="{shades[cell.protocol]}" '
            f'd="M{"L".join(corners)}"><title>{in_markup(cell.protocol)}</title></path>'
        )


def _rounded(value: float, to: Callable[[float], int]) -> float:
    """A number of one or two digits at or beyond the value, unless that is too small to be seen."""
    if abs(value) < _TOO_SMALL:
        return 0.0
    step: float = 10 ** floor(log10(abs(value))) / 2
    return to(value / step) * step
