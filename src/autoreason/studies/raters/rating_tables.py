"""The tables and sentences of ratings by people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING

from autoreason.report.numbers import (
    UNKNOWN,
    agreement,
    by_chance,
    count,
    decimal,
    interval,
    percent,
    percent_range,
)
from autoreason.report.report import Section
from autoreason.report.table import Table, figures, words
from autoreason.studies.raters.rubric import LINES

if TYPE_CHECKING:
    from autoreason.studies.raters.agreement import AgreementWithPanel
    from autoreason.studies.raters.ratings import Person, RatingsReport, Standing, TaskResult


def conclude_order(report: RatingsReport) -> str:
    """Which text wins, or that none does beyond chance; of several tasks, in how many."""
    if len(report.tasks) == 1:
        return _conclude_task(report.tasks[0], wins=report.winners[0] is not None)
    won = [f"{name} in task {n}" for n, name in enumerate(report.winners, 1) if name is not None]
    if not won:
        return f"no text wins beyond chance in any of {len(report.tasks)} tasks"
    return f"a text wins in {len(won)} of {len(report.tasks)} tasks: {', '.join(won)}"


def _conclude_task(task: TaskResult, *, wins: bool) -> str:
    if task.lead_chance is None:
        return "no text wins: no one has ranked all of them"
    first, second = task.texts[:2]
    lead = (first.borda or 0) - (second.borda or 0)
    if not lead:
        return f"no text wins: {first.name} and {second.name} have the same points"
    points = f"{decimal(lead)} {'point' if lead == 1 else 'points'} ahead of {second.name}"
    often = by_chance("as much", task.lead_chance, "people")
    if wins:
        return f"{first.name} wins: {points}; {often}"
    return f"no text wins beyond chance: {first.name} is {points}, but {often}"


def report_sections(report: RatingsReport) -> list[Section]:
    """Who rated, the results of each task's texts, and how far people agree."""
    sections = [Section(sentences=_opening(report))]
    for number, task in enumerate(report.tasks, 1):
        title = f"Task {number}: {task.title}" if len(report.tasks) > 1 else task.title
        title = f"{title} ({task.source})" if task.source else title
        sections.append(Section(title, [("Order", _concordance(task))], _tables(task.texts)))
    if report.over_all_tasks:
        sections.append(Section("Over all tasks", tables=_tables(report.over_all_tasks)))
    sections.append(Section("Agreement", _agreement(report)))
    comments = [
        (person.name, f"on {about}: {' '.join(text.split())}")
        for person in report.people
        for about, text in person.comments.items()
    ]
    return [*sections, Section("Comments", comments)] if comments else sections


def _opening(report: RatingsReport) -> list[tuple[str, str]]:
    opened = report.opened.astimezone(UTC)
    rows = [
        ("Key", f"opened {opened:%Y-%m-%d %H:%M} UTC; seed {report.seed}"),
        ("People", "; ".join(_person(person) for person in report.people)),
        ("Intervals", "95 %, wide enough to hold for all texts of a column together"),
    ]
    if report.changed_files:
        files = ", ".join(report.changed_files)
        rows.append(("Warning", f"changed after the key was opened, so not blind: {files}"))
    return rows


def _person(person: Person) -> str:
    if person.answered == person.steps:
        return f"{person.name} rated everything"
    if not person.answered and not person.finished:
        return f"{person.name} completed nothing"
    how = "left some open" if person.finished else "stopped half-way"
    return f"{person.name} {how}, {person.answered} of {person.steps} steps complete"


def _tables(texts: Sequence[Standing]) -> list[Table]:
    places = [
        (
            text.name,
            text.code or UNKNOWN,
            interval(text.mean_place, 1),
            UNKNOWN if text.borda is None else decimal(text.borda),
            f"{text.first_places} of {text.rankings}",
        )
        for text in texts
    ]
    scores = [(text.name, *(interval(text.scores[line], 1) for line in LINES)) for text in texts]
    heads = figures("mean place", "points", "first places")
    return [
        Table([*words("text", "code"), *heads], places),
        Table([*words("score"), *figures(*LINES)], scores),
    ]


def _concordance(task: TaskResult) -> str:
    ranked = count(len(task.rankings), "whole ranking")
    if len(task.rankings) < 2:
        return f"{ranked}; agreement is unknown, because it takes two"
    if task.concordance.value is None:
        return f"{ranked}; agreement is unknown: {task.concordance.reason}"
    chance = ""
    if task.concordance_test.p_value is not None:
        chance = f"; people ranking at random agree as much {percent(task.concordance_test.p_value)} of the time"
    by_chance = f"1 full, {1 / len(task.rankings):.2f} by chance"
    return f"{ranked}, Kendall's W {task.concordance.value:.2f} ({by_chance}){chance}"


def _agreement(report: RatingsReport) -> list[tuple[str, str]]:
    taus = [task.agreement for task in report.tasks if task.agreement is not None]
    rows = [("People", agreement(sum(taus) / len(taus), "people"))] if taus else []
    rows.append(("Scores", f"Krippendorff's alpha (1 full, 0 chance): {_alphas(report)}"))
    return [*rows, *_panel(report.panel)] if report.panel else rows


def _alphas(report: RatingsReport) -> str:
    known = [f"{line} {a.value:.2f}" for line, a in report.alpha.items() if a.value is not None]
    unknown: dict[str, list[str]] = {}
    for line, alpha in report.alpha.items():
        if alpha.value is None:
            unknown.setdefault(alpha.reason, []).append(line)
    others = [f"{', '.join(lines)} unknown ({reason})" for reason, lines in unknown.items()]
    return "; ".join([", ".join(known), *others] if known else others)


def _panel(panel: AgreementWithPanel) -> list[tuple[str, str]]:
    rows = []
    for number, task in enumerate(panel.tasks, 1):
        of = f"task {number}: " if len(panel.tasks) > 1 else ""
        order = " > ".join(sorted(task.panel, key=lambda name: -task.panel[name]))
        tau = "unknown" if task.tau.value is None else f"{task.tau.value:.2f}"
        judges = count(task.judges, "judge")
        rows.append(("Panel", f"{of}{order} by {judges}; tau with the order of the people {tau}"))
    return [*rows, ("Pairs", _pairs(panel))]


def _pairs(panel: AgreementWithPanel) -> str:
    pairs = panel.pairs
    if pairs.value is None:
        return "unknown: no person ranked two texts that the panel tells apart"
    if pairs.low is None or pairs.high is None:
        extent = "one person only, so no interval"
    else:
        extent = f"95 % interval {percent_range(pairs.low, pairs.high)}"
    tied = f"; {count(panel.tied, 'pair')} left out, tied on the panel" if panel.tied else ""
    return (
        f"shown two texts, a person agrees with the panel {percent(pairs.value)} of the time "
        f"({extent}){tied}"
    )
