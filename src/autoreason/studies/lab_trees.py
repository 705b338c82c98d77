"""Trajectory trees: which candidate won each pass, where repeats part, and their drawings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import fmean

from msgspec import Struct

from autoreason.characters import in_markup
from autoreason.report.charts import Chart, colours, draw_legend, frame, label_at
from autoreason.report.numbers import decimal, shorten
from autoreason.report.table import Figure, Table, figures, words
from autoreason.studies.lab_suite import CellFinished, CellResult, Suite
from autoreason.tournament.voting import SLOT_NAMES


class TreeNode(Struct, frozen=True, kw_only=True):
    way: tuple[str, ...]
    """Winners of the passes so far; none at the first draft."""
    drift: float
    """The paper's distance from the first draft."""
    repeats: tuple[int, ...]
    beaten: tuple[str, ...]
    """Candidates that lost the last of these passes; none where no panel voted."""
    words: float
    ended: tuple[int, ...]
    converged: tuple[int, ...]


class TrajectoryTree(Struct, frozen=True, kw_only=True):
    task: str
    arm: str
    nodes: tuple[TreeNode, ...]
    """A node's parent stands before it; the first is the draft."""

    @property
    def ways(self) -> list[TreeNode]:
        return [node for node in self.nodes if node.ended]


def drift_of(winner: str) -> float:
    return {"A": 0.0, "?": 0.0, "AB": 0.5}.get(winner, 1.0)


def trajectory_trees(suite: Suite, finished: Sequence[CellFinished]) -> Iterator[TrajectoryTree]:
    repeats: dict[tuple[str, str], dict[int, CellResult]] = {
        (task, arm): {}
        for task in suite.tasks
        for arm, each in suite.arms.items()
        if each.settings.job.is_tournament
    }
    for each in finished:
        own = repeats.get((each.cell.task, each.cell.arms[0]))
        passes = len(each.result.trajectory)
        counts = each.cell.kind == "arm" and each.result.finished
        if own is not None and counts and 0 < passes < len(each.result.words_by_pass):
            own[each.cell.repeat] = each.result
    for (task, arm), results in repeats.items():
        ways: dict[tuple[str, ...], dict[int, CellResult]] = {}
        for repeat, result in sorted(results.items()):
            for n in range(len(result.trajectory) + 1):
                ways.setdefault(result.trajectory[:n], {})[repeat] = result
        if ways:
            nodes = tuple(_node(way, ways[way]) for way in sorted(ways))
            yield TrajectoryTree(task=task, arm=arm, nodes=nodes)


def _node(way: tuple[str, ...], through: dict[int, CellResult]) -> TreeNode:
    n = len(way)
    judged = {slot for each in through.values() for on in each.judged[n - 1 : n] for slot in on}
    ended = {repeat: each for repeat, each in through.items() if len(each.trajectory) == n}
    return TreeNode(
        way=way,
        drift=sum(map(drift_of, way)),
        repeats=tuple(through),
        beaten=tuple(sorted(judged - {*way[-1:]})),
        words=fmean(each.words_by_pass[n] for each in through.values()),
        ended=tuple(ended),
        converged=tuple(n for n, each in ended.items() if each.status == "converged"),
    )


_WIDTH, _STEP, _HIGHEST = 640, 40, 400
"""Pixels of a drawing, for a drift of 1, and for all drift at most, unless more has to find room."""
_LEFT, _TOP, _BOTTOM = 24, 56, 52
_DOT, _LINE, _LONGEST = 7, 14, 24
"""The radius of a winner, the height of a label, and the most characters of its repeats."""


def draw_tree(tree: TrajectoryTree) -> Chart:
    """Passes across, more drift from the first draft up; repeats part where different candidates win."""
    title = f"Trajectories of {tree.arm} on {tree.task}"
    rows = [
        (
            *(", ".join(map(str, node.ended)), " ".join(node.way), node.drift),
            Figure(node.words, decimal(node.words)),
            f"{len(node.converged)} of {len(node.ended)}",
        )
        for node in tree.ways
    ]
    columns = [*words("repeats", "winners"), *figures("drift", "words", "converged")]
    return Chart(title, Table(columns, rows), lambda: _draw(tree, title))


def _legend(tree: TrajectoryTree, width: int, top: float) -> tuple[list[str], float]:
    slots = {slot for node in tree.nodes for slot in (*node.way, *node.beaten)}
    named = {
        SLOT_NAMES.get(slot, "undecided"): shade
        for slot, shade in _shades().items()
        if slot in slots
    }
    return draw_legend(named, width, top)


def _shades() -> dict[str, str]:
    """The same for a candidate in every tree: those of the text so far, the rewrite and the merge come first."""
    first = ("A", "B", "AB", "?")
    return colours([*first, *(slot for slot in SLOT_NAMES if slot not in first)])


def _draw(tree: TrajectoryTree, title: str) -> str:
    """Losers beneath, then lines, then winners; ways of one drift side by side, as near to it as there is room."""
    shades, longest = _shades(), max(len(node.way) for node in tree.nodes)
    across = max(2 * _DOT + 4, _WIDTH * 2 / 3 / longest)
    step = min(_STEP, _HIGHEST / (max(node.drift for node in tree.nodes) + 1))
    places: dict[tuple[str, ...], tuple[float, float]] = {}
    for n in range(longest + 1):
        nodes = [node for node in tree.nodes if len(node.way) == n]
        nodes.sort(key=lambda node: (-node.drift, node.way))
        heights = _apart([-node.drift * step for node in nodes], 2 * _DOT)
        xs = [_LEFT + n * across] * len(nodes)
        places |= zip((node.way for node in nodes), zip(xs, heights, strict=True), strict=True)
    losers, lines, dots = [], [], []
    for node in tree.nodes:
        x, y = places[node.way]
        winner = node.way[-1] if node.way else "draft"
        about = f"pass {len(node.way)}: {winner}" if node.way else "the first draft"
        about += f"; repeats {', '.join(map(str, node.repeats))}; {node.words:,.0f} words"
        dots.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_DOT}" style="fill:'
            f'{shades.get(winner, "var(--muted,#666)")}"><title>{in_markup(about)}</title></circle>'
        )
        if not node.way:
            continue
        from_x, from_y = places[node.way[:-1]]
        dots.append(label_at(winner, x, y + 3, "mark", "middle"))
        lines.append(
            f'<path class="line" style="stroke-width:{min(6.0, 1.5 + 0.5 * len(node.repeats)):g};'
            f'color:{shades[winner]}" d="M{from_x:.1f} {from_y:.1f}L{x:.1f} {y:.1f}"/>'
        )
        for slot in node.beaten:
            end = from_y - drift_of(slot) * step
            losers += [
                f'<path class="grid" d="M{from_x:.1f} {from_y:.1f}L{x:.1f} {end:.1f}"/>',
                f'<circle class="paper" cx="{x:.1f}" cy="{end:.1f}" r="3" style="stroke:{shades[slot]}">'
                f"<title>{in_markup(slot)} lost</title></circle>",
            ]
    right = _LEFT + longest * across + 2 * _DOT + 10
    ends = sorted(tree.ways, key=lambda node: places[node.way][1])
    heights = _apart([places[node.way][1] for node in ends], _LINE)
    for node, height in zip(ends, heights, strict=True):
        x, y = places[node.way]
        repeats = shorten(", ".join(map(str, node.ended)), _LONGEST)
        losers += [
            f'<path class="lead" fill="none" d="M{x:.1f} {y:.1f}H{right - 20:.1f}L{right - 4:.1f} {height:.1f}"/>',
            label_at(f"{repeats} ★" if node.converged else repeats, right, height + 4),
        ]
    low, high = min(heights[0], *(y for _, y in places.values())), max(heights[-1], 0)
    high = max([high, *(y for _, y in places.values())])
    bottom = _TOP + high - low + _STEP
    numbers = range(0, longest + 1, -(-longest // 20))
    width = max(_WIDTH, round(right) + 6 * _LONGEST)
    legend, end = _legend(tree, width, bottom + _BOTTOM)
    return frame(
        title,
        width,
        end + 4,
        [
            label_at(f"{tree.arm}, {tree.task}", 10, 18, "title"),
            # Without numbers: where ways would lie on each other they are drawn apart.
            label_at("more drift ↑", 10, 36, "muted"),
            f'<g transform="translate(0 {_TOP + _STEP - low:.1f})">',
            *(*losers, *lines, *dots, "</g>"),
            *(
                label_at(str(n), _LEFT + n * across, bottom + 28, "muted", "middle")
                for n in numbers
            ),
            label_at("pass", (_LEFT + right) / 2, bottom + 44, "muted", "middle"),
            label_at("repeats", right, bottom + 28, "muted"),
            *legend,
        ],
        "tree",
    )


def _apart(wanted: Sequence[float], room: float) -> list[float]:
    """Heights at least so far apart, on average where they are wanted."""
    heights = list(accumulate(wanted, lambda above, y: max(y, above + room)))
    aside = fmean(heights) - fmean(wanted)
    return [y - aside for y in heights]
