"""The plots of a suite's report: quality against cost, lines by pass, and who won each pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING

from autoreason.characters import in_markup
from autoreason.report.numbers import percent
from autoreason.report.plot import LEGEND, Plot, Scale, colours, frame, label, legend
from autoreason.studies.lab.lab_trees import TrajectoryTree, TreeNode, drift_of
from autoreason.tournament.candidates import SLOT_NAMES, slots_and

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabReport

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 44
_STEP, _HIGHEST = 40, 400
"""Pixels for a drift of 1, and for all of it at most."""
_MAX_REPEATS = 40
"""More would be a thicket."""
_DOT, _LETTERS = 7, 17
"""The radius of a winner, and the room between two from which on their letters are legible."""


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


def draw_tree(tree: TrajectoryTree) -> Plot:
    """Passes across, more drift from the first draft up; repeats part where different candidates win."""
    return _TreeDrawing(tree).draw()


class _TreeDrawing:
    def __init__(self, tree: TrajectoryTree) -> None:
        self._tree = tree
        drawn = set(tree.nodes[0].repeats[:_MAX_REPEATS])
        self._nodes = nodes = [node for node in tree.nodes if not drawn.isdisjoint(node.repeats)]
        slots = {slot for node in nodes for slot in (*node.way[-1:], *node.beaten)}
        # In one order, so that a candidate has the same colour in every tree.
        self._shades = shades = colours(slots_and("?"))
        self._named = {
            SLOT_NAMES.get(slot, "undecided"): shades[slot] for slot in shades if slot in slots
        }
        longest = max(len(node.way) for node in nodes)
        top = max(node.drift for node in nodes) + 1
        self._height = min(_HIGHEST, top * _STEP)
        self._across = Scale(0, longest, _LEFT, _WIDTH - _RIGHT - 60)
        self._up = Scale(0, top, self._height + _TOP, _TOP)
        self._letters = (self._across(1) - self._across(0)) >= _LETTERS
        self._found = dict(self._places())

    def draw(self) -> Plot:
        """Losers beneath, then lines, then winners."""
        tree = self._tree
        legend_height = LEGEND * len(self._named) + 12
        heading = label(f"{tree.arm}, {tree.task}", _WIDTH - _RIGHT, 16, "title", "end")
        parts = [heading, *legend(self._named), f'<g transform="translate(0 {legend_height})">']
        parts += [*self._axes(), *(line for node in self._nodes for line in self._losers(node))]
        parts += [self._line(node) for node in self._nodes if node.way]
        parts += [line for node in self._nodes for line in self._dot(node)]
        title = f"Trajectories of {tree.arm} on {tree.task}"
        height = int(legend_height + self._height + _TOP + _BOTTOM)
        return frame(title, _WIDTH, height, [*parts, "</g>"])

    def _axes(self) -> Iterator[str]:
        bottom = self._height + _TOP + 22
        longest = int(self._across.high)
        for n in range(0, longest + 1, -(-longest // 20)):
            yield label(str(n), self._across(n), bottom, "axis", "middle")
        yield label("pass", (_LEFT + _WIDTH) / 2, bottom + 16, "axis", "middle")
        # Without numbers: where ways would lie on each other they are drawn apart.
        yield label("more drift ↑", 10, _TOP - 4, "axis")

    def _places(self) -> Iterator[tuple[tuple[str, ...], tuple[float, float]]]:
        """Ways with the same drift lie beside each other, as near to it as there is room."""
        by_pass: dict[int, list[TreeNode]] = {}
        for node in self._nodes:
            by_pass.setdefault(len(node.way), []).append(node)
        gap = 2 * _DOT if self._letters else _DOT
        for n, nodes in by_pass.items():
            nodes.sort(key=lambda node: (-node.drift, node.way))
            wanted = [self._up(node.drift) for node in nodes]
            room = min(gap, self._height / len(nodes))
            for node, y in zip(nodes, _apart(wanted, room), strict=True):
                yield node.way, (self._across(n), y)

    def _losers(self, node: TreeNode) -> Iterator[str]:
        if not node.way:
            return
        x, y = self._found[node.way[:-1]]
        before = node.drift - drift_of(node.way[-1])
        for slot in node.beaten:
            end = (
                self._across(len(node.way)),
                y + self._up(before + drift_of(slot)) - self._up(before),
            )
            yield f'<path class="grid" d="M{x:.1f} {y:.1f}L{end[0]:.1f} {end[1]:.1f}"/>'
            yield (
                f'<circle class="paper" cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="3" '
                f'stroke="{self._shades[slot]}"><title>{in_markup(slot)} lost</title></circle>'
            )

    def _line(self, node: TreeNode) -> str:
        (x, y), (end, height) = self._found[node.way[:-1]], self._found[node.way]
        width = min(6.0, 1.5 + 0.5 * len(node.repeats))
        return (
            f'<path class="line" style="stroke-width:{width:g}" stroke="{self._shades[node.way[-1]]}" '
            f'd="M{x:.1f} {y:.1f}L{end:.1f} {height:.1f}"/>'
        )

    def _dot(self, node: TreeNode) -> Iterator[str]:
        x, y = self._found[node.way]
        winner = node.way[-1] if node.way else "draft"
        repeats = ", ".join(map(str, node.repeats))
        about = f"pass {len(node.way)}: {winner}" if node.way else "the first draft"
        about += f"; repeats {repeats}; {node.words:,.0f} words"
        shade = self._shades.get(winner, "#7a7a7a")
        radius = _DOT if self._letters else 3
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{shade}">'
            f"<title>{in_markup(about)}</title></circle>"
        )
        if self._letters and node.way:
            yield label(winner, x, y + 3, "mark", "middle")
        if node.ended:
            star = " ★" if node.converged else ""
            numbers = ", ".join(map(str, node.ended))
            yield label(f"{numbers}{star}", x + radius + 4, y + 4, "axis")


def _apart(wanted: Sequence[float], room: float) -> list[float]:
    """Heights at least so far apart, on average where they are wanted."""
    heights = list(accumulate(wanted, lambda above, y: max(y, above + room)))
    aside = fmean(heights) - fmean(wanted)
    return [y - aside for y in heights]


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
