"""What people said of the texts, once the key is open: scores, places, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from autoreason.raters.beside import AgreementWithPanel, compare
from autoreason.raters.packet import Packet
from autoreason.raters.panel import PanelRankings, check_panel
from autoreason.raters.rubric import HIGHEST, LINES, LOWEST
from autoreason.raters.seal import Key, Opening
from autoreason.raters.sheets import Sheet, steps_in
from autoreason.stats.bootstrap import bootstrap
from autoreason.stats.elections import borda, first_places
from autoreason.stats.means import mean
from autoreason.stats.ranks import agreement, kendalls_w, places
from autoreason.stats.reliability import krippendorff_alpha
from autoreason.stats.results import Estimate, Test


class Person(Struct, frozen=True, kw_only=True):
    """Somebody who rated, and how far they came."""

    name: str
    answered: int
    steps: int
    finished: bool
    comments: dict[str, str]
    """By the name of a text, or `task 1`."""


class Standing(Struct, frozen=True, kw_only=True):
    """How one text fared."""

    name: str
    code: str | None
    """None where it stands for the texts of that name in several tasks."""
    scores: dict[str, Estimate]
    """By line of the rubric."""
    place: Estimate
    """The mean place in the rankings, 1 for the best."""
    borda: float | None
    firsts: int
    rankings: int


class TaskResult(Struct, frozen=True, kw_only=True):
    """What people said of the texts of one task."""

    title: str
    source: str
    texts: tuple[Standing, ...]
    """The best first."""
    rankings: tuple[tuple[str, ...], ...]
    concordance: Estimate
    """Kendall's W over the rankings."""
    chance: Test
    """Whether rankings drawn at random could agree as much."""
    agreement: float | None
    """Kendall's tau, the mean over any two people."""


class Report(Struct, frozen=True, kw_only=True):
    """Everything a packet gave."""

    packet: str
    seed: int
    opened: datetime
    people: tuple[Person, ...]
    tasks: tuple[TaskResult, ...]
    together: tuple[Standing, ...]
    """Texts whose names stand in every task, over all tasks; empty where there is one task."""
    alpha: dict[str, Estimate]
    """Krippendorff's alpha by line of the rubric, over all texts."""
    panel: AgreementWithPanel | None
    changed: tuple[str, ...]
    """Files of ratings that are not what they were when the key was opened."""


def report(
    packet: Packet,
    key: Key,
    sheets: Sequence[Sheet],
    opened: Opening,
    *,
    digests: dict[str, str],
    panel: PanelRankings | None = None,
) -> Report:
    """The results of a packet; `digests` are those of the ratings as they are now."""
    if panel:
        check_panel(panel, [tuple(task.names.values()) for task in key.tasks])
    rated = [sheet for sheet in sheets if not sheet.empty]
    tasks = tuple(_task(packet, key, rated, number) for number in range(len(packet.tasks)))
    people_rankings = [list(_rankings(packet, key, rated, n).items()) for n in range(len(tasks))]
    return Report(
        packet=packet.id,
        seed=key.seed,
        opened=opened.at,
        people=tuple(_person(packet, key, sheet) for sheet in sheets),
        tasks=tasks,
        together=_together(packet, key, rated),
        alpha={line: _alpha(packet, rated, line) for line in LINES},
        panel=compare(people_rankings, panel) if panel else None,
        changed=tuple(
            sorted(
                name
                for name in digests.keys() | opened.ratings.keys()
                if digests.get(name) != opened.ratings.get(name)
            )
        ),
    )


def _person(packet: Packet, key: Key, sheet: Sheet) -> Person:
    return Person(
        name=sheet.rater,
        answered=sheet.answered(packet),
        steps=steps_in(packet),
        finished=sheet.finished,
        comments={
            key.tasks[task].names[code] if code else f"task {task + 1}": text
            for (task, code), text in sheet.comments.items()
            if text.strip()
        },
    )


def _rankings(
    packet: Packet, key: Key, sheets: Sequence[Sheet], task: int
) -> dict[str, tuple[str, ...]]:
    """Whole rankings by names of texts, under the names of people."""
    names = key.tasks[task].names
    whole = {sheet.rater: sheet.ranking(packet, task) for sheet in sheets}
    return {rater: tuple(names[code] for code in codes) for rater, codes in whole.items() if codes}


def _task(packet: Packet, key: Key, sheets: Sequence[Sheet], number: int) -> TaskResult:
    task, named = packet.tasks[number], key.tasks[number]
    rankings = tuple(_rankings(packet, key, sheets, number).values())
    points, firsts = borda(rankings), first_places(rankings)
    standings = [
        Standing(
            name=named.names[code],
            code=code,
            scores={line: _mean_score(_scores(sheets, code, line)) for line in LINES},
            place=_within(
                mean([float(places(ranking)[named.names[code]]) for ranking in rankings]),
                1,
                len(task.codes),
            ),
            borda=points.get(named.names[code]),
            firsts=round(firsts.get(named.names[code], 0)),
            rankings=len(rankings),
        )
        for code in task.codes
    ]
    order = [named.names[code] for code in task.codes]
    concordance = kendalls_w([[float(places(each)[name]) for name in order] for each in rankings])
    return TaskResult(
        title=task.title,
        source=named.source,
        texts=tuple(sorted(standings, key=_best_first)),
        rankings=rankings,
        concordance=concordance.w,
        chance=concordance.test,
        agreement=agreement(rankings),
    )


def _best_first(standing: Standing) -> tuple[float, float, str]:
    overall = standing.scores["overall"].value
    place = standing.place.value
    return (
        place if place is not None else float("inf"),
        -overall if overall is not None else 0.0,
        standing.name,
    )


def _scores(sheets: Sequence[Sheet], code: str, line: str) -> list[float]:
    found = (sheet.scores.get(code, {}).get(line) for sheet in sheets)
    return [float(score) for score in found if score is not None]


def _mean_score(scores: list[float]) -> Estimate:
    return _within(mean(scores), LOWEST, HIGHEST)


def _within(found: Estimate, lowest: int, highest: int) -> Estimate:
    """An interval cut off where the scale ends: no mean lies beyond."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, lowest), high=min(found.high, highest))


def _alpha(packet: Packet, sheets: Sequence[Sheet], line: str) -> Estimate:
    codes = [code for task in packet.tasks for code in task.codes]
    rows = [[sheet.scores.get(code, {}).get(line) for code in codes] for sheet in sheets]
    return krippendorff_alpha(rows, level="ordinal")


def _together(packet: Packet, key: Key, sheets: Sequence[Sheet]) -> tuple[Standing, ...]:
    """One line for each name that stands in every task; whole tasks are drawn for its intervals."""
    if len(packet.tasks) < 2:
        return ()
    shared = set.intersection(*(set(task.names.values()) for task in key.tasks))
    return tuple(
        sorted((_over_tasks(packet, key, sheets, name) for name in shared), key=_best_first)
    )


def _over_tasks(packet: Packet, key: Key, sheets: Sequence[Sheet], name: str) -> Standing:
    codes = [
        next(code for code, named in task.names.items() if named == name) for task in key.tasks
    ]
    scores: dict[str, Estimate] = {}
    for line in LINES:
        rows = [
            (score, task)
            for task, code in enumerate(codes)
            for score in _scores(sheets, code, line)
        ]
        scores[line] = _over(rows)
    placed = [
        (float(places(ranking)[name]), task)
        for task in range(len(codes))
        for ranking in _rankings(packet, key, sheets, task).values()
    ]
    return Standing(
        name=name,
        code=None,
        scores=scores,
        place=_over(placed),
        borda=None,
        firsts=sum(place == 1 for place, _ in placed),
        rankings=len(placed),
    )


def _over(rows: list[tuple[float, int]]) -> Estimate:
    return bootstrap([value for value, _ in rows], clusters=[task for _, task in rows])
