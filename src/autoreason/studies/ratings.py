"""Ratings by people, once the key is open: scores, places, and how far they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct

from autoreason.errors import InvalidInput
from autoreason.report.charts import ChartRow, interval_chart
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
from autoreason.report.report import Report, Section
from autoreason.report.table import Table, figures, words
from autoreason.stats import BEYOND_CHANCE, Estimate, ranks
from autoreason.stats.ranks import borda, first_places, krippendorff_alpha, places, tau_b
from autoreason.stats.shares import bounded_mean, clustered_share, group_values, holm
from autoreason.story import CONFIRMATION, Story
from autoreason.studies import rating_packet as packets
from autoreason.task import read_text
from autoreason.tournament.evidence import chance_of_margin
from autoreason.tournament.rounds import tell

Rankings = tuple[tuple[str, ...], ...]
"""How people or a panel ranked the texts of one task, by name and best first."""


class TaskAgreement(Struct, frozen=True, kw_only=True):
    people: dict[str, float]
    panel: dict[str, float]
    judges: int
    tau: Estimate
    """Kendall's tau-b between the two rows of points."""


class AgreementWithPanel(Struct, frozen=True, kw_only=True):
    tasks: tuple[TaskAgreement, ...]
    pairs: Estimate
    """Shown two texts, how often a person prefers the one with more points from the panel."""
    tied: int
    """Pairs left out because the panel puts both texts on the same place."""


class Person(Struct, frozen=True, kw_only=True):
    name: str
    answered: int
    steps: int
    finished: bool
    comments: dict[str, str]
    """By the name of a text, or `task 1`."""

    def __str__(self) -> str:
        if self.answered == self.steps:
            return f"{self.name} rated everything"
        how = "left some open" if self.finished else "stopped half-way"
        return f"{self.name} {how}, {self.answered} of {self.steps} steps complete"


class TextStanding(Struct, frozen=True, kw_only=True):
    name: str
    code: str | None
    """None where it is the texts of that name in several tasks."""
    scores: dict[str, Estimate]
    mean_place: Estimate
    """The mean place in the rankings, 1 for the best."""
    borda: float | None
    first_places: int
    rankings: int


class TaskResult(Struct, frozen=True, kw_only=True):
    title: str
    source: str
    texts: tuple[TextStanding, ...]
    rankings: Rankings
    agreement: float | None
    """Kendall's tau, the mean over any two people."""
    lead_chance: float | None
    """How often people who rank at random give the first text as large a lead in points."""


class RatingsReport(Report, Struct, frozen=True, kw_only=True):
    heading: ClassVar[str] = "Ratings by people"

    packet: str
    seed: int
    opened: datetime
    people: tuple[Person, ...]
    tasks: tuple[TaskResult, ...]
    over_all_tasks: tuple[TextStanding, ...]
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
        if len(self.tasks) > 1:
            won = [f"{name} in task {n}" for n, name in enumerate(self.winners, 1) if name]
            if not won:
                return f"no text wins beyond chance in any of {len(self.tasks)} tasks"
            return f"a text wins in {len(won)} of {len(self.tasks)} tasks: {', '.join(won)}"
        (task,) = self.tasks
        if task.lead_chance is None:
            return "no text wins: no one has ranked all of them"
        first, second = task.texts[:2]
        lead = (first.borda or 0) - (second.borda or 0)
        if not lead:
            return f"no text wins: {first.name} and {second.name} have the same points"
        ahead = f"{decimal(lead)} {'point' if lead == 1 else 'points'} ahead of {second.name}"
        often = by_chance("as much", task.lead_chance, "people")
        if self.winners[0]:
            return f"{first.name} wins: {ahead}; {often}"
        return f"no text wins beyond chance: {first.name} is {ahead}, but {often}"

    def names(self) -> tuple[str, ...]:
        return tuple(text.name for task in self.tasks for text in task.texts)

    def page_sections(self) -> list[Section]:
        charts = []
        for task in self.tasks:
            last, places = len(task.texts), [(each.name, each.mean_place) for each in task.texts]
            rows = [ChartRow(name, place, interval(place, 1)) for name, place in places]
            axis: dict[str, Any] = {
                "middle": (1 + last) / 2,
                "scale": (1, last),
                "show": "{:g}".format,
            }
            sides = ("first for everybody", "last for everybody")
            charts.append(interval_chart(f"Mean place, {task.title}", rows, sides=sides, **axis))
        shown = [Section("Which text people place first", charts=charts)]
        return [*shown, *self.sections()]

    def sections(self) -> list[Section]:
        opened = self.opened.astimezone(UTC)
        rows = [
            ("Key", f"opened {opened:%Y-%m-%d %H:%M} UTC; seed {self.seed}"),
            ("People", "; ".join(map(str, self.people))),
            ("Intervals", "95 %, wide enough to hold for all texts of a column together"),
        ]
        if self.changed_files:
            files = ", ".join(self.changed_files)
            rows.append(("Warning", f"changed after the key was opened, so not blind: {files}"))
        sections = [Section(sentences=rows)]
        for number, task in enumerate(self.tasks, 1):
            title = f"Task {number}: {task.title}" if len(self.tasks) > 1 else task.title
            title = f"{title} ({task.source})" if task.source else title
            order = [("Order", f"{count(len(task.rankings), 'whole ranking')}")]
            sections.append(Section(title, order, _tables(task.texts)))
        if self.over_all_tasks:
            sections.append(Section("Over all tasks", tables=_tables(self.over_all_tasks)))
        sections.append(Section("Agreement", _agreement(self)))
        comments = [
            (person.name, f"on {about}: {' '.join(text.split())}")
            for person in self.people
            for about, text in person.comments.items()
        ]
        return [*sections, Section("Comments", comments)] if comments else sections


def _tables(texts: Sequence[TextStanding]) -> list[Table]:
    rows = [
        (
            text.name,
            text.code or UNKNOWN,
            interval(text.mean_place, 1),
            UNKNOWN if text.borda is None else decimal(text.borda),
            f"{text.first_places} of {text.rankings}",
        )
        for text in texts
    ]
    scores = [
        (text.name, *(interval(text.scores[line], 1) for line in packets.LINES)) for text in texts
    ]
    heads = figures("mean place", "points", "first places")
    return [
        Table([*words("text", "code"), *heads], rows),
        Table([*words("score"), *figures(*packets.LINES)], scores),
    ]


def _agreement(report: RatingsReport) -> list[tuple[str, str]]:
    taus = [task.agreement for task in report.tasks if task.agreement is not None]
    alphas = [f"{line} {a.value:.2f}" for line, a in report.alpha.items() if a.value is not None]
    unknown: dict[str, list[str]] = {}
    for line, alpha in report.alpha.items():
        if alpha.value is None:
            unknown.setdefault(alpha.reason, []).append(line)
    known = [", ".join(alphas)] if alphas else []
    known += [f"{', '.join(lines)} unknown ({reason})" for reason, lines in unknown.items()]
    rows = [
        ("People", agreement(fmean(taus), "people") if taus else "unknown: it takes two rankings"),
        ("Scores", f"Krippendorff's alpha (1 full, 0 chance): {'; '.join(known)}"),
    ]
    if (panel := report.panel) is None:
        return rows
    for number, task in enumerate(panel.tasks, 1):
        of = f"task {number}: " if len(panel.tasks) > 1 else ""
        order = " > ".join(sorted(task.panel, key=lambda name: -task.panel[name]))
        tau = "unknown" if task.tau.value is None else f"{task.tau.value:.2f}"
        judges = count(task.judges, "judge")
        rows.append(("Panel", f"{of}{order} by {judges}; tau with the order of the people {tau}"))
    pairs, sentence = panel.pairs, "unknown: no person ranked two texts that the panel tells apart"
    if pairs.value is not None:
        extent = "one person only, so no interval"
        if pairs.low is not None and pairs.high is not None:
            extent = f"95 % interval {percent_range(pairs.low, pairs.high)}"
        tied = f"; {count(panel.tied, 'pair')} left out, tied on the panel" if panel.tied else ""
        often = f"{percent(pairs.value)} of pairs of texts ({extent}){tied}"
        sentence = f"a person agrees with the panel on {often}"
    return [*rows, ("Pairs", sentence)]


def conclude(folder: Path, *, panel: Sequence[Rankings] = ()) -> RatingsReport:
    packet = packets.read_packet(folder)
    with nullcontext() if packets.opening(folder) else packets.lock_packet(folder):
        sheets = packets.read_sheets(folder, packet)
        if all(sheet.empty for sheet in sheets):
            raise InvalidInput(
                f"no one has rated {folder} yet; begin with `autoreason rate serve {folder}`"
            )
        key, opened = packets.open_key(folder, packet, datetime.now(UTC))
        digests = packets.rating_digests(folder)
    return ratings_report(packet, key, sheets, opened, digests=digests, panel=panel)


def ratings_report(
    packet: packets.Packet,
    key: packets.PacketKey,
    sheets: Sequence[packets.Sheet],
    opened: packets.KeyOpening,
    *,
    digests: dict[str, str],
    panel: Sequence[Rankings] = (),
) -> RatingsReport:
    if panel and len(panel) != len(key.tasks):
        raise InvalidInput(
            f"the panel ranked texts of {len(panel)} and the packet has {len(key.tasks)} tasks;"
            " give `panel` once for each of them, in their order"
        )
    for number, (ranked, task) in enumerate(zip(panel, key.tasks, strict=False), 1):
        names = sorted(task.names.values())
        if wrong := next((each for each in ranked if sorted(each) != names), None):
            raise InvalidInput(
                f"task {number}: the panel ranked {', '.join(wrong)};"
                f" it must rank {', '.join(names)}, each once"
            )
    rated = [sheet for sheet in sheets if not sheet.empty]
    # Whole rankings by names of texts, under the names of people.
    rankings = [
        {
            sheet.rater: tuple(named.names[code] for code in codes)
            for sheet in rated
            if (codes := sheet.ranking(packet, number))
        }
        for number, named in enumerate(key.tasks)
    ]
    tasks = tuple(_task(packet, key, rated, n, tuple(r.values())) for n, r in enumerate(rankings))
    every = [code for task in packet.tasks for code in task.codes]
    return RatingsReport(
        packet=packet.id,
        seed=key.seed,
        opened=opened.at,
        people=tuple(
            Person(
                name=sheet.rater,
                answered=sheet.answered(packet),
                steps=packets.steps_in(packet),
                finished=sheet.finished,
                comments={
                    key.tasks[task].names[code] if code else f"task {task + 1}": text
                    for (task, code), text in sheet.comments.items()
                    if text.strip()
                },
            )
            for sheet in sheets
        ),
        tasks=tasks,
        over_all_tasks=_together(tasks),
        alpha={
            line: krippendorff_alpha(
                [[_score(sheet, code, line) for code in every] for sheet in rated]
            )
            for line in packets.LINES
        },
        panel=_compare(rankings, panel) if panel else None,
        changed_files=tuple(sorted({name for name, _ in digests.items() ^ opened.ratings.items()})),
    )


def _task(
    packet: packets.Packet,
    key: packets.PacketKey,
    sheets: Sequence[packets.Sheet],
    number: int,
    rankings: Rankings,
) -> TaskResult:
    named = key.tasks[number]
    points, firsts = borda(rankings), first_places(rankings)
    standings = [
        _standing(
            name,
            code,
            {line: [_score(sheet, code, line) for sheet in sheets] for line in packets.LINES},
            [places(each)[name] for each in rankings],
            len(named.names),
            borda=points.get(name),
            first_places=round(firsts.get(name, 0)),
            rankings=len(rankings),
        )
        for code, name in named.names.items()
    ]
    lead_chance = None
    if rankings:
        first, second = sorted(points.values(), reverse=True)[:2]
        lead_chance = chance_of_margin(len(rankings), round(first - second), len(points))
    return TaskResult(
        title=packet.tasks[number].title,
        source=named.source,
        texts=tuple(sorted(standings, key=_best_first)),
        rankings=rankings,
        agreement=ranks.agreement(rankings),
        lead_chance=lead_chance,
    )


def _best_first(standing: TextStanding) -> tuple[float, float, str]:
    overall, place = standing.scores["overall"].value, standing.mean_place.value
    return float("inf") if place is None else place, -(overall or 0.0), standing.name


def _score(sheet: packets.Sheet, code: str, line: str) -> int | None:
    return sheet.scores.get(code, {}).get(line)


def _standing(
    name: str,
    code: str | None,
    scores: Mapping[str, Sequence[float | None]],
    placed: Sequence[float | None],
    size: int,
    **counted: Any,
) -> TextStanding:
    """Intervals are simultaneous for all texts: the best comes first, and is looked at first."""

    def mean(values: Sequence[float | None], lowest: int, highest: int) -> Estimate:
        known = [float(value) for value in values if value is not None]
        return bounded_mean(known, lowest, highest, 1 - BEYOND_CHANCE / size)

    means = {line: mean(values, packets.LOWEST, packets.HIGHEST) for line, values in scores.items()}
    return TextStanding(
        name=name, code=code, scores=means, mean_place=mean(placed, 1, size), **counted
    )


def _together(tasks: Sequence[TaskResult]) -> tuple[TextStanding, ...]:
    """One line for each name where every task has the same names; whole tasks are what it rests on."""
    names = {text.name for text in tasks[0].texts}
    if len(tasks) < 2 or any({text.name for text in task.texts} != names for task in tasks):
        return ()
    standings = []
    for name in names:
        texts = [text for task in tasks for text in task.texts if text.name == name]
        scores = {line: [text.scores[line].value for text in texts] for line in packets.LINES}
        counted = {
            "borda": None,
            "first_places": sum(text.first_places for text in texts),
            "rankings": sum(text.rankings for text in texts),
        }
        placed = [text.mean_place.value for text in texts]
        standings.append(_standing(name, None, scores, placed, len(names), **counted))
    return tuple(sorted(standings, key=_best_first))


def _compare(
    people: Sequence[dict[str, tuple[str, ...]]], panel: Sequence[Rankings]
) -> AgreementWithPanel:
    tasks, tied = [], 0
    agreed: list[tuple[str, float]] = []
    for rankings, panel_rankings in zip(people, panel, strict=True):
        points, people_points = borda(panel_rankings), borda(list(rankings.values()))
        names = sorted(points)
        tau = Estimate(None, reason="needs a whole ranking by a person, there is none")
        if people_points:
            tau = tau_b([people_points[name] for name in names], [points[name] for name in names])
        tasks.append(
            TaskAgreement(people=people_points, panel=points, judges=len(panel_rankings), tau=tau)
        )
        for person, ranking in rankings.items():
            for better, worse in combinations(ranking, 2):
                if points[better] == points[worse]:
                    tied += 1
                    continue
                agreed.append((person, float(points[better] > points[worse])))
    # A person's pairs are not independent: the interval rests on persons.
    pairs = clustered_share(group_values(agreed), noun="person")
    return AgreementWithPanel(tasks=tuple(tasks), pairs=pairs, tied=tied)


class _RankedRound(Struct, forbid_unknown_fields=True):
    round: int
    """0 is the last review."""
    ranking: tuple[str, ...]


class PageVotes(Struct, forbid_unknown_fields=True):
    """What a reader of a run's page ranked before seeing what the judges said."""

    run: str
    rater: str
    saved: datetime
    rounds: tuple[_RankedRound, ...]


def read_votes(path: Path) -> PageVotes:
    try:
        return msgspec.json.decode(read_text(path, "votes"), type=PageVotes)
    except msgspec.MsgspecError:
        raise InvalidInput(f"{path} has no votes saved on the page of a run") from None


def votes_report(votes: PageVotes, story: Story) -> RatingsReport:
    """A reader's rankings of the texts of rounds, beside those of the judges."""
    chapters = [each for each in tell(story) if each.step.verdict]
    judged = {each.number: each for each in chapters if not each.is_review}
    # Where no round has a vote, the page asks for some texts of the last review.
    judged = judged or ({0: chapters[-1]} if chapters else {})
    tasks, named, panel = [], [], []
    for ranked in votes.rounds:
        one = judged.get(ranked.round)
        shown = one.step.verdict.scores if one and one.step.verdict else {}
        slots = sorted(shown if ranked.round else {*shown} & {*ranked.ranking})
        if one is None or len(slots) < 2 or sorted(ranked.ranking) != slots:
            where = f"round {ranked.round}" if ranked.round else "review"
            raise InvalidInput(f"run {votes.run} has no {where} with these texts")
        names = {slot: one.describe(slot) for slot in slots}
        if len(set(names.values())) < len(slots):
            names = {slot: f"{name} {slot}" for slot, name in names.items()}
        title = f"Round {ranked.round}" if ranked.round else "Review"
        tasks.append(packets.BlindTask(title, tuple(slots)))
        named.append(packets.NamedTask("", names))
        cast = [ballot.ranking for ballot in one.step.ballots if ballot.ranking]
        own = (tuple(names[name] for name in ranking if name in names) for ranking in cast)
        # Of two stages the first may have had none of them, or one.
        panel.append(tuple(ranking for ranking in own if len(ranking) == len(slots)))
    if not tasks:
        raise InvalidInput("no round is ranked; rank the texts of one on the page, and save again")
    seed = story.settings.seed if story.settings else 0
    packet = packets.Packet(
        id=votes.run, created=votes.saved, orders_seed=seed, tasks=tuple(tasks), files={}, key=""
    )
    sheet = packets.Sheet(packets.check_name(votes.rater), 0, finished=True)
    sheet.rankings = {at: ranked.ranking for at, ranked in enumerate(votes.rounds)}
    return ratings_report(
        packet,
        packets.PacketKey(packet=votes.run, seed=seed, tasks=tuple(named)),
        [sheet],
        packets.KeyOpening(at=votes.saved, ratings={}),
        digests={},
        panel=panel,
    )


def read_panel(path: Path) -> Rankings:
    try:
        file = msgspec.json.decode(
            read_text(path, "panel"), type=dict[Literal["rankings"], Rankings]
        )
        if rankings := file.get("rankings"):
            return rankings
    except msgspec.MsgspecError:
        pass
    raise InvalidInput(
        f'panel {path} needs {{"rankings": [["one.md", "two.md"], …]}}: names of texts, best first'
    )


def panel_of(run: str, story: Story) -> Rankings:
    """The rankings of a panel over finished texts, else those of draft and delivered text by a run's last judges."""
    entries = story.task.entries if story.task else ()
    rankings = tuple(
        ballot.ranking
        for panel in story.panels.values()
        for ballot in panel.ballots
        if ballot.ranking and len(ballot.ranking) == len(entries)
    )
    if not rankings and story.delivered:
        # Under the names they have in a packet. The review's judges chose one of the two.
        names = {"draft": "draft", story.delivered.origin: "delivered"}
        confirmed = story.panels.get(CONFIRMATION)
        ballots = confirmed.ballots if confirmed else story.closing_ballots
        cast = [ballot.ranking for ballot in ballots if ballot.ranking]
        rankings = tuple(tuple(names[n] for n in ranking if n in names) for ranking in cast)
    if not rankings:
        raise InvalidInput(
            f"run {run} has no rankings of finished texts; name one of `autoreason judge`"
        )
    return rankings
