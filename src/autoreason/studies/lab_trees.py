"""Trajectory trees: which candidate won each pass, where repeats part, and their drawings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from msgspec import Struct

from autoreason.report.charts import Chart, Lines, Point, Series, colours, line_chart
from autoreason.report.numbers import decimal
from autoreason.report.table import Figure, Table, figures, words
from autoreason.studies.lab_suite import CellFinished, CellResult, Suite


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


_DRIFT = {"A": 0.0, "?": 0.0, "AB": 0.5}
"""What a win adds to it; 1 of all others."""


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
        drift=sum(_DRIFT.get(winner, 1.0) for winner in way),
        repeats=tuple(through),
        beaten=tuple(sorted(judged - {*way[-1:]})),
        words=fmean(each.words_by_pass[n] for each in through.values()),
        ended=tuple(ended),
        converged=tuple(n for n, each in ended.items() if each.status == "converged"),
    )


def draw_tree(tree: TrajectoryTree) -> Chart:
    """Passes across, more drift from the first draft up; a line for each way that repeats went."""
    rows = [
        (
            *(", ".join(map(str, node.ended)), " ".join(node.way), node.drift),
            Figure(node.words, decimal(node.words)),
            f"{len(node.converged)} of {len(node.ended)}",
        )
        for node in tree.ways
    ]
    columns = [*words("repeats", "winners"), *figures("drift", "words", "converged")]
    by_way = {node.way: node for node in tree.nodes}
    names = [
        f"repeats {row[0]}" + (" ★" * bool(n.converged))
        for row, n in zip(rows, tree.ways, strict=True)
    ]
    series = [
        Series(name, shade, [_point(by_way[end.way[:n]]) for n in range(len(end.way) + 1)])
        for (name, shade), end in zip(colours(names).items(), tree.ways, strict=True)
    ]
    axes = Lines(series, "pass", "drift from the first draft")
    return line_chart(f"Trajectories of {tree.arm} on {tree.task}", Table(columns, rows), axes)


def _point(node: TreeNode) -> Point:
    winner = f"pass {len(node.way)}: {node.way[-1]}" if node.way else "the first draft"
    repeats = ", ".join(map(str, node.repeats))
    return Point(len(node.way), node.drift, f"{winner}; repeats {repeats}; {node.words:,.0f} words")
