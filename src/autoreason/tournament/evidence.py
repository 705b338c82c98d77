"""What chance alone would have given."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations_with_replacement, permutations
from math import comb, factorial, prod

from autoreason.tournament.voting import RULES

Scores = tuple[int, ...]
"""Scores of a panel in ascending order, whoever they belong to."""


def chance_of_margin(judges: int, margin: int, candidates: int = 3, rule: str = "borda") -> float:
    """How often the top score leads the next by `margin` or more if judges rank at random.

    Exact, but for panels too large to count (more than five candidates and judges, or so): there it
    is estimated from the same twenty thousand random panels every time.
    """
    if margin < 0:
        raise ValueError(f"a margin is 0 or more, not {margin}")
    panels = _margins(judges, candidates, rule)
    as_much, total = sum(panels[margin:]), sum(panels)
    # What no sampled panel shows may still happen: the one at hand counts as one more.
    return (as_much + 1) / (total + 1) if total == _SAMPLE else as_much / total


def chance_of_survival(judges: int, candidates: int = 3, rule: str = "borda") -> float:
    """How often a fixed incumbent, who wins ties, stays if judges rank at random."""
    panels = _random_panels(judges, candidates, rule)
    # Any candidate may be the incumbent, so it is among the leaders in their share of cases.
    survived = sum(count * scores.count(scores[-1]) for scores, count in panels.items())
    return survived / (candidates * sum(panels.values()))


def survival_tail(survived: int, chances: Sequence[float]) -> float:
    """How likely `survived` or more survivals are in independent passes with these chances."""
    exactly = [1.0]
    for chance in chances:
        stays = [*(p * (1 - chance) for p in exactly), 0.0]
        rises = [0.0, *(p * chance for p in exactly)]
        exactly = [a + b for a, b in zip(stays, rises, strict=True)]
    return min(1.0, sum(exactly[max(survived, 0) :]))


_USUAL_PLAYOFF = (7, 5, "borda")
_USUAL_MARGINS = (
    *(46584007024800, 82307000286000, 66332960593200, 51481777584720, 38257332130080),
    *(27163561002480, 18429541406640, 11917865745360, 7333683315840, 4232486205360),
    *(2279830407120, 1141944869520, 527462473440, 220977192240, 79111947600),
    *(22993966800, 4931589600, 612259200),
)
"""Counted beforehand, because counting takes a third of a second at the end of most runs."""


@cache
def _margins(judges: int, candidates: int, rule: str) -> tuple[int, ...]:
    """How many of all possible panels end with which margin, from 0 on."""
    if (judges, candidates, rule) == _USUAL_PLAYOFF:
        return _USUAL_MARGINS
    margins: defaultdict[int, int] = defaultdict(int)
    for scores, times in _random_panels(judges, candidates, rule).items():
        margins[scores[-1] - scores[-2]] += times
    return tuple(margins[margin] for margin in range(max(margins) + 1))


_COUNTABLE = 220_000
_SAMPLE = 20_000


def _random_panels(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    """How many of all possible panels end in which scores."""
    if judges < 1:
        raise ValueError(f"a panel has one judge or more, not {judges}")
    if candidates < 2:
        raise ValueError(f"a vote needs two candidates or more, not {candidates}")
    if rule == "borda":
        # About the number of scores a panel can end in, times the ways to give out one judge's points.
        work = judges ** (candidates - 1) * 2**candidates
        if work <= _COUNTABLE:
            return _all_panels(judges, candidates)
    elif comb(judges + factorial(candidates) - 1, judges) <= _COUNTABLE:
        return _all_elections(judges, candidates, rule)
    return _sampled_panels(judges, candidates, rule)


@cache
def _all_panels(judges: int, candidates: int) -> Mapping[Scores, int]:
    panels: Mapping[Scores, int] = {tuple(range(1, candidates + 1)): factorial(candidates)}
    for _ in range(judges - 1):
        panels = _one_judge_more(panels, candidates)
    return panels


def _one_judge_more(panels: Mapping[Scores, int], candidates: int) -> Mapping[Scores, int]:
    """Every way to add a ballot: the best's points go to someone, then the second's, and so on."""
    partly: dict[tuple[Scores, Scores], int]
    partly = {(scores, ()): count for scores, count in panels.items()}
    for points in range(candidates, 0, -1):
        further: defaultdict[tuple[Scores, Scores], int] = defaultdict(int)
        for (waiting, served), count in partly.items():
            for at, score in enumerate(waiting):
                # Candidates with equal scores need no telling apart.
                if at and score == waiting[at - 1]:
                    continue
                slot = bisect(served, score + points)
                now_served = (*served[:slot], score + points, *served[slot:])
                still_waiting = waiting[:at] + waiting[at + 1 :]
                further[still_waiting, now_served] += count * waiting.count(score)
        partly = further
    return {served: count for (_, served), count in partly.items()}


@cache
def _all_elections(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    """Every way to hand out ballots, whoever cast which, under a rule that is more than a sum of points."""
    ballots = list(permutations(range(candidates)))
    panels: defaultdict[Scores, int] = defaultdict(int)
    for cast in combinations_with_replacement(ballots, judges):
        same = prod(factorial(times) for times in Counter(cast).values())
        panels[_scores(cast, rule)] += factorial(judges) // same
    return panels


@cache
def _sampled_panels(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    rng = random.Random(0)
    panels: defaultdict[Scores, int] = defaultdict(int)
    # Ballots are drawn once and dealt out again and again: drawing each anew takes many times as long.
    ballots = [tuple(rng.sample(range(1, candidates + 1), candidates)) for _ in range(_SAMPLE)]
    for _ in range(_SAMPLE):
        cast = rng.choices(ballots, k=judges)
        if rule == "borda":
            panels[tuple(sorted(map(sum, zip(*cast, strict=True))))] += 1
        else:
            panels[_scores(cast, rule)] += 1
    return panels


def _scores(cast: Sequence[tuple[int, ...]], rule: str) -> Scores:
    rankings = [tuple(map(str, ballot)) for ballot in cast]
    return tuple(sorted(RULES[rule](rankings, sorted(rankings[0])).scores.values()))
