"""Thousands of simulated runs side by side: only the plain course of a run is written out, in arrays.

What depends on the votes comes from `voting.next_wave`, orders come from `orders`, finalists from
`playoff`, and what becomes of texts from `texts`, as in a run of the tournament itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoreason.errors import InvalidInput
from autoreason.events import Incumbent
from autoreason.settings import MAX_PASSES, Settings
from autoreason.stats.shares import exact_share
from autoreason.studies.simulation import Outcomes
from autoreason.studies.world import (
    Counts,
    Judges,
    Numbers,
    PassDraws,
    RandomDraws,
    Texts,
    World,
    finds_nothing,
    first_draft,
    revise,
    share_changed,
    synthesize,
)
from autoreason.tournament.judges import balanced_orders, random_orders
from autoreason.tournament.panel import choose_finalists
from autoreason.tournament.voting import next_wave

SLOTS = ("A", "B", "AB")
SCHEDULES = 1024
"""Orders are drawn from this many schedules, each built as a run builds its own."""
_FEW = 6
"""Up to so many texts, comparing every pair is quicker than sorting."""
PLAYOFF, CONFIRMATION = 0, MAX_PASSES + 1
"""Used as pass numbers when orders of the last two panels are drawn."""


def enter_texts(table: Texts, columns: Counts, texts: Texts) -> None:
    """Write each run's text into its column of a table with one row per run."""
    rows = np.arange(len(columns))
    for all_values, values in zip(table, texts, strict=True):
        all_values[rows, columns] = values


def pick_texts(table: Texts, rows: Counts, columns: Counts) -> Texts:
    """Some texts of some runs, by row."""
    at = rows[:, None], columns
    return Texts(table.quality[at], table.length[at], table.taste[at], table.born[at])


class PanelResults(NamedTuple):
    """What the panels of one pass decided."""

    winner: Counts
    """0 is A, 1 is B, 2 is AB."""
    judged: Counts
    """Judges who were asked."""
    leads: NDArray[np.bool_]
    """Whether A has more points than the others."""


class Panels:
    """The panels of passes, under the settings of a run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        grows = settings.extra_judges > 0
        self.limit = max(settings.judges, settings.max_judges) if grows else settings.judges
        self._waves: dict[int, int] = {}

    def judge(self, world: World, luck: RandomDraws, number: int, worth: Numbers) -> PanelResults:
        """Let panels rank A, B and AB, whose worth is given by column."""
        points = self._points(world, luck, number, worth)
        scores = np.zeros((len(worth), self.limit + 1, len(SLOTS)), dtype=np.int64)
        np.cumsum(points, axis=1, out=scores[:, 1:])
        judged = np.zeros(len(worth), dtype=np.int64)
        open_rows = np.arange(len(worth))
        while len(open_rows):
            now = judged[open_rows]
            wave = self._next(now, scores[open_rows, now], points[open_rows])
            judged[open_rows] += wave
            open_rows = open_rows[wave > 0]
        final = scores[np.arange(len(worth)), judged]
        leads = final[:, 0] > final[:, 1:].max(axis=1)
        final[:, 0] += self.settings.required_lead - 1
        by_precedence = [SLOTS.index(slot) for slot in self.settings.tie_order]
        winner = np.take(by_precedence, final[:, by_precedence].argmax(axis=1))
        return PanelResults(winner, judged, leads)

    def _points(self, world: World, luck: RandomDraws, number: int, worth: Numbers) -> Counts:
        """What each judge, asked or not, would give each text."""
        places = position_bonus(world.judges, len(SLOTS), self.limit, self.settings.balanced_orders)
        schedules = luck.orders(number, SCHEDULES)
        points = np.empty((len(worth), self.limit, len(SLOTS)), dtype=np.int64)
        for seat in range(self.limit):
            views = worth + world.judges.noise * luck.judge(number, seat) + places[schedules, seat]
            points[:, seat] = borda_points(views)
        return points

    def _next(self, judged: Counts, scores: Counts, points: Counts) -> Counts:
        """How many judges to ask now; worked out once for each state a panel can be in."""
        states = (judged * 1000 + scores[:, 0]) * 1000 + scores[:, 1]
        different, first, which = np.unique(states, return_index=True, return_inverse=True)
        for state, row in zip(different.tolist(), first.tolist(), strict=True):
            if state not in self._waves:
                self._waves[state] = self._wave(points[row, : judged[row]])
        return np.array([self._waves[state] for state in different.tolist()])[which]

    def _wave(self, ballots: Counts) -> int:
        settings = self.settings
        rankings = tuple(tuple(SLOTS[slot] for slot in np.argsort(-ballot)) for ballot in ballots)
        return next_wave(
            rankings,
            settings.tie_order,
            settings.voting,
            start=settings.judges,
            step=settings.extra_judges,
            close_margin=settings.close_margin,
            limit=self.limit,
            required_lead=settings.required_lead,
            early_stop=settings.early_stop,
        )


def borda_points(views: Numbers) -> Counts:
    """Borda points of one judge in each run: 1 for the last, one more for every text that it beats."""
    if views.shape[1] > _FEW:
        return 1 + views.argsort(axis=1).argsort(axis=1)
    points = np.ones(views.shape, dtype=np.int64)
    for one, other in combinations(range(views.shape[1]), 2):
        better = views[:, one] > views[:, other]
        points[:, one] += better
        points[:, other] += ~better
    return points


@cache
def position_bonus(judges: Judges, texts: int, seats: int, balanced: bool) -> Numbers:
    """What each text gains by its position, by schedule and seat."""
    first, last = _ends(texts, seats, balanced)
    bonus: Numbers = judges.first * np.equal(first[..., None], np.arange(texts))
    bonus += judges.last * np.equal(last[..., None], np.arange(texts))
    return bonus


@cache
def _ends(texts: int, seats: int, balanced: bool) -> tuple[Counts, Counts]:
    """Which text is first and which last, by schedule and seat."""
    spread = balanced_orders if balanced else random_orders
    names = [str(text) for text in range(texts)]
    schedules = [spread(names, seats, schedule) for schedule in range(SCHEDULES)]
    first = [[int(order[0]) for order in orders] for orders in schedules]
    last = [[int(order[-1]) for order in orders] for orders in schedules]
    return np.array(first), np.array(last)


@dataclass(frozen=True)
class Playoffs:
    """How playoffs are run."""

    sizes: Sequence[int]
    """Judges, 0 for none; the smaller panels are the first judges of the largest."""
    texts: int
    balanced: bool

    def run(
        self, world: World, luck: RandomDraws, incumbents: Texts, incumbent: Counts, last: Counts
    ) -> dict[int, Counts]:
        """For every size, the column of each run's text to deliver.

        `incumbent` is the column of the last incumbent, `last` the pass after which the run ended.
        """
        delivered = {size: incumbent.copy() for size in self.sizes}
        counts, table = _finalist_table(int(incumbent.max()), self.texts)
        for count in range(2, self.texts + 1):
            rows = np.flatnonzero(counts[incumbent] == count)
            if len(rows):
                columns = table[incumbent[rows], :count]
                worth = pick_texts(incumbents, rows, columns).worth(world, last[rows, None])
                for size, winner in self._vote(world, luck, rows, worth).items():
                    delivered[size][rows] = columns[np.arange(len(rows)), winner]
        return delivered

    def _vote(
        self, world: World, luck: RandomDraws, rows: Counts, worth: Numbers
    ) -> dict[int, Counts]:
        count, seats = worth.shape[1], max(self.sizes)
        places = position_bonus(world.judges, count, seats, self.balanced)
        schedules = luck.orders(PLAYOFF, SCHEDULES)[rows]
        scores = np.zeros(worth.shape, dtype=np.int64)
        winners = {}
        for seat in range(seats):
            errors = luck.finalist_judge(seat)[rows, :count]
            scores += borda_points(worth + world.judges.noise * errors + places[schedules, seat])
            if seat + 1 in self.sizes:
                # Ties go to the last incumbent.
                winners[seat + 1] = count - 1 - scores[:, ::-1].argmax(axis=1)
        return winners


def confirm(
    world: World,
    luck: RandomDraws,
    incumbents: Texts,
    delivered: Counts,
    last: Counts,
    settings: Settings,
) -> Counts:
    """How many judges of each run's confirmation prefer the delivered text to the first draft."""
    rows, judges = np.arange(luck.runs), settings.confirmation
    both = np.stack([np.zeros_like(delivered), delivered], axis=1)
    worth = pick_texts(incumbents, rows, both).worth(world, last[:, None])
    places = position_bonus(world.judges, 2, judges, settings.balanced_orders)
    schedules = luck.orders(CONFIRMATION, SCHEDULES)
    prefer = np.zeros_like(delivered)
    for seat in range(judges):
        views = worth + world.judges.noise * luck.confirming_judge(seat) + places[schedules, seat]
        prefer += views[:, 1] > views[:, 0]
    return np.where(delivered > 0, prefer, 0)


@cache
def _finalist_table(newest: int, max_texts: int) -> tuple[Counts, Counts]:
    """By the last incumbent's column: how many texts are in the playoff, and which."""
    table = np.zeros((newest + 1, max_texts), dtype=np.int64)
    counts = np.zeros(newest + 1, dtype=np.int64)
    for column in range(newest + 1):
        chosen = finalists(column + 1, max_texts)
        counts[column] = len(chosen)
        table[column, : len(chosen)] = chosen
    return counts, table


@cache
def finalists(incumbents: int, max_texts: int) -> tuple[int, ...]:
    """Which of so many incumbents are in the playoff."""
    candidates = [
        Incumbent(name=str(column), since=column, text=f"t{column}", keeps_contract=True)
        for column in range(incumbents)
    ]
    return tuple(int(incumbent.name) for incumbent in choose_finalists(candidates, max_texts))


@dataclass(frozen=True)
class Courses:
    """Runs without a stop rule, one row each; column n is after pass n."""

    incumbents: Texts
    """Every text that was incumbent, by run and column; column 0 is the first draft."""
    incumbent: Counts
    """The index of the incumbent among the run's texts: also how often A was displaced so far."""
    calls: Counts
    """Calls so far, the first draft included."""
    small_changes: Counts
    """How many of the latest displacements in a row changed little, as a plateau counts them."""
    survivals: Counts
    """Survivals in a row, as k counts them."""


def play_fast(
    world: World, settings: Settings, runs: int, seed: int, budget: int | None = None
) -> Outcomes:
    """The outcomes of this many runs, equal to those of `play_all`."""
    luck = RandomDraws(seed, runs)
    courses = run_courses(world, settings, luck)
    return finish(world, settings, luck, courses, last_passes(courses, settings, budget))


def check_fast(settings: Settings) -> None:
    """Refuse what only the tournament's own loop can do."""
    plain = settings.voting == "borda" and settings.candidates == "B+AB"
    if not plain or settings.models.revisers or settings.drafts > 1:
        raise InvalidInput(
            "side by side, runs have one draft, B and AB, one reviser and borda; "
            "play others with `autoreason simulate`"
        )


def run_courses(world: World, settings: Settings, luck: RandomDraws) -> Courses:
    """Run every pass up to the cap."""
    check_fast(settings)
    panels = Panels(settings)
    text = first_draft(world, luck.draft_taste())
    incumbent = np.zeros((luck.runs, settings.passes + 1), dtype=np.int64)
    quality, length, taste = np.zeros((3, *incumbent.shape))
    incumbents = Texts(quality, length, taste, np.zeros_like(incumbent))
    enter_texts(incumbents, text.born, text)
    calls = np.ones_like(incumbent)
    small_changes, survivals = np.zeros_like(incumbent), np.zeros_like(incumbent)
    for number in range(1, settings.passes + 1):
        pass_luck = luck.of_pass(number)
        critics, has_problems = _criticise(world, settings, pass_luck, text)
        revision = revise(world, pass_luck, number, text, blind=settings.blind_revision)
        synthesis = synthesize(
            world,
            pass_luck,
            number,
            text,
            revision,
            subtractive=settings.subtractive_synthesis,
        )
        ballot = (text, revision, synthesis)
        worth = np.stack([one.worth(world, number) for one in ballot], axis=1)
        winner, judged, leads = panels.judge(world, luck, number, worth)
        winner = np.where(has_problems, winner, 0)
        before, text = text, _chosen(ballot, winner)
        small = share_changed(world, before.quality, text.quality) <= settings.plateau_change
        streak = np.where(small, small_changes[:, number - 1] + (winner > 0), 0)
        small_changes[:, number] = streak
        # Where critics find nothing there is no vote.
        counts = leads | ~has_problems | settings.ties_survive
        survivals[:, number] = np.where(winner > 0, 0, survivals[:, number - 1] + counts)
        incumbent[:, number] = incumbent[:, number - 1] + (winner > 0)
        calls[:, number] = calls[:, number - 1] + critics + np.where(has_problems, 2 + judged, 0)
        enter_texts(incumbents, incumbent[:, number], text)
    return Courses(incumbents, incumbent, calls, small_changes, survivals)


def last_passes(courses: Courses, settings: Settings, budget: int | None = None) -> Counts:
    """The pass after which each run ends: at its k-th survival in a row, a plateau, the cap, or out of calls."""
    last = np.full(len(courses.calls), settings.passes)
    for counted, most in (
        (courses.survivals, settings.k),
        (courses.small_changes, settings.plateau),
    ):
        reached = counted >= most
        if most:
            np.minimum(last, reached.argmax(axis=1), out=last, where=reached.any(axis=1))
    if budget is None:
        return last
    after = settings.playoff + settings.confirmation
    whole = courses.calls + np.where(courses.incumbent > 0, after, 0)
    within: Counts = np.count_nonzero(whole[:, 1:] <= budget, axis=1)
    np.minimum(last, np.maximum(within, 1), out=last)
    return last


def claiming_votes(judges: int) -> int:
    """How many judges of a confirmation must prefer the delivered text for their share to be over a half."""
    return next(
        (n for n in range(judges + 1) if (exact_share(n, judges).low or 0) > 0.5), judges + 1
    )


def finish(
    world: World, settings: Settings, luck: RandomDraws, courses: Courses, last: Counts
) -> Outcomes:
    """End the runs after these passes, with playoff and confirmation, and deliver."""
    rows = np.arange(luck.runs)
    incumbent, calls = courses.incumbent[rows, last], courses.calls[rows, last]
    delivered = incumbent
    if settings.playoff:
        calls = calls + np.where(incumbent > 0, settings.playoff, 0)
        playoffs = Playoffs((settings.playoff,), settings.playoff_texts, settings.balanced_orders)
        winners = playoffs.run(world, luck, courses.incumbents, incumbent, last)
        delivered = winners[settings.playoff]
    claimed = np.zeros(luck.runs, dtype=bool)
    if settings.confirmation:
        calls = calls + np.where(delivered > 0, settings.confirmation, 0)
        prefer = confirm(world, luck, courses.incumbents, delivered, last, settings)
        claimed = prefer >= claiming_votes(settings.confirmation)
    quality = courses.incumbents.quality
    worse = np.zeros_like(courses.incumbent)
    np.cumsum(np.diff(quality, axis=1) < 0, axis=1, out=worse[:, 1:])
    return Outcomes(
        quality[rows, delivered], last, calls, incumbent, worse[rows, incumbent], claimed
    )


def _criticise(
    world: World, settings: Settings, luck: PassDraws, text: Texts
) -> tuple[Counts, NDArray[np.bool_]]:
    """How many critics were asked, and whether any of them found a problem."""
    if not settings.quoted_critique:
        return np.ones(len(text.born), dtype=np.int64), np.ones(len(text.born), dtype=bool)
    first, second = (finds_nothing(world, luck, critic, text) for critic in (0, 1))
    return 1 + first.astype(np.int64), ~(first & second)


def _chosen(ballot: tuple[Texts, Texts, Texts], winner: Counts) -> Texts:
    return Texts(*(np.choose(winner, each) for each in zip(*ballot, strict=True)))
