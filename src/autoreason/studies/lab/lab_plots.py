"""The plots of a suite's report: quality against cost with the frontier, and lines by pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from autoreason.characters import in_markup
from autoreason.report.numbers import percent
from autoreason.report.plot import LEGEND, Plot, Scale, colours, frame, label, legend
from autoreason.tournament.candidates import SLOT_NAMES, slots_and

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabReport

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 44
_ROW, _NAMES = 18, 170


def draw_frontier(found: LabReport) -> Plot:
    """One dot per arm: what it took, and how good it was; a line joins those that none surpasses."""
    dots = [
        (each.arm, price, each.quality, each.frontier)
        for each in found.arms
        if (price := each.means.get(found.costs)) is not None and each.quality is not None
    ]
    shades = colours([arm for arm, *_ in dots])
    across = _scale([price for _, price, *_ in dots], _LEFT, _WIDTH - _RIGHT)
    up = _scale([quality for *_, quality, _ in dots], _HEIGHT - _BOTTOM, _TOP)
    unit = "US dollars" if found.costs == "cost" else "calls"
    best = sorted((price, quality) for _, price, quality, on in dots if on)
    parts = [*legend(shades), f'<g transform="translate(0 {LEGEND * len(shades)})">']
    parts += _axes(across, up, f"{unit} for a cell, with its draft", "{:.3g}", "{:.2f}")
    if len(best) > 1:
        parts.append(_path([(across(x), up(y)) for x, y in best], "#7a7a7a", dashed=True))
    for arm, price, quality, _ in dots:
        about = in_markup(f"{arm}: {quality:.2f} for {price:.3g} {unit}")
        parts.append(
            f'<circle cx="{across(price):.1f}" cy="{up(quality):.1f}" r="5" '
            f'fill="{shades[arm]}"><title>{about}</title></circle>'
        )
    height = LEGEND * len(shades) + _HEIGHT
    return frame("Quality for what it takes", _WIDTH, height, [*parts, "</g>"])


def draw_lines(
    title: str, lines: Mapping[str, Sequence[float]], *, first: int, share: bool = False
) -> Plot:
    """A line for each arm, pass by pass."""
    shades = colours(list(lines))
    longest = max(map(len, lines.values()))
    across = Scale(first - 0.5, first + longest - 0.5, _LEFT, _WIDTH - _RIGHT)
    highest = 1.0 if share else max(1.0, *(value for line in lines.values() for value in line))
    up = Scale(0, highest, _HEIGHT - _BOTTOM, _TOP)
    parts = [*legend(shades), f'<g transform="translate(0 {LEGEND * len(shades)})">']
    for value in (0.0, highest / 2, highest):
        y = up(value)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        shown = percent(value) if share else f"{value:,.0f}"
        parts.append(label(shown, _LEFT - 5, y + 4, "axis", "end"))
    for n in range(0, longest, -(-longest // 20)):
        parts.append(label(str(first + n), across(first + n), _HEIGHT - 26, "axis", "middle"))
    parts.append(label("pass", (_LEFT + _WIDTH) / 2, _HEIGHT - 8, "axis", "middle"))
    for name, line in lines.items():
        corners = [(across(first + n), up(value)) for n, value in enumerate(line)]
        parts.append(_path(corners, shades[name]))
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{shades[name]}"/>' for x, y in corners
        ]
    height = LEGEND * len(shades) + _HEIGHT
    return frame(title, _WIDTH, height, [*parts, "</g>"])


def draw_trajectories(arms: Sequence[tuple[str, Mapping[str, int]]]) -> Plot:
    """One row for each way that tournaments went, one square for the winner of each pass, by arm."""
    shades = colours(slots_and("?"))
    winners = {winner for _, ways in arms for way in ways for winner in way.split()}
    named = {
        SLOT_NAMES.get(name, "inconclusive"): shade
        for name, shade in shades.items()
        if name in winners
    }
    parts, y = list(legend(named)), LEGEND * len(named) + 8
    widest = max(len(way.split()) for _, ways in arms for way in ways)
    side = min(_ROW, (_WIDTH - _NAMES - _RIGHT) / widest)
    for arm, ways in arms:
        for at, (way, times) in enumerate(ways.items()):
            title = arm if at == 0 else ""
            parts += [
                label(title, 10, y + 12, "title"),
                label(f"{times} ×", _NAMES - 8, y + 12, "axis", "end"),
            ]
            parts += [
                f'<rect x="{_NAMES + n * side:.1f}" y="{y}" width="{side - 2:.1f}" height="{_ROW - 2}" '
                f'fill="{shades[winner]}"><title>pass {n + 1}: {in_markup(winner)}</title></rect>'
                for n, winner in enumerate(way.split())
            ]
            y += _ROW
        y += 8
    return frame("Winners, pass by pass", _WIDTH, y + 8, parts)


def _scale(values: Sequence[float], start: float, end: float) -> Scale:
    """From a little below the least to a little above the most."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.08 or max(abs(high), 1.0) * 0.1
    return Scale(low - room, high + room, start, end)


def _axes(across: Scale, up: Scale, title: str, x_form: str, y_form: str) -> Iterator[str]:
    for part in (0.0, 0.5, 1.0):
        y_value = up.low + part * (up.high - up.low)
        y = up(y_value)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield label(y_form.format(y_value), _LEFT - 5, y + 4, "axis", "end")
        x_value = across.low + part * (across.high - across.low)
        anchor = ("start", "middle", "end")[int(2 * part)]
        yield label(x_form.format(max(0.0, x_value)), across(x_value), _HEIGHT - 26, "axis", anchor)
    yield label(title, (_LEFT + _WIDTH) / 2, _HEIGHT - 8, "axis", "middle")


def _path(points: Sequence[tuple[float, float]], shade: str, *, dashed: bool = False) -> str:
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return f'<path class="line" stroke="{shade}"{dash} d="M{corners}"/>'
