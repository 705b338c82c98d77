"""Playoffs in many runs at once, over the finalists that the tournament's own rule picks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from autoreason.events import Incumbent
from autoreason.settings import Settings
from autoreason.studies.simulate.panels import SCHEDULES, borda_points, position_bonus
from autoreason.studies.simulate.random_draws import CONFIRMATION, PLAYOFF, Numbers, RandomDraws
from autoreason.studies.simulate.texts import Counts, Texts, pick_texts
from autoreason.studies.simulate.world import World
from autoreason.tournament.panel import choose_finalists


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
