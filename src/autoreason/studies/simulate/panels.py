"""Panels of a pass in many runs at once; whom to ask next is the tournament's own rule."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoreason.settings import Settings
from autoreason.studies.simulate.random_draws import Numbers, RandomDraws
from autoreason.studies.simulate.texts import Counts
from autoreason.studies.simulate.world import Judges, World
from autoreason.tournament.judges import balanced_orders, random_orders
from autoreason.tournament.voting import next_wave

SLOTS = ("A", "B", "AB")
SCHEDULES = 1024
"""Orders are drawn from this many schedules, each built as a run builds its own."""
_FEW = 6
"""Up to so many texts, comparing every pair is quicker than sorting."""


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
        rankings = [[SLOTS[slot] for slot in np.argsort(-ballot)] for ballot in ballots]
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
