"""What advice measures: a short certificate of the judge, and pilots that fresh judges compare."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from math import comb, exp, log
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from autoreason.events import Delivered, Event, JobFinished
from autoreason.exchange import BudgetQuery
from autoreason.job_types import Refine
from autoreason.jobs.context import JobContext, draw
from autoreason.jobs.job import Plans, join_plans
from autoreason.keys import sub_key
from autoreason.parsing.documents import same_text
from autoreason.report.numbers import count, listed
from autoreason.settings import Settings
from autoreason.stats.shares import clustered_share
from autoreason.story import CONFIRMATION, Story
from autoreason.strategies import CritiqueRevise
from autoreason.studies.certificate import (
    BALLOTS,
    COIN,
    DEFECTS,
    FLOOR,
    READABLE,
    SWAP,
    CertificateFinding,
    Certification,
    measure,
    weigh,
)
from autoreason.studies.certificate_questions import (
    DEFECT,
    KINDS,
    SOUND,
    BallotQuestion,
    defect_questions,
    pairs,
)
from autoreason.tournament.judges import seat_calls
from autoreason.tournament.panel import confirm

PAIRS = 9
QUESTIONS = 2 * PAIRS
LEAST_QUESTIONS = 4
"""After so many right answers in a row no fault can be shown any more."""
Right = tuple[tuple[bool, bool], ...]
"""Pair by pair, whether the sound text was ranked first, in either order of the two."""


class JudgeCheck(Certification):
    """Pairs of the certificate, each in both orders, until no fault can be shown any more."""

    summary = "a short certificate: planted defects in both orders"

    async def run(self) -> JobFinished:
        questions = check_questions(self.settings)
        for at in range(PAIRS):
            calls, stage = 2 * seat_calls(self.settings).most, sub_key("question", at)
            if not may_fail(*read_answers(self.story), PAIRS - at):
                break
            if await is_short(self.context, stage, calls):
                break
            await self.ask_questions(questions[2 * at : 2 * at + 2])
        right, read = read_answers(self.story)
        return self.finish(find_fault(judge_findings(right, read)) or no_fault(len(read)))


async def is_short(context: JobContext, stage: str, calls: int) -> bool:
    """Whether the budget is too small for a step; recorded, so that a resumed run goes the same way."""
    query = BudgetQuery(key=sub_key(stage, "budget"), calls=calls, after=0)
    shortage: str = await context.ask(query)
    return bool(shortage)


def check_questions(settings: Settings) -> list[BallotQuestion]:
    """Pairs of every kind of defect, drawn by the seed; the models of a mixed panel take turns."""
    random = draw(settings.seed, "pairs")
    by_kind = [[pair.name for pair in pairs() if pair.kind == kind] for kind in KINDS]
    for names in by_kind:
        random.shuffle(names)
    random.shuffle(by_kind)
    in_turn = [name for names in zip_longest(*by_kind) for name in names if name][:PAIRS]
    at = {sub_key(DEFECT, name): at for at, name in enumerate(in_turn)}
    chosen = [
        dataclasses.replace(q, judge=at[q.stage]) for q in defect_questions(1) if q.stage in at
    ]
    return sorted(chosen, key=lambda each: (at[each.stage], each.seat))


def read_answers(story: Story) -> tuple[Right, tuple[bool, ...]]:
    """Pairs of which both ballots could be read, and which ballots were read at the first try."""
    right: list[tuple[bool, bool]] = []
    read: list[bool] = []
    for panel in story.panels.values():
        first = [ballot.ranking[0] == SOUND for ballot in panel.ballots if ballot.ranking]
        if len(first) == 2:
            right.append((first[0], first[1]))
        read += [ballot.ranking is not None and ballot.asked == 1 for ballot in panel.ballots]
    return tuple(right), tuple(read)


@lru_cache(1024)
def judge_findings(right: Right, read: tuple[bool, ...]) -> tuple[CertificateFinding, ...]:
    """What the answers show by the rules of the certificate."""
    same = [[one == other] for one, other in right]
    return (
        measure(DEFECTS, right, "seen in {} questions"),
        measure(SWAP, same, "{} answers were the same when swapped"),
        measure(BALLOTS, [[each] for each in read], "{} ballots read at first try"),
    )


@lru_cache(1024)
def may_fail(right: Right, read: tuple[bool, ...], left: int) -> bool:
    """Whether so many further pairs could still show a fault where none is shown yet."""
    if weigh(clustered_share([each] for each in read), READABLE) == "failed":
        return False
    wrong = clustered_share([*right, *[(False, False)] * left])
    turned = clustered_share([*([one == other] for one, other in right), *[[False]] * left])
    return "failed" in (weigh(wrong, FLOOR), weigh(turned, COIN))


def find_fault(findings: Sequence[CertificateFinding]) -> str:
    """What the judge failed in, in words; empty where it failed nothing."""
    failed = [f"{each.name} ({each.statement})" for each in findings if each.verdict == "failed"]
    return f"the judge failed {listed(failed)}" if failed else ""


def no_fault(questions: int) -> str:
    return f"no fault of the judge is shown in {count(questions, 'question')}"


def chance_to_fail(share: float, lean: float = 0.0) -> float:
    """How often a judge fails who sees that share of defects and leans that much to the text shown first."""
    first, second = (min(1.0, max(0.0, share + side * lean / 2)) for side in (1, -1))
    both, none = first * second, (1 - first) * (1 - second)
    total = 0.0
    for seen in range(PAIRS + 1):
        for missed in range(PAIRS + 1 - seen):
            turned = PAIRS - seen - missed
            right = [(True, True)] * seen + [(False, False)] * missed + [(True, False)] * turned
            # With no pair left it says whether these answers themselves show a fault.
            if may_fail(tuple(right), (), 0):
                ways = comb(PAIRS, seen) * comb(PAIRS - seen, missed)
                total += ways * both**seen * none**missed * (1 - both - none) ** turned
    return total


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

    worded = ("note",)
    name: str
    judges: int
    """0 where it says nothing."""
    prefer: int
    note: str = ""
    """Why no judge was asked, and how that is counted."""


class PilotRun(CritiqueRevise):
    """A draft and one revision, which judges compare who chose nothing."""

    summary = "a draft, a critique and a revision, compared by fresh judges"

    async def run(self) -> Delivered:
        draft = await self.write_draft()
        self.begin_pass(1)
        await self.run_pass(1, await self.guidance(1))
        await confirm(self.context, draft, self.incumbent)
        return self.deliver("capped", self.why_capped(1))

    @classmethod
    def plans(cls, settings: Settings) -> Plans:
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
        note = f"the result is the draft, which counts as {JUDGES // 2} of {JUDGES}"
        return Pilot(name=name, judges=JUDGES, prefer=JUDGES // 2, note=note)
    if draft.violations and not delivered.violations:
        kept = "the draft breaks the contract and the result keeps it"
        note = f"{kept}, which counts as all {JUDGES}"
        return Pilot(name=name, judges=JUDGES, prefer=JUDGES, note=note)
    asked = CONFIRMATION in story.panels
    why = "too few valid ballots" if asked else "no judge compared the two"
    return Pilot(name=name, judges=0, prefer=0, note=f"says nothing: {why}")


@cache
def chance_of_votes(judges: int, prefer: int, share: float) -> float:
    """How likely so many of a panel prefer one text, if that share of all judges does and they share tastes."""
    from scipy.special import betaln

    scale = (1 - CORRELATION) / CORRELATION
    a, b = share * scale, (1 - share) * scale
    return comb(judges, prefer) * exp(betaln(prefer + a, judges - prefer + b) - betaln(a, b))


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
    share: float, judges: Sequence[int] = (JUDGES,) * MAX_PILOTS, first_check: int = MIN_PILOTS
) -> OperatingLine:
    """How pilots with so many judges each end if they are weighed after each from `first_check` on.

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
            verdict = _verdict(total * step) if number >= first_check else "undecided"
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
        votes = f"{prefer} of {judges} fresh judges prefer the result to the draft"
        said.append(f"in {count(len(judged), noun)} {votes}")
    if known := [each for each in pilots if each.judges and each.note]:
        counts = "counts" if len(known) == 1 else "count"
        said.append(f"{count(len(known), noun)} {counts} without fresh judges")
    return "; ".join(said) or f"no {noun} says anything"


class JudgeChecked(Event, frozen=True, kw_only=True):
    """The judge was asked about pairs whose answers are known."""

    right: Right
    read: tuple[bool, ...]
    """Which ballots were read at the first try."""

    @property
    def line(self) -> str:
        fault = find_fault(judge_findings(self.right, self.read))
        return f"judge check: {fault or no_fault(len(self.read))}"


class PilotFinished(Event, frozen=True, kw_only=True):
    """A pilot is over, or its panels failed."""

    number: int
    pilot: Pilot
    draft: str | None
    text: str | None
    origin: str

    @property
    def line(self) -> str:
        judges = count(self.pilot.judges, "fresh judge")
        votes = f"{self.pilot.prefer} of {judges} prefer the result"
        return f"pilot {self.number}: {self.pilot.note or votes}"
