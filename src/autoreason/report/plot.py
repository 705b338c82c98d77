"""Plots of lines and dots by pygal, in the page's colours, light or dark; drawn when they are looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any, NamedTuple

from autoreason.characters import for_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_COLOURS = (
    *("#0b6e99", "#d1495b", "#3a7d44", "#8e5ea2", "#b7791f", "#7a7a7a", "#c2559a"),
    *("#2a9d8f", "#a0522d", "#5c6bc0"),
)
_WIDTH, _HEIGHT, _LEGEND_LINE, _FONT, _MOST_TICKS = 480, 220, 18, 12, 8
_LAYOUT: dict[str, Any] = {
    "width": _WIDTH,
    "margin": 8,
    "margin_right": 16,
    "spacing": 6,
    "legend_at_bottom": True,
    "legend_at_bottom_columns": 1,
    "truncate_legend": -1,
    "min_scale": 3,
    "max_scale": _MOST_TICKS,
    "x_value_formatter": "{:z,.6g}".format,
    "allow_interruptions": True,
    "no_data_text": "no numbers to draw",
}
_FLAT = 1e-9
"""Less of a difference, beside the numbers themselves, is less than a pixel."""
_EXTREME = 100
"""Powers of ten that pygal, which multiplies heights with each other, can square."""
_STYLE = (
    ".chart text{font:12px sans-serif;fill:var(--ink,#333)}.chart .background{fill:var(--paper,#fff)}"
    ".chart .title,.chart .axis text{fill:var(--muted,#666)}.chart .axis.y text{text-anchor:end}"
    ".chart .title,.chart .no_data,.chart .axis.x text{text-anchor:middle}.chart .axis path{stroke:var(--line,#ddd)}"
    ".chart .axis.x .guides path{stroke:none}.chart .plot_title{font-weight:bold;fill:var(--ink,#333)}"
    ".chart .color{fill:currentColor;stroke:currentColor}"
    ".chart .line.reactive{fill:none;stroke-width:2;stroke-linejoin:round}"
)


class Plot(NamedTuple):
    """A picture as an SVG document; on a page it takes the page's colours, light or dark."""

    title: str
    draw: Callable[[], str]

    @property
    def svg(self) -> str:
        """The document; only here is anything loaded and drawn."""
        return self.draw()


class Point(NamedTuple):
    """A place that a line goes through; with words about it, a dot."""

    x: float
    y: float
    about: str = ""


class Series(NamedTuple):
    """Dots and lines of one colour."""

    name: str
    colour: str
    points: Sequence[Point | None]
    """None interrupts the line."""
    dashed: bool = False


class Chart(NamedTuple):
    """Series on two axes."""

    series: Sequence[Series]
    x_title: str
    y_title: str = ""
    show: Callable[[float], str] = "{:z,.6g}".format
    """Heights in words."""
    names: Mapping[float, str] = {}
    """Places on the axis across that have names instead of numbers."""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    """None for what the points need."""
    heading: str = ""
    """What the whole is of, above it."""

    @property
    def height(self) -> int:
        """In pixels, with a line beneath for each name."""
        return _HEIGHT + _LEGEND_LINE * sum(1 for each in self.series if each.name)


def colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each name."""
    return {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(names)}


def plot_charts(title: str, *charts: Chart) -> Plot:
    """Charts beneath each other: no script, no ids, nothing from a network, and always the same bytes."""
    return Plot(title, partial(_svg, title, charts))


def _svg(title: str, charts: Sequence[Chart]) -> str:
    from xml.etree.ElementTree import Element, SubElement, tostring

    height = sum(chart.height for chart in charts)
    size = {"width": str(_WIDTH), "height": str(height), "viewBox": f"0 0 {_WIDTH} {height}"}
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", **size})
    root.set("role", "img")
    SubElement(root, "title").text = for_xml(title)
    SubElement(root, "style").text = _STYLE
    top = 0
    for chart in charts:
        SubElement(root, "g", transform=f"translate(0 {top})").append(_draw(chart))
        top += chart.height
    return tostring(root, "unicode") + "\n"


def _draw(chart: Chart) -> Element:
    from pygal import XY, PluginImportFixer
    from pygal.etree import etree
    from pygal.style import Style

    # It serves maps, which are not drawn here, and makes Python 3.11 warn at every later import.
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, PluginImportFixer)]
    # With lxml, where that is installed, the same chart would be other bytes.
    etree.to_etree()
    unit = _unit([point for each in chart.series for point in each.points])
    # Without any series pygal draws no axes.
    series = [_in_units(each, unit) for each in chart.series] or [Series("", "none", [])]
    points = [point for each in series for point in each.points if point]
    across = chart.x_range or _limits([point.x for point in points])
    up = _limits([point.y for point in points])
    if chart.y_range:
        up = chart.y_range[0] / unit, chart.y_range[1] / unit
    named = [{"value": at, "label": for_xml(name)} for at, name in chart.names.items()]
    drawn = XY(
        style=Style(label_font_size=_FONT, legend_font_size=_FONT, title_font_size=_FONT),
        height=chart.height,
        title=for_xml(chart.heading) or None,
        x_title=for_xml(chart.x_title),
        y_title=for_xml(chart.y_title) or None,
        show_legend=any(each.name for each in series),
        # Names are shortened where there is no room; there are never too many numbers for it.
        truncate_label=None if named else -1,
        value_formatter=lambda height: chart.show(height * unit),
        x_labels=named or _whole_numbers([point.x for point in points], *across),
        y_labels=_whole_numbers([point.y for point in points], *up),
        xrange=across,
        range=up,
        **_LAYOUT,
    )
    for each in series:
        dot = 5 if len(each.points) == 1 else 3
        drawn.add(for_xml(each.name), list(map(_value, each.points)), dots_size=dot)
    root: Element = drawn.render_tree()
    _clean(root, series)
    return root[-1]


def _is_finite(point: Point) -> bool:
    return all(abs(each) <= sys.float_info.max for each in (point.x, point.y))


def _unit(points: Sequence[Point | None]) -> float:
    """The power of ten in which heights are drawn: 1, unless all are very small or some very large."""
    heights = (abs(point.y) for point in points if point and _is_finite(point))
    power = floor(log10(max(heights, default=0.0) or 1.0))
    return 1.0 if abs(power) < _EXTREME else 10.0 ** max(power, sys.float_info.min_10_exp)


def _in_units(series: Series, unit: float) -> Series:
    """A series without what is no finite number, which interrupts its line."""
    points = [
        point._replace(y=point.y / unit) if point and _is_finite(point) else None
        for point in series.points
    ]
    return series._replace(points=points)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the most; around a number that is alone."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    # Nearer to each other, pygal would look for ticks between them for ever.
    if high - low > _FLAT * max(abs(low), abs(high)):
        return low, high
    room = abs(low) / 10 or 1.0
    return low - room, high + room


def _whole_numbers(values: Sequence[float], low: float, high: float) -> list[int] | None:
    """Ticks a round number apart where there is nothing in between, such as half a pass."""
    if any(value % 1 for value in values):
        return None
    steps = (part * 10**power for power in count() for part in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= _MOST_TICKS)
    return list(range(ceil(low / step) * step, floor(high) + 1, step))


def _value(point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    about = {"tooltip": for_xml(point.about)} if point.about else {"node": {"r": 0}}
    return {"value": (point.x, point.y), **about}


def _clean(root: Element, series: Sequence[Series]) -> None:
    """Leave out what only pygal's script needs, ids that other charts have too, and its colours."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "desc" or "tooltip-overlay" in child.get("class", ""):
                parent.remove(child)
        parent.attrib.pop("id", None)
        _, found, number = parent.get("class", "").partition("color-")
        if found:
            each = series[int(number.split()[0])]
            dashes = ";stroke-dasharray:4 3" if each.dashed and parent.tag == "g" else ""
            parent.attrib.update({"class": "color", "style": f"color:{each.colour}{dashes}"})
