"""Pictures of numbers: lines and dots on two axes as SVG, in the page's colours, drawn when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby
from math import ceil, floor, log10
from typing import NamedTuple

from autoreason.characters import in_markup
from autoreason.report.numbers import shorten

_SQUARE, _TRIANGLE = "M-4-4H4V4H-4Z", "M0-5L5 4H-5Z"
_DIAMOND, _CIRCLE = "M0-5.5L5.5 0L0 5.5L-5.5 0Z", "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z"
_SHADES = (
    ("#123c73", "#bfe0fc", _SQUARE),
    ("#1f7a1f", "#76c64f", _TRIANGLE),
    ("#9a35c9", "#c583ee", _DIAMOND),
    ("#5f666f", "#98a0a8", _CIRCLE),
    ("#b3530a", "#f0a35e", _SQUARE),
    ("#0b7285", "#59c9db", _TRIANGLE),
    ("#a02c1a", "#ff9c88", _DIAMOND),
    ("#835000", "#ecb860", _CIRCLE),
    ("#3b5bdb", "#91a7ff", _SQUARE),
    ("#a61e6b", "#f783c2", _TRIANGLE),
)
"""Colours on light and on dark paper, and shapes, so that nothing rests on colour alone."""
_SHAPES = {f"var(--plot-{at},{light})": shape for at, (light, _, shape) in enumerate(_SHADES)}
LIGHT = ";".join(f"--plot-{at}:{light}" for at, (light, _, _) in enumerate(_SHADES))
DARK = ";".join(f"--plot-{at}:{dark}" for at, (_, dark, _) in enumerate(_SHADES))
"""What a page says to have these colours."""
_STYLE = (
    ".plot text{font:12px system-ui,sans-serif;fill:var(--ink,#222)}.plot .muted{fill:var(--muted,#666)}"
    ".plot .title{font-weight:600}.plot .mark{fill:var(--paper,#fff);font:bold 8px sans-serif}"
    ".plot .paper{fill:var(--paper,#fff)}.plot .grid{stroke:var(--line,#ddd)}"
    ".plot .lead{stroke:var(--muted,#666);stroke-dasharray:1 3}"
    ".plot .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".plot .dot{fill:currentColor;stroke:var(--paper,#fff);stroke-width:1}"
)
_WIDTH, _PLAIN, _LINE, _LETTER, _EDGE = 480, 160, 18, 6.6, 16
"""Pixels: of a picture, of the height of its axes, of a line of words, of a letter, and at the edges."""
_MAX_TICKS = 8
_FLAT = 1e-9
"""Less of a difference, beside the numbers themselves, is less than a pixel."""
_LARGEST, _SMALLEST = 1e300, 1e-300
"""Numbers and differences beyond them cannot be divided."""


class Plot(NamedTuple):
    """A picture as an SVG document; on a page it takes the page's colours, light or dark."""

    title: str
    draw: Callable[[], str]

    @property
    def svg(self) -> str:
        """The document; only here is anything drawn."""
        return self.draw()


class Point(NamedTuple):
    """A place that a line goes through; with words about it, a dot."""

    x: float
    y: float
    about: str = ""


class Series(NamedTuple):
    name: str
    colour: str
    points: Sequence[Point | None]
    """None interrupts the line."""


class Chart(NamedTuple):
    series: Sequence[Series]
    x_title: str
    y_title: str = ""
    show: Callable[[float], str] = "{:z,.6g}".format
    names: Mapping[float, str] = {}
    """Places on the axis across that have names instead of numbers."""
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    """None for what the points need."""
    heading: str = ""
    """What the whole is of, above it."""


class Scale(NamedTuple):
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def colours(names: Sequence[str]) -> dict[str, str]:
    known = list(_SHAPES)
    return {name: known[at % len(known)] for at, name in enumerate(names)}


def plot_charts(title: str, *charts: Chart) -> Plot:
    """Charts beneath each other: no script, no ids, nothing from a network, and always the same bytes."""

    def draw() -> str:
        parts: list[str] = []
        top = 0.0
        for chart in charts:
            drawn, height = _draw(chart)
            parts += [f'<g transform="translate(0 {top:.1f})">', *drawn, "</g>"]
            top += height
        return frame(title, _WIDTH, top, parts)

    return Plot(title, draw)


def frame(title: str, width: int, height: float, parts: Iterable[str], kind: str = "") -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
        f'viewBox="0 0 {width} {height:.0f}" role="img" class="{f"plot {kind}".rstrip()}">',
        f"<title>{in_markup(title)}</title><style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height:.0f}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def label(text: str, x: float, y: float, kind: str = "", anchor: str = "") -> str:
    """A text at a place; what it says acts on no page."""
    named = f' class="{kind}"' if kind else ""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{end}>{in_markup(text)}</text>'


def draw_legend(names: Mapping[str, str], width: int, top: float) -> tuple[list[str], float]:
    """The shape, colour and name of each, side by side, and where the next line begins."""
    parts: list[str] = []
    x, y = float(_EDGE), top
    for name, colour in names.items():
        room = 30 + _LETTER * len(name)
        if x > _EDGE and x + room > width:
            x, y = float(_EDGE), y + _LINE
        parts += [_dot(x + 4, y + 8, colour), label(name, x + 14, y + 12, "legend")]
        x += room
    return parts, y + _LINE if names else top


def _draw(chart: Chart) -> tuple[list[str], float]:
    lines = [(each.colour, list(_runs(each.points))) for each in chart.series]
    points = [point for _, runs in lines for run in runs for point in run]
    across = chart.x_range or _limits([point.x for point in points])
    up = chart.y_range or _limits([point.y for point in points])
    heights = list(_ticks([point.y for point in points], *up, _MAX_TICKS - 2))
    left = 2 * _EDGE + _LETTER * max((len(chart.show(each)) for each in heights), default=0)
    top = 8.0 + _LINE * (bool(chart.heading) + bool(chart.y_title)) + 8
    x = Scale(*across, left, _WIDTH - _EDGE)
    y = Scale(*up, top + _PLAIN, top)
    parts = [label(chart.heading, _EDGE, 20, "title")] if chart.heading else []
    if chart.y_title:
        parts.append(label(chart.y_title, _EDGE, top - 12, "muted"))
    for each in heights:
        parts.append(f'<path class="grid" d="M{left - 6:.1f} {y(each):.1f}H{_WIDTH - _EDGE}"/>')
        parts.append(label(chart.show(each), left - 10, y(each) + 4, "muted y", "end"))
    for at, name in _places(chart, [point.x for point in points], across):
        parts.append(label(name, x(at), top + _PLAIN + _LINE, "muted x", "middle"))
    bottom = top + _PLAIN + 2 * _LINE
    parts.append(label(chart.x_title, (left + _WIDTH - _EDGE) / 2, bottom, "muted", "middle"))
    for colour, runs in lines:
        for run in runs:
            path = "L".join(f"{x(point.x):.1f} {y(point.y):.1f}" for point in run)
            if run[1:]:
                parts.append(f'<path class="line" style="color:{colour}" d="M{path}"/>')
        parts += (
            _dot(x(point.x), y(point.y), colour, point.about)
            for run in runs
            for point in run
            if point.about
        )
    if not points:
        middle = (left + _WIDTH - _EDGE) / 2
        parts.append(label("no numbers to draw", middle, top + _PLAIN / 2, "", "middle"))
    names = {each.name: each.colour for each in chart.series if each.name}
    legend, end = draw_legend(names, _WIDTH, bottom + 8)
    return [*parts, *legend], end + 8


def _runs(points: Sequence[Point | None]) -> Iterator[list[Point]]:
    """Points that a line joins, without what is not a number."""

    def is_drawn(point: Point | None) -> bool:
        return point is not None and abs(point.x) < _LARGEST and abs(point.y) < _LARGEST

    for drawn, run in groupby(points, is_drawn):
        if drawn:
            yield [point for point in run if point]


def _limits(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the most; around a number that is alone."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low > max(_SMALLEST, _FLAT * max(abs(low), abs(high))):
        return low, high
    room = abs(low) / 10 or 1.0
    return low - room, high + room


def _ticks(values: Sequence[float], low: float, high: float, most: int) -> Iterator[float]:
    """Round numbers; whole ones where there is nothing in between, such as half a pass."""
    least = 1.0 if values and not any(value % 1 for value in values) else 0.0
    power = floor(log10(high - low)) - 1
    steps = (part * 10.0**each for each in count(power) for part in (1, 2, 5))
    step = next(step for step in steps if step >= least and (high - low) / step <= most)
    yield from (at * step for at in range(ceil(low / step - _FLAT), floor(high / step + _FLAT) + 1))


def _places(
    chart: Chart, values: Sequence[float], across: tuple[float, float]
) -> Iterator[tuple[float, str]]:
    if chart.names:
        room = int((_WIDTH - 4 * _EDGE) / len(chart.names) / _LETTER)
        yield from ((at, shorten(name, max(3, room))) for at, name in chart.names.items())
    else:
        yield from ((at, f"{at:z,.6g}") for at in _ticks(values, *across, _MAX_TICKS))


def _dot(x: float, y: float, colour: str, about: str = "") -> str:
    shape = _SHAPES.get(colour, _CIRCLE)
    title = f"<title>{in_markup(about)}</title>" if about else ""
    place = f'transform="translate({x:.1f} {y:.1f})" d="{shape}"'
    return f'<path class="dot" style="color:{colour}" {place}>{title}</path>'
