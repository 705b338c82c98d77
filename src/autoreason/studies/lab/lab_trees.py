"""Trajectory trees: which candidate won each pass, and where the repeats of a task by an arm part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from msgspec import Struct

from autoreason.studies.lab.lab_suite import CellFinished, CellResult, Suite


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
        if each.settings.strategy == "autoreason"
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
