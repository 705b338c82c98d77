"""Pilots: a draft, one revision, and fresh judges who compare the two; weighed one after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from math import comb, exp, lgamma, log
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.events import Delivered
from autoreason.job_types import Refine
from autoreason.jobs.job import Plans, join_plans
from autoreason.parsing.documents import same_text
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import CONFIRMATION, Story
from autoreason.strategies.rivals import CritiqueRevise
from autoreason.tournament.judges import seat_calls
from autoreason.tournament.panel import confirm

JUDGES = 2
"""Judges who compare a revision with its draft, one in either order: as they share tastes, more say little more."""
MIN_PILOTS, MAX_PILOTS = 3, 6
NO_GAIN, GAIN = 0.5, 0.75
"""Shares of judges who prefer the result, between which pilots decide."""
RATIO = 3
"""How many times likelier one of the two must make the ballots."""
CORRELATION = 0.38
"""How much judges of one text share a taste, as fitted to recorded ballots."""
_STEP = 0.05
"""Steps in which logarithms are added where there are too many to be kept apart."""
PilotVerdict = Literal["run_it", "do_not", "undecided"]


class Pilot(Struct, frozen=True, kw_only=True):
    """How many fresh judges prefer a revision, or the result of a run, to its draft."""

    name: str
    """The part or the run."""
    judges: int
    """0 where it says nothing."""
    prefer: int
    note: str = ""
    """Why no judge was asked, and how that is counted."""


class PilotRun(CritiqueRevise):
    """A draft and one revision, which judges compare who chose nothing."""

    summary = "a draft, a critique and a revision, compared by fresh judges"

    async def run(self) -> Delivered:
        """Write, revise and compare."""
        draft = await self.write_draft()
        self.begin_pass(1)
        await self.run_pass(1, await self.guidance(1))
        await confirm(self.context, draft, self.incumbent)
        return self.deliver("capped", self.why_capped(1))

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
        """A draft, a critic, a revision and the judges."""
        calls = seat_calls(settings)
        low, likely, high = super().plans(settings)
        return (
            low,
            join_plans(likely, {"judge": JUDGES * calls.usual}),
            join_plans(high, {"judge": JUDGES * calls.most}),
        )


def pilot_settings(settings: Settings) -> Settings:
    """Those of a pilot: one draft, one pass, and two fresh judges."""
    return replace(
        settings,
        job=Refine(strategy="critique_revise"),
        passes=1,
        drafts=1,
        max_drafts=1,
        confirmation=JUDGES,
    )


def read_pilot(name: str, story: Story) -> Pilot:
    """What a pilot or a tournament says: its confirmation, or why there is none."""
    if confirmed := story.confirmation:
        return Pilot(name=name, judges=confirmed.judges, prefer=confirmed.prefer)
    delivered, draft = story.delivered, story.draft
    if delivered is None or draft is None:
        return Pilot(name=name, judges=0, prefer=0, note=f"no result: {story.reason}")
    if same_text(delivered.text, draft.text):
        even = JUDGES // 2
        note = f"the result is the draft, which counts as {even} of {JUDGES}"
        return Pilot(name=name, judges=JUDGES, prefer=even, note=note)
    if draft.violations and not delivered.violations:
        note = (
            f"the draft breaks the contract and the result keeps it, which counts as all {JUDGES}"
        )
        return Pilot(name=name, judges=JUDGES, prefer=JUDGES, note=note)
    why = "too few valid ballots" if CONFIRMATION in story.panels else "no judge compared the two"
    return Pilot(name=name, judges=0, prefer=0, note=f"says nothing: {why}")


@cache
def chance_of_votes(judges: int, prefer: int, share: float) -> float:
    """How likely so many of a panel prefer one text, if that share of all judges does and they share tastes."""
    scale = (1 - CORRELATION) / CORRELATION
    a, b = share * scale, (1 - share) * scale
    return comb(judges, prefer) * exp(_log_beta(prefer + a, judges - prefer + b) - _log_beta(a, b))


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@cache
def _log_ratio(judges: int, prefer: int) -> float:
    gain, none = (chance_of_votes(judges, prefer, share) for share in (GAIN, NO_GAIN))
    return log(gain / none)


def likelihood_ratio(pilots: Sequence[Pilot]) -> float:
    """How many times likelier the ballots are if the result is preferred than if it is not."""
    return exp(sum(_log_ratio(each.judges, each.prefer) for each in pilots))


def weigh_pilots(pilots: Sequence[Pilot], least: int = MIN_PILOTS) -> PilotVerdict:
    """Whether a gain is likely enough, or unlikely enough, to stop; never before so many pilots say something."""
    if sum(each.judges > 0 for each in pilots) < least:
        return "undecided"
    return _verdict(log(likelihood_ratio(pilots)))


def _verdict(log_ratio: float) -> PilotVerdict:
    # A little less, so that rounding decides nothing.
    limit = log(RATIO) - 1e-7
    return "run_it" if log_ratio >= limit else "do_not" if log_ratio <= -limit else "undecided"


class OperatingLine(Struct, frozen=True, kw_only=True):
    """How often pilots end in which verdict if this share of all judges prefers the result."""

    share: float
    run_it: float = 0.0
    do_not: float = 0.0
    undecided: float = 0.0


def operating_line(
    share: float, judges: Sequence[int] = (JUDGES,) * MAX_PILOTS, first_look: int = MIN_PILOTS
) -> OperatingLine:
    """How pilots with so many judges each end if they are weighed after each from `first_look` on.

    Every course is followed, with close sums of more than `MAX_PILOTS` pilots taken together.
    """
    step = 1e-10 if len(judges) <= MAX_PILOTS else _STEP
    ended: defaultdict[str, float] = defaultdict(float)
    running = {0: 1.0}
    for number, size in enumerate(judges, 1):
        after: defaultdict[int, float] = defaultdict(float)
        for total, chance in running.items():
            for prefer in range(size + 1):
                value = total + round(_log_ratio(size, prefer) / step)
                after[value] += chance * chance_of_votes(size, prefer, share)
        running = {}
        for total, chance in after.items():
            verdict = _verdict(total * step) if number >= first_look else "undecided"
            if verdict == "undecided":
                running[total] = chance
            else:
                ended[verdict] += chance
    return OperatingLine(share=share, undecided=sum(running.values()), **ended)


def describe_pilots(pilots: Sequence[Pilot], noun: str = "pilot") -> str:
    """How many judges prefer which, over all pilots, and how many pilots count without judges."""
    said = []
    if judged := [each for each in pilots if each.judges and not each.note]:
        prefer, judges = sum(each.prefer for each in judged), sum(each.judges for each in judged)
        said.append(
            f"in {count(len(judged), noun)} {prefer} of {judges} fresh judges prefer the result to the draft"
        )
    if known := [each for each in pilots if each.judges and each.note]:
        counts = "counts" if len(known) == 1 else "count"
        said.append(f"{count(len(known), noun)} {counts} by what code sees, without judges")
    return "; ".join(said) or f"no {noun} says anything"
