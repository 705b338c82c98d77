"""The plots of a suite's report: quality against cost, lines by pass, and who won each pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from autoreason.characters import in_markup
from autoreason.report.numbers import percent
from autoreason.report.plot import Chart, Plot, Point, Series, colours, plot_charts
from autoreason.studies.lab.lab_trees import TrajectoryTree, TreeNode, drift_of
from autoreason.tournament.candidates import SLOT_NAMES, slots_and

if TYPE_CHECKING:
    from autoreason.studies.lab.lab_report import LabReport

_WIDTH, _LEGEND = 640, 20
"""Of a tree, and the height of a line of its legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 14, 44
_STEP, _HIGHEST = 40, 400
"""Pixels for a drift of 1, and for all of it at most."""
_MAX_REPEATS = 40
"""More would be a thicket."""
_DOT, _LETTERS = 7, 17
"""The radius of a winner, and the room between two from which on their letters are legible."""
_STYLE = (
    ".tree text{font:11px sans-serif;fill:var(--ink,#333)}.tree .title{font-weight:bold}"
    ".tree .axis{fill:var(--muted,#777)}.tree .grid{stroke:var(--line,#ddd);stroke-width:1}"
    ".tree .line{fill:none;stroke-width:2;stroke-linejoin:round}.tree .paper{fill:var(--paper,#fff)}"
    ".tree .mark{fill:#fff;font-size:8px;font-weight:bold}"
)


def draw_frontier(found: LabReport) -> Plot:
    """One dot per arm: what it took, and how good it was; a line joins those that none surpasses."""
    unit = "US dollars" if found.costs == "cost" else "calls"
    dots = [
        (each, Point(price, each.quality, f"{each.arm}: {each.quality:.2f} for {price:.3g} {unit}"))
        for each in found.arms
        if (price := each.means.get(found.costs)) is not None and each.quality is not None
    ]
    shades = colours([each.arm for each, _ in dots])
    series = [Series(each.arm, shades[each.arm], [dot]) for each, dot in dots]
    best = sorted(Point(dot.x, dot.y) for each, dot in dots if each.frontier)
    if len(best) > 1:
        series.append(Series("no arm is better for as much", "#7a7a7a", best, dashed=True))
    highest = max((dot.x for _, dot in dots), default=0.0) or 1.0
    about = f"{unit} for a cell, with its draft"
    chart = Chart(series, about, "Quality", x_range=(0, highest))
    return plot_charts("Quality for what it takes", chart)


def draw_lines(
    title: str, lines: Mapping[str, Sequence[float]], *, first: int, share: bool = False
) -> Plot:
    """A line for each arm, pass by pass."""
    shades = colours(list(lines))
    highest = 1.0 if share else max(1.0, *(value for line in lines.values() for value in line))
    show = percent if share else "{:,.0f}".format
    series = [
        Series(name, shades[name], [Point(n, y, f"{name}, pass {n}: {show(y)}") for n, y in line])
        for name, line in ((name, enumerate(line, first)) for name, line in lines.items())
    ]
    return plot_charts(title, Chart(series, "pass", show=show, y_range=(0, highest)))


def draw_tree(tree: TrajectoryTree) -> Plot:
    """Passes across, more drift from the first draft up; repeats part where different candidates win."""
    title = f"Trajectories of {tree.arm} on {tree.task}"
    return Plot(title, lambda: _TreeDrawing(tree).draw(title))


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
        self._across = _Scale(0, longest, _LEFT, _WIDTH - _RIGHT - 60)
        self._up = _Scale(0, top, self._height + _TOP, _TOP)
        self._letters = (self._across(1) - self._across(0)) >= _LETTERS
        self._found = dict(self._places())

    def draw(self, title: str) -> str:
        """Losers beneath, then lines, then winners."""
        tree = self._tree
        legend_height = _LEGEND * len(self._named) + 12
        heading = _label(f"{tree.arm}, {tree.task}", _WIDTH - _RIGHT, 16, "title", "end")
        parts = [heading, *_legend(self._named), f'<g transform="translate(0 {legend_height})">']
        parts += [*self._axes(), *(line for node in self._nodes for line in self._losers(node))]
        parts += [self._line(node) for node in self._nodes if node.way]
        parts += [line for node in self._nodes for line in self._dot(node)]
        height = int(legend_height + self._height + _TOP + _BOTTOM)
        return _frame(title, _WIDTH, height, [*parts, "</g>"])

    def _axes(self) -> Iterator[str]:
        bottom = self._height + _TOP + 22
        longest = int(self._across.high)
        for n in range(0, longest + 1, -(-longest // 20)):
            yield _label(str(n), self._across(n), bottom, "axis", "middle")
        yield _label("pass", (_LEFT + _WIDTH) / 2, bottom + 16, "axis", "middle")
        # Without numbers: where ways would lie on each other they are drawn apart.
        yield _label("more drift ↑", 10, _TOP - 4, "axis")

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
            yield _label(winner, x, y + 3, "mark", "middle")
        if node.ended:
            star = " ★" if node.converged else ""
            numbers = ", ".join(map(str, node.ended))
            yield _label(f"{numbers}{star}", x + radius + 4, y + 4, "axis")


def _apart(wanted: Sequence[float], room: float) -> list[float]:
    """Heights at least so far apart, on average where they are wanted."""
    heights = list(accumulate(wanted, lambda above, y: max(y, above + room)))
    aside = fmean(heights) - fmean(wanted)
    return [y - aside for y in heights]


class _Scale(NamedTuple):
    """Numbers to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a number lies."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def _frame(title: str, width: int, height: int, parts: Iterable[str]) -> str:
    """The picture around its parts."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" class="tree">',
        f"<title>{in_markup(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend(found: Mapping[str, str]) -> Iterator[str]:
    """The name of each colour."""
    for at, (name, colour) in enumerate(found.items()):
        y = 16 + _LEGEND * at
        yield f'<circle cx="16" cy="{y - 4}" r="4" fill="{colour}"/>'
        yield _label(name, 28, y)


def _label(text: str, x: float, y: float, kind: str = "", anchor: str = "") -> str:
    """A text at a place; what it says acts on no page."""
    named = f' class="{kind}"' if kind else ""
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{end}>{in_markup(text)}</text>'
