"""What came of every try of a suite: each arm's text, its place with the judges, and the run that it is from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from autoreason.programs.events import as_code
from autoreason.report.numbers import UNKNOWN, count
from autoreason.report.side_by_side import SideBySide, Tone, Try, Version
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
    suite: Suite,
    finished: Sequence[CellFinished],
    values: ArmValues,
    texts: Mapping[str, str],
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
        judged_as = panel.judged_as if panel else {}
        yield SuiteTry(
            task=task,
            repeat=repeat,
            panel=panel.result.run if panel else "",
            ballots=sum(bool(each.ranking) for each in panel.result.ballots) if panel else 0,
            texts=tuple(
                _tried(arm, own[arm].result, texts.get(own[arm].cell.part), places, judged_as)
                for arm in suite.arms
                if arm in own
            ),
        )


def _tried(
    arm: str,
    result: CellResult,
    text: str | None,
    places: Mapping[str, int],
    judged_as: Mapping[str, str],
) -> TriedText:
    solved = result.solved
    entry = judged_as.get(arm, arm)
    return TriedText(
        arm=arm,
        run=result.run,
        text=solved.program if solved else text,
        words=result.words,
        place=places.get(entry),
        same_as=entry if entry != arm else "",
        passed=solved.passed if solved else None,
        value=result.value,
        left_out="" if result.finished else result.reason or result.status,
    )


def _places(panel: CellFinished) -> dict[str, int]:
    """Each text's place by the points that judges gave it; texts with as many share one."""
    points: Counter[str] = Counter()
    for ballot in panel.result.ballots:
        for at, name in enumerate(ballot.ranking or ()):
            points[name] += len(ballot.ranking or ()) - 1 - at
    return {name: 1 + sum(other > own for other in points.values()) for name, own in points.items()}


def side_by_side(tries: Sequence[SuiteTry], *, base: str) -> SideBySide:
    """The tries for a page; programs are shown as they are."""
    several = len({each.task for each in tries}) > 1
    return SideBySide(
        [
            Try(
                each.task if several else "",
                str(each.repeat),
                [_version(text) for text in each.texts],
            )
            for each in tries
        ],
        base=base,
    )


def _version(tried: TriedText) -> Version:
    cell, tone, said = _outcome(tried)
    about = [said, count(tried.words, "word") if tried.words is not None else "", tried.run]
    text = tried.text or ""
    if text and tried.passed is not None:
        text = as_code(text)
    return Version(tried.arm, text, cell, " · ".join(filter(None, about)), tone)


def _outcome(tried: TriedText) -> tuple[str, Tone, str]:
    if tried.left_out:
        return UNKNOWN, "none", f"left out: {tried.left_out}"
    if tried.passed is not None:
        return ("✓", "good", "passes") if tried.passed else ("✗", "bad", "does not pass")
    if tried.place is not None:
        tones: dict[int, Tone] = {1: "first", 2: "second"}
        same = f"the same text as {tried.same_as}, " if tried.same_as else ""
        tone = "none" if same else tones.get(tried.place, "")
        return (f"{tried.place}", tone, f"{same}place {tried.place}")
    if tried.value is not None:
        gain = number("value", tried.value)
        return gain, "good" if tried.value > 0 else "", f"gain {gain}"
    return "·", "", ""
