"""Ratings by people, once the key is open: scores, places, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import ClassVar

from msgspec import Struct

from autoreason.report.report import Report, Section
from autoreason.stats.ranks import (
    agreement,
    borda,
    first_places,
    kendalls_w,
    krippendorff_alpha,
    places,
)
from autoreason.stats.results import BEYOND_CHANCE, Estimate, Test
from autoreason.stats.shares import bounded_mean, holm
from autoreason.studies.raters.agreement import AgreementWithPanel, compare
from autoreason.studies.raters.model_panel import PanelRankings, check_panel
from autoreason.studies.raters.packet import Packet
from autoreason.studies.raters.rating_tables import conclude_order, report_sections
from autoreason.studies.raters.rubric import HIGHEST, LINES, LOWEST
from autoreason.studies.raters.sealed_key import Opening, PacketKey
from autoreason.studies.raters.sheets import Sheet, steps_in
from autoreason.tournament.evidence import chance_of_margin


class Person(Struct, frozen=True, kw_only=True):
    """A rater, and how far they came."""

    name: str
    answered: int
    steps: int
    finished: bool
    comments: dict[str, str]
    """By the name of a text, or `task 1`."""


class Standing(Struct, frozen=True, kw_only=True):
    """The result of one text."""

    name: str
    code: str | None
    """None where it is the texts of that name in several tasks."""
    scores: dict[str, Estimate]
    """By line of the rubric."""
    mean_place: Estimate
    """The mean place in the rankings, 1 for the best."""
    borda: float | None
    first_places: int
    rankings: int


class TaskResult(Struct, frozen=True, kw_only=True):
    """The ratings of the texts of one task."""

    title: str
    source: str
    texts: tuple[Standing, ...]
    """The best first."""
    rankings: tuple[tuple[str, ...], ...]
    concordance: Estimate
    """Kendall's W over the rankings."""
    concordance_test: Test
    """Whether rankings drawn at random could agree as much."""
    agreement: float | None
    """Kendall's tau, the mean over any two people."""
    lead_chance: float | None
    """How often people who rank at random give the first text as large a lead in points."""


class RatingsReport(Report, Struct, frozen=True, kw_only=True):
    """The ratings of the texts of a packet."""

    heading: ClassVar[str] = "Ratings by people"

    packet: str
    seed: int
    opened: datetime
    people: tuple[Person, ...]
    tasks: tuple[TaskResult, ...]
    over_all_tasks: tuple[Standing, ...]
    """Over all tasks, where there are several and all have texts of the same names."""
    alpha: dict[str, Estimate]
    """Krippendorff's alpha by line of the rubric, over all texts."""
    panel: AgreementWithPanel | None
    changed_files: tuple[str, ...]
    """Files of ratings that are not what they were when the key was opened."""

    @property
    def winners(self) -> tuple[str | None, ...]:
        """The text that wins beyond chance, task by task, corrected for all of them."""
        chances = holm([task.lead_chance for task in self.tasks])
        return tuple(
            task.texts[0].name if chance is not None and chance <= BEYOND_CHANCE else None
            for task, chance in zip(self.tasks, chances, strict=True)
        )

    @property
    def conclusion(self) -> str:
        """Which text wins, or that none does beyond chance."""
        return conclude_order(self)

    def names(self) -> tuple[str, ...]:
        """Names of texts."""
        return tuple(text.name for task in self.tasks for text in task.texts)

    def sections(self) -> list[Section]:
        """Who rated, the results of each task's texts, and how far people agree."""
        return report_sections(self)


def ratings_report(
    packet: Packet,
    key: PacketKey,
    sheets: Sequence[Sheet],
    opened: Opening,
    *,
    digests: dict[str, str],
    panel: PanelRankings | None = None,
) -> RatingsReport:
    """The results of a packet; `digests` are those of the ratings as they are now."""
    if panel:
        check_panel(panel, [tuple(task.names.values()) for task in key.tasks])
    rated = [sheet for sheet in sheets if not sheet.empty]
    tasks = tuple(_task(packet, key, rated, number) for number in range(len(packet.tasks)))
    people_rankings = [list(_rankings(packet, key, rated, n).items()) for n in range(len(tasks))]
    return RatingsReport(
        packet=packet.id,
        seed=key.seed,
        opened=opened.at,
        people=tuple(_person(packet, key, sheet) for sheet in sheets),
        tasks=tasks,
        over_all_tasks=_together(tasks),
        alpha={line: _alpha(packet, rated, line) for line in LINES},
        panel=compare(people_rankings, panel) if panel else None,
        changed_files=tuple(
            sorted(
                name
                for name in digests.keys() | opened.ratings.keys()
                if digests.get(name) != opened.ratings.get(name)
            )
        ),
    )


def _person(packet: Packet, key: PacketKey, sheet: Sheet) -> Person:
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
    packet: Packet, key: PacketKey, sheets: Sequence[Sheet], task: int
) -> dict[str, tuple[str, ...]]:
    """Whole rankings by names of texts, under the names of people."""
    names = key.tasks[task].names
    whole = {sheet.rater: sheet.ranking(packet, task) for sheet in sheets}
    return {rater: tuple(names[code] for code in codes) for rater, codes in whole.items() if codes}


def _task(packet: Packet, key: PacketKey, sheets: Sequence[Sheet], number: int) -> TaskResult:
    named = key.tasks[number]
    texts = len(named.names)
    rankings = tuple(_rankings(packet, key, sheets, number).values())
    points, firsts = borda(rankings), first_places(rankings)
    standings = [
        Standing(
            name=name,
            code=code,
            scores={
                line: _mean(_scores(sheets, code, line), LOWEST, HIGHEST, texts) for line in LINES
            },
            mean_place=_mean([float(places(each)[name]) for each in rankings], 1, texts, texts),
            borda=points.get(name),
            first_places=round(firsts.get(name, 0)),
            rankings=len(rankings),
        )
        for code, name in named.names.items()
    ]
    order = list(named.names.values())
    concordance = kendalls_w([[float(places(each)[name]) for name in order] for each in rankings])
    return TaskResult(
        title=packet.tasks[number].title,
        source=named.source,
        texts=tuple(sorted(standings, key=_best_first)),
        rankings=rankings,
        concordance=concordance.w,
        concordance_test=concordance.test,
        agreement=agreement(rankings),
        lead_chance=_lead_chance(points, len(rankings)),
    )


def _lead_chance(points: dict[str, float], rankings: int) -> float | None:
    if not rankings:
        return None
    first, second = sorted(points.values(), reverse=True)[:2]
    return chance_of_margin(rankings, round(first - second), len(points))


def _best_first(standing: Standing) -> tuple[float, float, str]:
    overall = standing.scores["overall"].value
    place = standing.mean_place.value
    return (
        place if place is not None else float("inf"),
        -overall if overall is not None else 0.0,
        standing.name,
    )


def _scores(sheets: Sequence[Sheet], code: str, line: str) -> list[float]:
    scores = (sheet.scores.get(code, {}).get(line) for sheet in sheets)
    return [float(score) for score in scores if score is not None]


def _mean(values: Sequence[float], lowest: int, highest: int, texts: int) -> Estimate:
    """A mean whose interval is simultaneous for all texts: the best comes first, and is looked at first."""
    return bounded_mean(values, lowest, highest, 1 - BEYOND_CHANCE / texts)


def _alpha(packet: Packet, sheets: Sequence[Sheet], line: str) -> Estimate:
    codes = [code for task in packet.tasks for code in task.codes]
    rows = [[sheet.scores.get(code, {}).get(line) for code in codes] for sheet in sheets]
    return krippendorff_alpha(rows)


def _together(tasks: Sequence[TaskResult]) -> tuple[Standing, ...]:
    """One line for each name where every task has the same names; whole tasks are what it rests on."""
    names = [{text.name for text in task.texts} for task in tasks]
    if len(tasks) < 2 or any(each != names[0] for each in names):
        return ()
    standings = (
        _over_tasks(
            [text for task in tasks for text in task.texts if text.name == name], len(names[0])
        )
        for name in names[0]
    )
    return tuple(sorted(standings, key=_best_first))


def _over_tasks(texts: Sequence[Standing], names: int) -> Standing:
    return Standing(
        name=texts[0].name,
        code=None,
        scores={
            line: _mean(_values(text.scores[line] for text in texts), LOWEST, HIGHEST, names)
            for line in LINES
        },
        mean_place=_mean(_values(text.mean_place for text in texts), 1, names, names),
        borda=None,
        first_places=sum(text.first_places for text in texts),
        rankings=sum(text.rankings for text in texts),
    )


def _values(estimates: Iterable[Estimate]) -> list[float]:
    return [each.value for each in estimates if each.value is not None]
