"""Simulated runs of the tournament itself: its own loop, a cast from a world behind ask, and what comes of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy.special import stdtrit

from autoreason.events import AnyEvent
from autoreason.exchange import Outcome, Query, Reply, Request
from autoreason.jobs.context import JobContext
from autoreason.keys import Key
from autoreason.prompts import PromptSet
from autoreason.report.numbers import interval
from autoreason.settings import Settings
from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share, pooled_share
from autoreason.story import DRAFTS
from autoreason.studies.simulate.texts import (
    PassDraws,
    RandomDraws,
    Texts,
    finds_nothing,
    first_draft,
    further_draft,
    revise,
    share_changed,
    synthesize,
)
from autoreason.studies.simulate.world import World
from autoreason.task import Task
from autoreason.tournament.loop import Tournament

Counts = NDArray[np.int64] | NDArray[np.bool_]


class Outcomes(NamedTuple):
    """One number per run."""

    quality: NDArray[np.float64]
    """True quality of the text delivered."""
    passes: NDArray[np.int64]
    calls: NDArray[np.int64]
    displaced: NDArray[np.int64]
    """Passes in which a challenger displaced A."""
    worse: NDArray[np.int64]
    """Those of them in which it was worse than A."""
    claimed: NDArray[np.bool_]
    """Whether the confirmation shows that judges prefer the delivered text to the first draft."""


def claiming_votes(judges: int) -> int:
    """How many judges of a confirmation must prefer the delivered text for their share to be over a half."""
    return next(
        (n for n in range(judges + 1) if (exact_share(n, judges).low or 0) > 0.5), judges + 1
    )


class Interval(Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return interval(Estimate(self.value, self.low, self.high))


class Summary(Struct, frozen=True, kw_only=True):
    """What a protocol delivers in a world."""

    runs: int
    quality: Interval
    passes: Interval
    calls: Interval
    worse: Interval | None
    """Share of displacements that made things worse; None where nothing was displaced."""
    claimed: Interval | None
    """Share of runs with a text better than the first draft that can say so; None where there is none."""
    claimed_wrongly: Interval | None
    """Share of runs without a better text that say they have one; None where there is none."""


def summarise(outcomes: Outcomes, *, confirmed: bool = True) -> Summary:
    """Means, shares and their intervals; `confirmed` is whether there was a confirmation."""
    better = outcomes.quality > 0
    return Summary(
        runs=len(outcomes.quality),
        quality=mean(outcomes.quality),
        passes=mean(outcomes.passes),
        calls=mean(outcomes.calls),
        worse=ratio(outcomes.worse, outcomes.displaced),
        claimed=ratio(outcomes.claimed, better) if confirmed else None,
        claimed_wrongly=ratio(outcomes.claimed, ~better) if confirmed else None,
    )


def ratio(part: Counts, whole: Counts) -> Interval | None:
    """The share of a part, run by run, in the whole; None where the whole is 0."""
    counted = whole > 0
    share = pooled_share(list(zip(part[counted].tolist(), whole[counted].tolist(), strict=True)))
    if share.value is None or share.low is None or share.high is None:
        return None
    return Interval(share.value, share.low, share.high)


def mean(values: NDArray[np.float64] | NDArray[np.int64]) -> Interval:
    """The mean and Student's interval; from a single run nothing is known of its error."""
    n, value, half = len(values), float(values.mean()), float("inf")
    if n > 1:
        half = float(stdtrit(n - 1, 0.975)) * float(values.std(ddof=1)) / n**0.5
    return Interval(value, value - half, value + half)


PROMPTS = PromptSet(
    {
        "system": "",
        "task": "",
        "author": "",
        "critic": "{{ text }}",
        "reviser": "{{ text }}",
        "blind_reviser": "",
        "synthesizer": "{{ texts | join(' ') }}",
        "judge": "{% for one in candidates %}{{ one.label }} {{ one.text }} {% endfor %}",
    }
)
"""Just the texts, which are single words: `t0`, `t1`, in the order in which they were written."""

_LAST_STAGES = ("playoff", "confirmation")
_PROBLEM = '{"problems": [{"severity": "major", "kind": "quote", "quote": "%s", "problem": "It is weak."}]}'


class Cast:
    """The critics, authors and judges of one simulated run."""

    def __init__(
        self, world: World, luck: RandomDraws, row: int, *, subtractive: bool = False
    ) -> None:
        self.world = world
        self._subtractive = subtractive
        self._luck = luck
        self._row = row
        self._texts: dict[str, Texts] = {}
        self._number = 0
        self.calls: Counter[int | str] = Counter()
        """By pass, or by the stage that comes after them; the first draft is pass 0."""

    def quality(self, text: str) -> float:
        """How good a text really is."""
        return float(self._texts[text].quality[0])

    def share_changed(self, one: str, other: str) -> float:
        """In which share of their words two texts differ."""
        return float(
            share_changed(self.world, *(self._texts[text].quality for text in (one, other)))[0]
        )

    async def ask(self, request: Request | Query[Any]) -> Any:
        """Answer as the world has it."""
        if isinstance(request, Query):
            # There is no guidance, and the budget is enough for everything.
            return ""
        key = Key.parse(request.key)
        stage = key.head
        self._number = key.number("pass") or self._number
        self.calls[stage if stage in _LAST_STAGES else self._number] += 1
        shown = request.messages[-1].text.split()
        match request.role:
            case "author":
                text = self._keep(self._draft(key.number(DRAFTS) or 1))
            case "critic":
                text = self._criticise(
                    shown[0], key.number("critic") or 0, quoted=bool(request.schema)
                )
            case "reviser":
                luck = self._revising(key.number("reviser") or 1)
                start = self._texts[shown[0] if shown else "t0"]
                text = self._keep(revise(self.world, luck, self._number, start, blind=not shown))
            case "synthesizer":
                one, other = map(self._texts.__getitem__, shown)
                text = self._keep(
                    synthesize(*self._writing, one, other, subtractive=self._subtractive)
                )
            case _:
                text = self._vote(shown, stage, key.number("judge") or 0)
        return Reply(outcome=Outcome.OK, text=text, model=request.model)

    def _draft(self, number: int) -> Texts:
        only = slice(self._row, self._row + 1)
        if number > 1:
            return further_draft(self.world, self._luck.further_draft(number)[only])
        return first_draft(self.world, self._luck.draft_taste()[only])

    @property
    def _writing(self) -> tuple[World, PassDraws, int]:
        return self.world, self._luck.of_pass(self._number).of_run(self._row), self._number

    def _revising(self, reviser: int) -> PassDraws:
        """The luck of one of the revisers of a pass."""
        if reviser == 1:
            return self._writing[1]
        return self._luck.further_revision(self._number, reviser).of_run(self._row)

    def _keep(self, text: Texts) -> str:
        name = f"t{len(self._texts)}"
        self._texts[name] = text
        return name

    def _criticise(self, text: str, critic: int, *, quoted: bool) -> str:
        """A problem, or none; every critique in prose counts as one."""
        world, luck, _ = self._writing
        if quoted and finds_nothing(world, luck, critic, self._texts[text])[0]:
            return '{"problems": []}'
        return _PROBLEM % text if quoted else "It is weak."

    def _vote(self, shown: list[str], stage: str, seat: int) -> str:
        judges = self.world.judges
        labels, texts = shown[0::2], shown[1::2]
        match stage:
            case "drafts":
                errors = self._luck.draft_judge(seat)
            case "playoff":
                errors = self._luck.finalist_judge(seat)
            case "confirmation":
                errors = self._luck.confirming_judge(seat)
            case _:
                errors = self._luck.judge(self._number, seat)
                if len(texts) > errors.shape[1]:
                    more = self._luck.further_errors(self._number, seat)
                    errors = np.hstack((errors, more))
        oldest_first = sorted(texts, key=lambda text: int(text[1:]))
        views = {}
        for position, (label, text) in enumerate(zip(labels, texts, strict=True)):
            worth = float(self._texts[text].worth(self.world, self._number)[0])
            worth += judges.noise * errors[self._row, oldest_first.index(text)]
            worth += judges.first * (position == 0) + judges.last * (position == len(texts) - 1)
            views[label] = worth
        best_first = sorted(views, key=views.__getitem__, reverse=True)
        return f'{{"reasoning": "", "ranking": "{" > ".join(best_first)}"}}'


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
