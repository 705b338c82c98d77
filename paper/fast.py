"""Thousands of simulated runs side by side: only the plain course of a run is written out, in arrays.

What depends on the votes comes from `voting.next_wave`, orders come from `orders`, finalists from
`review`, and what becomes of texts from `texts`, as in a run of the tournament itself.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoreason.errors import InvalidInput
from autoreason.events import Incumbent
from autoreason.settings import ANY_GROWTH, MAX_PASSES, Settings
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
CONFIRMATION, _REVIEW = MAX_PASSES + 1, MAX_PASSES + 2
"""Used as pass numbers when orders of the confirmation and of reviews are drawn."""


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
        self._waves: dict[int, int] = {}

    def judge(self, world: World, luck: RandomDraws, number: int, worth: Numbers) -> PanelResults:
        """Let panels rank A, B and AB, whose worth is given by column."""
        points = self._points(world, luck, number, worth)
        scores = np.zeros((len(worth), self.settings.judges + 1, len(SLOTS)), dtype=np.int64)
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
        places = position_bonus(
            world.judges, len(SLOTS), self.settings.judges, self.settings.balanced_orders
        )
        schedules = luck.orders(number, SCHEDULES)
        points = np.empty((len(worth), self.settings.judges, len(SLOTS)), dtype=np.int64)
        for seat in range(self.settings.judges):
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
            judges=settings.judges,
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
    """By the last incumbent's column how many texts are in the review; by it and the one kept before, which."""
    table = np.zeros((newest + 1, newest + 1, max_texts), dtype=np.int64)
    counts = np.zeros(newest + 1, dtype=np.int64)
    for column in range(newest + 1):
        for kept in range(column + 1):
            chosen = finalists(column + 1, max_texts, kept)
            counts[column] = len(chosen)
            table[column, kept, : len(chosen)] = chosen
    return counts, table


@cache
def finalists(incumbents: int, max_texts: int, kept: int = 0) -> tuple[int, ...]:
    """Which of so many incumbents are in the review."""
    candidates = [
        Incumbent(name=str(column), since=column, text=f"t{column}", keeps_contract=True)
        for column in range(incumbents)
    ]
    chosen = choose_finalists(candidates, max_texts, candidates[kept])
    return tuple(int(incumbent.name) for incumbent in chosen)


def claiming_votes(judges: int) -> int:
    """How many judges of a confirmation must prefer the delivered text for their share to be over a half."""
    return next(
        (n for n in range(judges + 1) if (exact_share(n, judges).low or 0) > 0.5), judges + 1
    )


class _Runs:
    """Runs of one protocol in one world, side by side, one row each."""

    def __init__(
        self, world: World, settings: Settings, luck: RandomDraws, most_passes: Counts
    ) -> None:
        self.world, self.settings, self.luck = world, settings, luck
        self.most_passes = most_passes
        """The pass after which each run ends at the latest."""
        self._panels = Panels(settings) if settings.judges else None
        shape = (luck.runs, settings.passes + 1)
        self.calls = np.ones(shape, dtype=np.int64)
        """Calls so far, the first draft included; column n is after pass n."""
        self.displaced = np.zeros(shape, dtype=bool)
        """Whether any text had taken A's place by then."""
        quality, length, taste = np.zeros((3, *shape))
        self._line = Texts(quality, length, taste, np.zeros(shape, dtype=np.int64))
        """The texts from the first draft to the incumbent, by column; what is behind it was given up."""
        self._at, self._streak, self._small, self.last, self._delivered = np.zeros(
            (5, luck.runs), dtype=np.int64
        )
        self._text = first_draft(world, luck.draft_taste())
        enter_texts(self._line, self._at, self._text)
        self._reviews, self._reviewed = np.zeros((2, luck.runs), dtype=np.int64)
        """How many there were, and where in its line the last one left a run."""
        self._same = np.zeros(luck.runs, dtype=bool)
        """Whether it put the same text first as the one before."""
        self._open = np.ones(luck.runs, dtype=bool)

    def play(self) -> Outcomes:
        for number in range(1, self.settings.passes + 1):
            if not self._open.any():
                break
            self._run_pass(number)
            self._end_pass(number)
        return self._outcomes()

    def _run_pass(self, number: int) -> None:
        world, settings, luck, text = self.world, self.settings, self.luck, self._text
        drawn = luck.of_pass(number)
        critics, has_problems = _criticise(world, settings, drawn, text)
        revision = revise(world, drawn, number, text, blind=settings.blind_revision)
        ballot: tuple[Texts, ...] = (text, revision)
        if self._panels:
            cuts = settings.subtractive_synthesis
            joined = synthesize(world, drawn, number, text, revision, subtractive=cuts)
            ballot = (*ballot, joined)
            worth = np.stack([one.worth(world, number) for one in ballot], axis=1)
            winner, judged, leads = self._panels.judge(world, luck, number, worth)
            written, counts = len(ballot) - 1, leads | settings.ties_survive
        else:
            longest = np.maximum(settings.max_growth, text.length)
            winner = (revision.length <= longest).astype(np.int64)
            # A revision that was too long says nothing about A.
            judged, written = np.zeros_like(winner), 1
            counts = np.zeros_like(winner, dtype=bool)
        winner = np.where(has_problems & self._open, winner, 0)
        self._text = chosen = _chosen(ballot, winner)
        small = share_changed(world, text.quality, chosen.quality) <= settings.plateau_change
        self._small = np.where(small, self._small + (winner > 0), 0)
        # Where critics find nothing there is no vote.
        self._streak = np.where(winner > 0, 0, self._streak + (counts | ~has_problems))
        self._at = self._at + (winner > 0)
        self.displaced[:, number] = self.displaced[:, number - 1] | (winner > 0)
        spent = np.where(self._open, critics + np.where(has_problems, written + judged, 0), 0)
        self.calls[:, number] = self.calls[:, number - 1] + spent
        enter_texts(self._line, self._at, chosen)

    def _end_pass(self, number: int) -> None:
        settings = self.settings
        ended = self._streak >= settings.k
        if settings.plateau:
            ended |= self._small >= settings.plateau
        ended |= number >= self.most_passes
        several = settings.review_every > 0
        due = np.full_like(ended, several and not number % settings.review_every)
        due = (due | ended) & self._open
        if settings.reviewers:
            self._review(number, due & (self._at != self._reviewed), back=several)
        else:
            self._delivered = np.where(due, self._at, self._delivered)
        if several:
            ended |= due & self._same & (self._reviews >= settings.min_reviews)
        self.last[self._open] = number
        self._open &= ~ended

    def _review(self, number: int, due: NDArray[np.bool_], *, back: bool) -> None:
        """Rank the line of each run that is due; go on from the first."""
        settings, world = self.settings, self.world
        after = number if back else 0
        self._delivered = np.where(self._open & ~due, self._at, self._delivered)
        counts, table = _finalist_table(int(self._at.max()), settings.review_texts)
        kept = self._reviewed if back else np.zeros_like(self._reviewed)
        for count in range(2, settings.review_texts + 1):
            rows = np.flatnonzero(due & (counts[self._at] == count))
            if not len(rows):
                continue
            columns = table[self._at[rows], kept[rows], :count]
            worth = pick_texts(self._line, rows, columns).worth(world, number)
            scores = self._score(after, rows, worth)
            # Ties go to the latest.
            best = count - 1 - scores[:, ::-1].argmax(axis=1)
            first = columns[np.arange(len(rows)), best]
            if back:
                self._streak[rows] *= first == self._at[rows]
                self._at[rows] = first
            self._delivered[rows] = first
        self._same = np.where(due, (self._at == kept) & (self._reviews > 0), self._same)
        self._reviews += due
        self._reviewed = np.where(due, self._at, self._reviewed)
        if back:
            self.calls[:, number] += np.where(due, settings.reviewers, 0)
        line, at = self._line, (np.arange(self.luck.runs), self._at)
        self._text = Texts(line.quality[at], line.length[at], line.taste[at], line.born[at])

    def _score(self, after: int, rows: Counts, worth: Numbers) -> Counts:
        """What judges of a review give each text: how many it beats."""
        seats, judges = self.settings.reviewers, self.world.judges
        places = position_bonus(judges, worth.shape[1], seats, self.settings.balanced_orders)
        schedules = self.luck.orders(_REVIEW + after, SCHEDULES)[rows]
        scores = np.zeros(worth.shape, dtype=np.int64)
        for seat in range(seats):
            errors = self.luck.review_judge(after, seat)[rows, : worth.shape[1]]
            scores += borda_points(worth + judges.noise * errors + places[schedules, seat]) - 1
        return scores

    def _outcomes(self) -> Outcomes:
        settings, rows = self.settings, np.arange(self.luck.runs)
        calls, delivered = self.calls[rows, self.last], self._delivered
        if settings.reviewers and not settings.review_every:
            calls = calls + np.where(self._at > 0, settings.reviewers, 0)
        claimed = np.zeros(self.luck.runs, dtype=bool)
        if settings.confirmation:
            calls = calls + np.where(delivered > 0, settings.confirmation, 0)
            prefer = confirm(self.world, self.luck, self._line, delivered, self.last, settings)
            enough = claiming_votes(settings.confirmation)
            claimed = prefer >= enough
            # Where fresh judges prefer the first draft, that is delivered.
            delivered = np.where(settings.confirmation - prefer >= enough, 0, delivered)
        quality = self._line.quality
        falls = np.diff(quality, axis=1) < 0
        in_line = np.arange(1, quality.shape[1]) <= self._at[:, None]
        worse = (falls & in_line).sum(axis=1)
        return Outcomes(quality[rows, delivered], self.last, calls, self._at, worse, claimed)


def play_fast(
    world: World, settings: Settings, runs: int, seed: int, budget: int | None = None
) -> Outcomes:
    """The outcomes of this many runs, equal to those of `play_all`."""
    check_fast(settings)
    luck = RandomDraws(seed, runs)
    whole = _Runs(world, settings, luck, np.full(runs, settings.passes))
    outcomes = whole.play()
    if budget is None or (outcomes.calls <= budget).all():
        return outcomes
    numbers = np.arange(settings.passes + 1)
    reviewed = settings.review_every > 0 and numbers % settings.review_every == 0
    after = settings.reviewers * ~np.asarray(reviewed) + settings.confirmation
    fits = whole.calls + np.where(whole.displaced, after, 0) <= budget
    within = np.where(fits & (numbers <= outcomes.passes[:, None]), numbers, 1).max(axis=1)
    within = np.where(outcomes.calls <= budget, settings.passes, within)
    return _Runs(world, settings, luck, within).play()


def check_fast(settings: Settings) -> None:
    """Refuse what only the tournament's own loop can do."""
    plain = settings.candidates == "B+AB" and settings.max_growth == ANY_GROWTH
    unseen = settings.candidates == "B" and not settings.judges
    stages = settings.reviewers and settings.review_texts > settings.ballot_texts
    if not (plain or unseen) or stages or (settings.voting, settings.drafts) != ("borda", 1):
        raise InvalidInput(
            "side by side, runs have one draft, borda, and B and AB, or B without judges; "
            "play others with `autoreason simulate`"
        )


def _criticise(
    world: World, settings: Settings, luck: PassDraws, text: Texts
) -> tuple[Counts, NDArray[np.bool_]]:
    """How many critics were asked, and whether any of them found a problem."""
    if not settings.quoted_critique:
        return np.ones(len(text.born), dtype=np.int64), np.ones(len(text.born), dtype=bool)
    first, second = (finds_nothing(world, luck, critic, text) for critic in (0, 1))
    return 1 + first.astype(np.int64), ~(first & second)


def _chosen(ballot: tuple[Texts, ...], winner: Counts) -> Texts:
    return Texts(*(np.choose(winner, each) for each in zip(*ballot, strict=True)))
