"""Charts of a few kinds with one look: intervals, lines and steps; each has its numbers as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, cycle, groupby
from math import ceil, floor, log10
from typing import Literal, NamedTuple

from autoreason.characters import in_markup
from autoreason.report.numbers import percent
from autoreason.report.page import ASSETS, fill, read_asset
from autoreason.report.table import Figure, Table, figures, words
from autoreason.stats import Estimate

_CIRCLE = "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z"
_MARKS = ("M-4-4H4V4H-4Z", "M0-5L5 4H-5Z", "M0-5.5L5.5 0L0 5.5L-5.5 0Z", _CIRCLE)
_SHADES = (
    *("#123c73", "#1f7a1f", "#9a35c9", "#5f666f", "#b3530a"),
    *("#0b7285", "#a02c1a", "#835000", "#3b5bdb", "#a61e6b"),
)
_SHAPES = {
    f"var(--plot-{at},{shade})": shape
    for at, (shade, shape) in enumerate(zip(_SHADES, cycle(_MARKS), strict=False))
}
"""By colour, so that nothing rests on colour alone; pages have other colours for the dark."""
STYLES = ASSETS / "charts.css"
_WIDTH, _PLAIN, _LINE, _LETTER, _EDGE = 480, 160, 18, 6.6, 16
"""Pixels: of a picture, of the height of its axes, of a line of words, of a letter, and at the edges."""
_MAX_TICKS = 8
_FLAT = 1e-9
"""Less of a difference, beside the numbers themselves, is less than a pixel."""
_LARGEST, _SMALLEST = 1e300, 1e-300
"""Numbers and differences beyond them cannot be divided."""


class Chart(NamedTuple):
    """A picture of numbers, drawn when it is looked at."""

    title: str
    """What it shows; its file is named after it."""
    numbers: Table
    draw: Callable[[], str]
    on_page: Callable[[], str] | None = None
    """Its HTML, where that reads better on a phone than a picture."""
    note: str = ""

    @property
    def svg(self) -> str:
        """A document of its own."""
        return self.draw()

    @property
    def html(self) -> str:
        """The same for a page, which has the styles of all charts."""
        return self.on_page() if self.on_page else self.svg.replace(_style(), "", 1)


# ---- intervals -------------------------------------------------------------------------------

ChartVerdict = Literal["", "good", "bad", "shown"]
"""What an interval shows: better, worse, a difference that is neither, or nothing."""
_ROOM = 0.08
"""Left free beside the ends, so that no line ends at the edge."""
_TONES = {"good": "rewrite", "bad": "bad", "shown": "kept", "": "draft"}


class ChartRow(NamedTuple):
    """One line of a chart of intervals; `said` has its numbers and what they show, in words."""

    label: str
    found: Estimate
    said: str
    verdict: ChartVerdict = ""


def interval_chart(
    title: str,
    rows: Sequence[ChartRow],
    *,
    sides: tuple[str, str] = ("", ""),
    middle: float = 0.5,
    middle_label: str = "no difference",
    scale: tuple[float, float] | None = (0.0, 1.0),
    show: Callable[[float], str] = percent,
    note: str = "",
) -> Chart:
    """A dot and a line for each, and a dotted line where there is no difference; without an interval, words alone.

    The scale is that of a share, or what the intervals need where it is None.
    """
    ends = [end for each in rows for end in (each.found.low, each.found.high) if end is not None]
    low, high = scale or _limits([*ends, middle])
    if scale:
        ticks = [low, (low + high) / 2, high]
    else:
        low, high = low - _ROOM * (high - low), high + _ROOM * (high - low)
        ticks = list(_ticks(ends, low, high, 4))
    columns = [*words("", "shown"), *figures("value", "from", "to")]
    numbers: list[Sequence[object]] = []
    for each in rows:
        seen = (each.found.value, each.found.low, each.found.high)
        shown = (None if end is None else Figure(end, show(end)) for end in seen)
        numbers.append((each.label, bool(each.verdict), *shown))

    def place(found: Estimate, x: Scale) -> list[float]:
        """Where the line begins, the dot is, and the line ends; nothing where there is no interval."""
        if found.low is None or found.value is None or found.high is None:
            return []
        return [x.within(end) for end in (found.low, found.value, found.high)]

    def on_page() -> str:
        x = Scale(low, high, 0.0, 100.0)
        return fill(
            ASSETS / "forest.html",
            rows=[(each, _TONES[each.verdict], place(each.found, x)) for each in rows],
            sides=sides,
            middle=x.within(middle),
            ticks=[(show(tick), x.within(tick), x(tick) if scale else 50) for tick in ticks],
        )

    def draw() -> str:
        x = Scale(low, high, 2.0 * _EDGE, _WIDTH - 2.0 * _EDGE)
        parts, y = [label_at(title, _EDGE, 20, "title")], 44.0
        if any(sides):
            parts.append(label_at(f"← {sides[0]}", _EDGE, y, "muted"))
            parts.append(label_at(f"{sides[1]} →", _WIDTH - _EDGE, y, "muted", "end"))
            y += _LINE
        top = y - 8
        for each in rows:
            parts.append(label_at(each.label, _EDGE, y + 8))
            parts.append(label_at(each.said, _EDGE, y + 24, "muted"))
            if at := place(each.found, x):
                tone, line = _TONES[each.verdict], y + 38
                parts.append(f'<path class="reach {tone}" d="M{at[0]} {line}H{at[2]}"/>')
                parts.append(f'<circle class="{tone}" cx="{at[1]}" cy="{line}" r="5"/>')
            y += 58
        parts.append(f'<path class="lead" d="M{x(middle):.1f} {top}V{y}"/>')
        parts += [label_at(show(tick), x(tick), y + 14, "muted", "middle") for tick in ticks]
        return frame(title, _WIDTH, y + 24, parts)

    note = f"{note} The dotted line: {middle_label}.".lstrip()
    return Chart(title, Table(columns, numbers), draw, on_page, note)


# ---- lines and steps ---------------------------------------------------------------------------


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


class Lines(NamedTuple):
    """Axes with what is drawn on them; only a course in time is joined by a line."""

    series: Sequence[Series]
    x_title: str
    show: Callable[[float], str] = "{:z,.6g}".format
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

    def within(self, value: float) -> float:
        """The place of a value, at an end where it is beyond; in tenths."""
        return round(min(max(self(value), self.start), self.end), 1)


def colours(names: Sequence[str]) -> dict[str, str]:
    known = list(_SHAPES)
    return {name: known[at % len(known)] for at, name in enumerate(names)}


def line_chart(title: str, numbers: Table, lines: Lines, note: str = "") -> Chart:
    """Lines on axes: no script, no ids, nothing from a network, and always the same bytes."""
    return Chart(title, numbers, lambda: _draw(title, lines), note=note)


def steps(points: Sequence[Point], end: float) -> list[Point | None]:
    """A line that stays where it is until the next point."""
    found: list[Point | None] = []
    for point, until in zip(points, [*(each.x for each in points[1:]), end], strict=True):
        found += [point, Point(until, point.y)]
    return found


def frame(title: str, width: int, height: float, parts: Iterable[str], kind: str = "") -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
        f'viewBox="0 0 {width} {height:.0f}" role="img" class="{f"plot {kind}".rstrip()}">',
        f"<title>{in_markup(title)}</title>{_style()}",
        f'<rect class="paper" width="{width}" height="{height:.0f}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _style() -> str:
    return f"<style>{read_asset(STYLES)}</style>"


def label_at(text: str, x: float, y: float, kind: str = "", anchor: str = "") -> str:
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
        parts += [_dot(x + 4, y + 8, colour), label_at(name, x + 14, y + 12, "legend")]
        x += room
    return parts, y + _LINE if names else top


def _draw(title: str, chart: Lines) -> str:
    lines = [(each.colour, list(_runs(each.points))) for each in chart.series]
    points = [point for _, runs in lines for run in runs for point in run]
    across = chart.x_range or _limits([point.x for point in points])
    up = chart.y_range or _limits([point.y for point in points])
    heights = list(_ticks([point.y for point in points], *up, _MAX_TICKS - 2))
    left = 2 * _EDGE + _LETTER * max((len(chart.show(each)) for each in heights), default=0)
    top = 16.0 + _LINE * bool(chart.heading)
    middle, bottom = (left + _WIDTH - _EDGE) / 2, top + _PLAIN
    x, y = Scale(*across, left, _WIDTH - _EDGE), Scale(*up, bottom, top)
    parts = [label_at(chart.heading, _EDGE, 20, "title")] if chart.heading else []
    for each in heights:
        parts.append(f'<path class="grid" d="M{left - 6:.1f} {y(each):.1f}H{_WIDTH - _EDGE}"/>')
        parts.append(label_at(chart.show(each), left - 10, y(each) + 4, "muted y", "end"))
    for at in _ticks([point.x for point in points], *across, _MAX_TICKS):
        parts.append(label_at(f"{at:z,.6g}", x(at), bottom + _LINE, "muted x", "middle"))
    parts.append(label_at(chart.x_title, middle, bottom + 2 * _LINE, "muted", "middle"))
    for colour, runs in lines:
        for run in runs:
            path = "L".join(f"{x(point.x):.1f} {y(point.y):.1f}" for point in run)
            if run[1:]:
                parts.append(f'<path class="line" style="color:{colour}" d="M{path}"/>')
        dots = (point for run in runs for point in run if point.about)
        parts += (_dot(x(each.x), y(each.y), colour, each.about) for each in dots)
    if not points:
        parts.append(label_at("no numbers to draw", middle, top + _PLAIN / 2, "", "middle"))
    names = {each.name: each.colour for each in chart.series if each.name}
    legend, end = draw_legend(names, _WIDTH, bottom + 2 * _LINE + 8)
    return frame(title, _WIDTH, end + 8, [*parts, *legend])


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


def _dot(x: float, y: float, colour: str, about: str = "") -> str:
    shape = _SHAPES.get(colour, _CIRCLE)
    title = f"<title>{in_markup(about)}</title>" if about else ""
    place = f'transform="translate({x:.1f} {y:.1f})" d="{shape}"'
    return f'<path class="dot" style="color:{colour}" {place}>{title}</path>'
