"""Simulated runs of the tournament itself: its own loop, with a cast from a world."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from autoreason.events import AnyEvent
from autoreason.jobs.context import JobContext
from autoreason.settings import Settings
from autoreason.studies.simulate.cast import PROMPTS, Cast
from autoreason.studies.simulate.outcomes import Outcomes
from autoreason.studies.simulate.random_draws import RandomDraws
from autoreason.studies.simulate.world import World
from autoreason.task import Task
from autoreason.tournament.loop import Tournament

_TASK = Task(brief="Write.")


class SimulatedRun(NamedTuple):
    """The outcome of one run, in the order of `Outcomes`."""

    quality: float
    passes: int
    calls: int
    displaced: int
    worse: int
    claimed: bool


def play_all(
    world: World, settings: Settings, runs: int, seed: int, budget: int | None = None
) -> Outcomes:
    """So many runs, one after the other, each with its own seed and luck."""
    luck = RandomDraws(seed, runs).cached()
    results = [play(world, settings, luck, row, budget) for row in range(runs)]
    return Outcomes(*map(np.array, zip(*results, strict=True)))


def play(
    world: World, settings: Settings, luck: RandomDraws, row: int, budget: int | None = None
) -> SimulatedRun:
    """One run; within a budget, the longest whose playoff and confirmation are within it too."""
    cast, tournament = tournament_of(world, settings, luck, row)
    if budget is not None and cast.calls.total() > budget:
        # The same luck again: the passes it has room for come out as they did.
        within = _passes_within(budget, settings, cast, tournament)
        cast, tournament = tournament_of(world, replace(settings, passes=within), luck, row)
    story = tournament.story
    incumbents = [cast.quality(incumbent.text) for incumbent in story.incumbents]
    assert story.delivered is not None
    preference = story.delivered.evidence.preference
    return SimulatedRun(
        cast.quality(story.delivered.text),
        len(story.trajectory),
        cast.calls.total(),
        len(incumbents) - 1,
        sum(after < before for before, after in pairwise(incumbents)),
        preference is not None and preference.low > 0.5,
    )


def tournament_of(
    world: World, settings: Settings, luck: RandomDraws, row: int
) -> tuple[Cast, Tournament]:
    """One run to its end, and the cast that answered in it."""
    cast = Cast(world, luck, row, subtractive=settings.subtractive_synthesis)
    # No word of a simulated text is another's, so code would take every cut for an addition.
    settings = replace(settings, seed=luck.seed * 1_000_003 + row, subtractive_synthesis=False)
    tournament = Tournament(JobContext(_TASK, settings, PROMPTS, cast.ask, _ignore))
    tournament.share_changed = cast.share_changed
    asyncio.run(tournament.run())
    return cast, tournament


def _passes_within(budget: int, settings: Settings, cast: Cast, tournament: Tournament) -> int:
    """The most passes, one at least, after which draft, passes and last panels are within the budget."""
    calls, displaced, within = cast.calls[0], 0, 1
    for number, winner in enumerate(tournament.story.trajectory, 1):
        calls += cast.calls[number]
        displaced += winner != "A"
        after = settings.playoff + settings.confirmation if displaced else 0
        if calls + after <= budget:
            within = number
    return within


def _ignore(_: AnyEvent) -> None:
    """No one reads these events."""
