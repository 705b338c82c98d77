"""Random ballots, and how often something may happen by chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement, permutations
from math import factorial, prod, sqrt

import numpy as np

from autoreason.events import BallotCast, Verdict
from autoreason.parsing.ballots import Grades, rank_by_grades
from autoreason.stats import Estimate
from autoreason.studies.panel_report import CountedBallot, PanelReport, report
from autoreason.tournament.evidence import chance_of_margin, chance_of_win
from autoreason.tournament.judges import balanced_orders, neutral_labels
from autoreason.tournament.voting import count_votes

NAMES = "abcdefg"
Ranking = tuple[str, ...]


def most_often(times: int, level: float = 0.05) -> float:
    """How often something of this level may happen in so many cases: four standard errors above."""
    return times * level + 4 * sqrt(times * level * (1 - level))


def misses(found: Estimate, truth: float) -> bool:
    """Whether an interval leaves out the truth; where there is none it says nothing wrong."""
    if found.low is None or found.high is None:
        return False
    return not found.low - 1e-9 <= truth <= found.high + 1e-9


def names(texts: int) -> Ranking:
    """What so many texts are called."""
    return tuple(NAMES[:texts])


def random_rankings(rng: np.random.Generator, judges: int, texts: int) -> list[Ranking]:
    """Judges who toss coins."""
    return [tuple(NAMES[at] for at in rng.permutation(texts)) for _ in range(judges)]


def graded_rankings(
    rng: np.random.Generator, luck: random.Random, judges: int, texts: int, most: int
) -> list[Ranking]:
    """Judges who give every text any grade from 1 to `most`; with 1 all are equal, and only labels rank them."""
    rankings = []
    for _ in range(judges):
        by_label = dict(zip(neutral_labels(texts, luck), names(texts), strict=True))
        marks = rng.integers(1, most + 1, size=texts)
        grades: Grades = {label: (float(x),) for label, x in zip(by_label, marks, strict=True)}
        rankings.append(tuple(by_label[label] for label in rank_by_grades(grades)))
    return rankings


def biased_ballots(
    rng: np.random.Generator, judges: int, texts: int, bias: float
) -> list[BallotCast]:
    """Judges in balanced orders who keep the order they see with probability `bias`, and else toss coins."""
    orders = balanced_orders(names(texts), judges, int(rng.integers(2**32)))
    return [
        ballot(seat, order, order if rng.random() < bias else tuple(rng.permutation(order)))
        for seat, order in enumerate(orders)
    ]


def ballot(seat: int, order: Ranking, ranking: Iterable[str]) -> BallotCast:
    """A vote as it was cast."""
    return BallotCast(
        stage="panel",
        seat=seat,
        model="random/judge",
        order=order,
        labels=order,
        ranking=tuple(map(str, ranking)),
    )


def judged(rankings: Iterable[Ranking], cluster: int = 0) -> list[CountedBallot]:
    """Rankings as a report takes them."""
    return [
        CountedBallot(ranking=tuple((name,) for name in each), cluster=cluster) for each in rankings
    ]


def verdict_of(rankings: Sequence[Ranking]) -> Verdict:
    """What a panel decides."""
    tally = count_votes("borda", rankings, sorted(rankings[0]))
    return Verdict(
        winner=tally.winner,
        scores=tally.scores,
        margin=tally.margin,
        chance=chance_of_margin(len(rankings), tally.margin, len(rankings[0])),
        tied=tally.tied,
        ballots=len(rankings),
        invalid=0,
        agreement=None,
    )


def reported(rankings: Sequence[Ranking], shown: Sequence[BallotCast] = ()) -> PanelReport:
    """The report of `autoreason judge`, over texts of which the first is the shortest."""
    words = {name: 100 + at for at, name in enumerate(sorted(rankings[0]))}
    chance = verdict_of(rankings).chance
    by_chance = chance_of_win(len(rankings), len(words), "borda")
    return report(judged(rankings), words, shown, chance=chance, wins_by_chance=by_chance)


def every_panel(judges: int, texts: int) -> Iterator[tuple[list[Ranking], float]]:
    """All panels, with how likely each is if judges toss coins; those that differ by names only come once."""
    orders = list(permutations(range(texts)))
    likely: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for cast in combinations_with_replacement(orders, judges):
        ways = factorial(judges) // prod(factorial(times) for times in Counter(cast).values())
        renamed = (tuple(sorted(tuple(to[at] for at in one) for one in cast)) for to in orders)
        likely[min(renamed)] += ways
    for cast, ways in likely.items():
        rankings = [tuple(NAMES[at] for at in one) for one in cast]
        yield rankings, ways / factorial(texts) ** judges
