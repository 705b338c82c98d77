"""Trajectory trees: which candidate won each pass, where repeats part, and their drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from statistics import fmean

from msgspec import Struct

from autoreason.characters import in_markup
from autoreason.report.plot import Plot, Scale, colours, draw_legend, frame, label
from autoreason.studies.lab.lab_suite import CellFinished, CellResult, Suite
from autoreason.tournament.voting import SLOT_NAMES, slots_and


class TreeNode(Struct, frozen=True, kw_only=True):
    """The same winners up to a pass, and the repeats that went this way."""

    way: tuple[str, ...]
    """Winners of the passes so far; none at the first draft."""
    drift: float
    """The paper's distance from the first draft."""
    repeats: tuple[int, ...]
    beaten: tuple[str, ...]
    """Candidates that lost the last of these passes; none where no panel voted."""
    words: float
    """Mean length of the text."""
    ended: tuple[int, ...]
    """Repeats that ended here."""
    converged: tuple[int, ...]
    """Those that converged."""


class TrajectoryTree(Struct, frozen=True, kw_only=True):
    """All repeats of a task by an arm."""

    task: str
    arm: str
    nodes: tuple[TreeNode, ...]
    """A node's parent stands before it; the first is the draft."""

    @property
    def ways(self) -> list[TreeNode]:
        """Nodes at which repeats ended."""
        return [node for node in self.nodes if node.ended]

    def partings(self) -> list[int | None]:
        """For each way, the pass by which it has left all others; None where it never does."""
        through = {node.way: node.repeats for node in self.nodes}
        # Where there is one way only, all go it from the start.
        alone = (
            next((n for n in range(len(node.way) + 1) if through[node.way[:n]] == node.ended), None)
            for node in self.ways
        )
        return [n or None for n in alone]


def drift_of(winner: str) -> float:
    """How far a winner leads away from the text before, as the paper counts it."""
    return {"A": 0.0, "?": 0.0, "AB": 0.5}.get(winner, 1.0)


def trajectory_trees(suite: Suite, finished: Sequence[CellFinished]) -> Iterator[TrajectoryTree]:
    """A tree for every task and every arm that is a tournament."""
    repeats: dict[tuple[str, str], dict[int, CellResult]] = {
        (task, arm): {}
        for task in suite.tasks
        for arm, each in suite.arms.items()
        if each.settings.job.is_tournament
    }
    for each in finished:
        own = repeats.get((each.cell.task, each.cell.arms[0]))
        if own is not None and each.cell.kind == "arm" and _has_passes(each.result):
            own[each.cell.repeat] = each.result
    for (task, arm), results in repeats.items():
        ways: dict[tuple[str, ...], dict[int, CellResult]] = {}
        for repeat, result in sorted(results.items()):
            for n in range(len(result.trajectory) + 1):
                ways.setdefault(result.trajectory[:n], {})[repeat] = result
        if ways:
            nodes = tuple(_node(way, ways[way]) for way in sorted(ways))
            yield TrajectoryTree(task=task, arm=arm, nodes=nodes)


def _has_passes(result: CellResult) -> bool:
    passes = len(result.trajectory)
    return result.finished and 0 < passes < len(result.words_by_pass)


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


_WIDTH = 640
_LEFT, _RIGHT, _TOP, _BOTTOM = 24, 16, 56, 52
_STEP, _HIGHEST = 40, 400
"""Pixels for a drift of 1, and for all of it at most, unless more has to find room."""
_MAX_REPEATS = 40
"""More would be a thicket."""
_LINE, _CHARACTER, _LONGEST = 14, 6, 24
"""The height of a label, the width of a character of it, and the most characters of repeats."""
_DOT, _LETTERS = 7, 17
"""The radius of a winner, and the room between two from which on their letters are legible."""


def draw_tree(tree: TrajectoryTree) -> Plot:
    """Passes across, more drift from the first draft up; repeats part where different candidates win."""
    title = f"Trajectories of {tree.arm} on {tree.task}"
    return Plot(title, lambda: _TreeDrawing(tree).draw(title))


def draw_tree_legend(trees: Iterable[TrajectoryTree]) -> Plot:
    """The colours of all trees, which are the same in each."""
    slots = {slot for tree in trees for node in tree.nodes for slot in (*node.way, *node.beaten)}
    named = {
        SLOT_NAMES.get(slot, "undecided"): shade
        for slot, shade in _shades().items()
        if slot in slots
    }
    title = "Candidates in the trees"
    parts, height = draw_legend(named, _WIDTH, 0)
    return Plot(title, lambda: frame(title, _WIDTH, height, parts, "tree"))


def _shades() -> dict[str, str]:
    """In one order, so that a candidate has the same colour in every tree."""
    return colours(slots_and("?"))


class _TreeDrawing:
    def __init__(self, tree: TrajectoryTree) -> None:
        self._tree, self._shades = tree, _shades()
        drawn = set(tree.nodes[0].repeats[:_MAX_REPEATS])
        self._nodes = nodes = [node for node in tree.nodes if not drawn.isdisjoint(node.repeats)]
        self._ends = {node.way: _repeats(node) for node in nodes if node.ended}
        self._labels_at = (
            _WIDTH - _RIGHT - _CHARACTER * max(map(len, [*self._ends.values(), "repeats"]))
        )
        longest = max(len(node.way) for node in nodes)
        top = max(node.drift for node in nodes) + 1
        self._across = Scale(0, longest, _LEFT, self._labels_at - 24)
        self._letters = (self._across(1) - self._across(0)) >= _LETTERS
        self._gap = 2 * _DOT if self._letters else _DOT
        most = max(Counter(len(node.way) for node in nodes).values())
        height = max(min(_HIGHEST, top * _STEP), self._gap * most, _LINE * len(self._ends))
        self._up = Scale(0, top, height, 0)
        self._found = dict(self._places())
        ways = sorted(self._ends, key=lambda way: self._found[way][1])
        self._labels = _apart([self._found[way][1] for way in ways], _LINE, ways)
        losers = [y for node in nodes for _, _, y in self._losers(node)]
        heights = [*(y for _, y in self._found.values()), *self._labels.values(), *losers]
        self._highest, self._lowest = min(heights), max(heights)

    def draw(self, title: str) -> str:
        """Losers beneath, then lines, then winners."""
        tree, down = self._tree, _TOP - self._highest
        parts = [label(f"{tree.arm}, {tree.task}", 10, 18, "title")]
        # Without numbers: where ways would lie on each other they are drawn apart.
        parts += [
            label("more drift ↑", 10, 36, "muted"),
            f'<g transform="translate(0 {down:.1f})">',
        ]
        parts += [line for node in self._nodes for line in self._loser_lines(node)]
        parts += [line for way in self._ends for line in self._end(way)]
        parts += [self._line(node) for node in self._nodes if node.way]
        parts += [line for node in self._nodes for line in self._dot(node)]
        bottom = down + self._lowest
        return frame(
            title, _WIDTH, bottom + _BOTTOM, [*parts, "</g>", *self._axis(bottom + 28)], "tree"
        )

    def _axis(self, y: float) -> Iterator[str]:
        longest = int(self._across.high)
        for n in range(0, longest + 1, -(-longest // 20)):
            yield label(str(n), self._across(n), y, "muted", "middle")
        yield label("pass", (_LEFT + self._across(longest)) / 2, y + 16, "muted", "middle")
        yield label("repeats", self._labels_at, y, "muted")

    def _places(self) -> Iterator[tuple[tuple[str, ...], tuple[float, float]]]:
        """Ways with the same drift lie beside each other, as near to it as there is room."""
        by_pass: dict[int, list[TreeNode]] = {}
        for node in self._nodes:
            by_pass.setdefault(len(node.way), []).append(node)
        for n, nodes in by_pass.items():
            nodes.sort(key=lambda node: (-node.drift, node.way))
            wanted = [self._up(node.drift) for node in nodes]
            heights = _apart(wanted, self._gap, [node.way for node in nodes])
            yield from ((way, (self._across(n), y)) for way, y in heights.items())

    def _losers(self, node: TreeNode) -> Iterator[tuple[str, float, float]]:
        """Candidates that lost, each with its place."""
        if not node.way:
            return
        _, y = self._found[node.way[:-1]]
        for slot in node.beaten:
            yield slot, self._across(len(node.way)), y + self._up(drift_of(slot)) - self._up(0)

    def _loser_lines(self, node: TreeNode) -> Iterator[str]:
        for slot, end_x, end_y in self._losers(node):
            x, y = self._found[node.way[:-1]]
            yield f'<path class="grid" d="M{x:.1f} {y:.1f}L{end_x:.1f} {end_y:.1f}"/>'
            yield (
                f'<circle class="paper" cx="{end_x:.1f}" cy="{end_y:.1f}" r="3" '
                f'style="stroke:{self._shades[slot]}"><title>{in_markup(slot)} lost</title></circle>'
            )

    def _end(self, way: tuple[str, ...]) -> Iterator[str]:
        """Which repeats ended, at the right, where nothing lies over it, and a line from there."""
        (x, y), height = self._found[way], self._labels[way]
        at = self._labels_at - 4
        yield f'<path class="lead" fill="none" d="M{x:.1f} {y:.1f}H{at - 16:.1f}L{at:.1f} {height:.1f}"/>'
        yield label(self._ends[way], self._labels_at, height + 4)

    def _line(self, node: TreeNode) -> str:
        (x, y), (end, height) = self._found[node.way[:-1]], self._found[node.way]
        width = min(6.0, 1.5 + 0.5 * len(node.repeats))
        return (
            f'<path class="line" style="stroke-width:{width:g};color:{self._shades[node.way[-1]]}" '
            f'd="M{x:.1f} {y:.1f}L{end:.1f} {height:.1f}"/>'
        )

    def _dot(self, node: TreeNode) -> Iterator[str]:
        x, y = self._found[node.way]
        winner = node.way[-1] if node.way else "draft"
        repeats = ", ".join(map(str, node.repeats))
        about = f"pass {len(node.way)}: {winner}" if node.way else "the first draft"
        about += f"; repeats {repeats}; {node.words:,.0f} words"
        shade = self._shades.get(winner, "var(--muted,#666)")
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_DOT if self._letters else 3}" style="fill:{shade}">'
            f"<title>{in_markup(about)}</title></circle>"
        )
        if self._letters and node.way:
            yield label(winner, x, y + 3, "mark", "middle")


def _repeats(node: TreeNode) -> str:
    """Those that ended at a node, as far as there is room, with a star where they converged."""
    numbers = ", ".join(map(str, node.ended))
    if len(numbers) > _LONGEST:
        numbers = f"{numbers[:_LONGEST].rpartition(',')[0]}, … ({len(node.ended)})"
    return f"{numbers} ★" if node.converged else numbers


def _apart(
    wanted: Sequence[float], room: float, ways: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], float]:
    """Heights by way, at least so far apart, on average where they are wanted."""
    heights = list(accumulate(wanted, lambda above, y: max(y, above + room)))
    aside = fmean(heights) - fmean(wanted)
    return {way: y - aside for way, y in zip(ways, heights, strict=True)}
