"""Thousands of simulated runs side by side: only the plain course of a run is written out, in arrays.

What depends on the votes comes from `voting.next_wave`, orders come from `orders`, finalists from
`playoff`, and what becomes of texts from `texts`, as in a run of the tournament itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autoreason.errors import InvalidInput
from autoreason.settings import Settings
from autoreason.studies.simulate.finals import Playoffs, confirm
from autoreason.studies.simulate.outcomes import Outcomes, claiming_votes
from autoreason.studies.simulate.panels import Panels
from autoreason.studies.simulate.random_draws import PassDraws, RandomDraws
from autoreason.studies.simulate.texts import (
    Counts,
    Texts,
    enter_texts,
    finds_nothing,
    first_draft,
    revise,
    share_changed,
    synthesize,
)
from autoreason.studies.simulate.world import World


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


def curve(
    world: World, settings: Settings, runs: int, seed: int, budget: int | None = None
) -> list[tuple[float, float]]:
    """Mean calls and mean quality delivered where runs have at most 1, 2, 3, ... passes."""
    luck = RandomDraws(seed, runs).cached()
    courses = run_courses(world, settings, luck)
    last = last_passes(courses, settings, budget)
    points = []
    for max_passes in range(1, settings.passes + 1):
        outcomes = finish(world, settings, luck, courses, np.minimum(last, max_passes))
        points.append((float(outcomes.calls.mean()), float(outcomes.quality.mean())))
    return points


def check_fast(settings: Settings) -> None:
    """Refuse what only the tournament's own loop can do."""
    if settings.voting != "borda":
        raise InvalidInput(
            f"voting is {settings.voting}; `fast`, `plot` and `html` count by borda only, leave them out"
        )
    if settings.candidates != "B+AB":
        raise InvalidInput(
            f"candidates is {settings.candidates}; `fast`, `plot` and `html` have both, leave them out"
        )
    if revisers := len(settings.models.revisers):
        raise InvalidInput(
            f"revisers is {revisers}; `fast`, `plot` and `html` have one, leave them out"
        )
    if settings.drafts > 1:
        raise InvalidInput(
            f"drafts is {settings.drafts}; `fast`, `plot` and `html` begin from one draft, leave them out"
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
