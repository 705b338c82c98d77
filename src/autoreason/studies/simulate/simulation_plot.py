"""Quality against calls as a picture: one chart per world, one line per protocol."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from autoreason.report.plot import Chart, Plot, Point, Series, colours, plot_charts

if TYPE_CHECKING:
    from autoreason.studies.simulate.study import Cell


def draw(cells: Sequence[Cell]) -> Plot:
    """The curves of a study."""
    shades = colours(list(dict.fromkeys(cell.protocol for cell in cells)))
    charts = [
        Chart([_line(cell, shades) for cell in group], "calls", heading=world)
        for world, group in groupby(cells, key=lambda cell: cell.world)
    ]
    return plot_charts("True quality of the text delivered, against calls", *charts)


def _line(cell: Cell, shades: dict[str, str]) -> Series:
    curve = [Point(1.0, 0.0), *(Point(*each) for each in cell.curve or [])]
    return Series(cell.protocol, shades[cell.protocol], curve)
