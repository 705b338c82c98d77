"""What came of every try of a suite: texts, their places with the judges and their runs; who won each pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean

from msgspec import Struct

from autoreason.programs.events import as_code
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.page import SideBySide, Try, Version, VersionTone
from autoreason.studies.lab_comparisons import ArmValues, number
from autoreason.studies.lab_suite import CellFinished, CellResult, Suite


class TriedText(Struct, frozen=True, kw_only=True):
    arm: str
    run: str
    """Empty where there was nothing to run."""
    text: str | None
    """None where it delivered none, or where the record does not have it."""
    words: int | None
    place: int | None
    """With the judges of its try, by points; None where it was not judged."""
    same_as: str = ""
    """The arm that delivered the same text, under whose name it was judged."""
    passed: bool | None = None
    """Of a problem, whether the program passes."""
    value: float | None = None
    """Of research, the gain of the result."""
    left_out: str = ""
    """Why it came to no result."""


class SuiteTry(Struct, frozen=True, kw_only=True):
    task: str
    repeat: int
    panel: str
    """The run that judged it; empty where none did."""
    ballots: int
    texts: tuple[TriedText, ...]


def find_tries(
    suite: Suite, finished: Sequence[CellFinished], values: ArmValues, texts: Mapping[str, str]
) -> Iterator[SuiteTry]:
    """Every task in every repeat; `texts` are those delivered, by the part of their cell."""
    panels: dict[tuple[str, int], CellFinished] = {}
    for each in sorted(values.panels, key=lambda panel: len(panel.cell.arms)):
        # The most that were judged together.
        panels[each.cell.task, each.cell.repeat] = each
    cells: dict[tuple[str, int], dict[str, CellFinished]] = {}
    for each in finished:
        if each.cell.kind == "arm":
            cells.setdefault((each.cell.task, each.cell.repeat), {})[each.cell.arms[0]] = each
    for (task, repeat), own in cells.items():
        panel = panels.get((task, repeat))
        places = _places(panel) if panel else {}
        tried = []
        for arm in filter(own.__contains__, suite.arms):
            result, solved = own[arm].result, own[arm].result.solved
            entry = panel.judged_as.get(arm, arm) if panel else arm
            tried.append(
                TriedText(
                    arm=arm,
                    run=result.run,
                    text=solved.program if solved else texts.get(own[arm].cell.part),
                    words=result.words,
                    place=places.get(entry),
                    same_as=entry if entry != arm else "",
                    passed=solved.passed if solved else None,
                    value=result.value,
                    left_out="" if result.finished else result.reason or result.status,
                )
            )
        yield SuiteTry(
            task=task,
            repeat=repeat,
            panel=panel.result.run if panel else "",
            ballots=sum(bool(each.ranking) for each in panel.result.ballots) if panel else 0,
            texts=tuple(tried),
        )


def _places(panel: CellFinished) -> dict[str, int]:
    """Each text's place by the points that judges gave it; texts with as many share one."""
    points: Counter[str] = Counter()
    for ballot in panel.result.ballots:
        for at, name in enumerate(ballot.ranking or ()):
            points[name] += len(ballot.ranking or ()) - 1 - at
    return {name: 1 + sum(other > own for other in points.values()) for name, own in points.items()}


def side_by_side(tries: Sequence[SuiteTry], *, base: str, name: Callable[[str], str]) -> SideBySide:
    """The tries for a page, with the names of arms in words; programs are shown as they are."""
    several = len({each.task for each in tries}) > 1
    shown = []
    for each in tries:
        versions = []
        for tried in each.texts:
            mark, tone, said = _outcome(tried, name)
            length = "" if tried.words is None else count(tried.words, "word")
            text = as_code(tried.text) if tried.text and tried.passed is not None else tried.text
            about = " · ".join(filter(None, [said, length, tried.run]))
            versions.append(Version(name(tried.arm), text or "", mark, about, tone))
        shown.append(Try(each.task if several else "", str(each.repeat), versions))
    return SideBySide(shown, base=name(base))


def _outcome(tried: TriedText, name: Callable[[str], str]) -> tuple[str, VersionTone, str]:
    if tried.left_out:
        return UNKNOWN, "none", f"left out: {tried.left_out}"
    if tried.passed is not None:
        return ("✓", "good", "passes") if tried.passed else ("✗", "bad", "does not pass")
    if tried.place is not None:
        tones: dict[int, VersionTone] = {1: "first", 2: "second"}
        same = f"the same text as {name(tried.same_as)}, " if tried.same_as else ""
        tone = "none" if same else tones.get(tried.place, "")
        return (f"{tried.place}", tone, f"{same}place {tried.place}")
    if tried.value is not None:
        gain = number("value", tried.value)
        return gain, "good" if tried.value > 0 else "", f"gain {gain}"
    return "·", "", ""


class TreeNode(Struct, frozen=True, kw_only=True):
    way: tuple[str, ...]
    """Winners of the passes so far; none at the first draft."""
    drift: float
    """The paper's distance from the first draft."""
    repeats: tuple[int, ...]
    words: float
    ended: tuple[int, ...]
    converged: tuple[int, ...]


class TrajectoryTree(Struct, frozen=True, kw_only=True):
    task: str
    arm: str
    nodes: tuple[TreeNode, ...]
    """A node's parent stands before it; the first is the draft."""


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
    ended = {repeat: each for repeat, each in through.items() if len(each.trajectory) == n}
    return TreeNode(
        way=way,
        drift=sum(_DRIFT.get(winner, 1.0) for winner in way),
        repeats=tuple(through),
        words=fmean(each.words_by_pass[n] for each in through.values()),
        ended=tuple(ended),
        converged=tuple(n for n, each in ended.items() if each.status == "converged"),
    )
