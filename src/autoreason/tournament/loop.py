"""The loop: pass after pass, reviews of the line from the first draft to the latest, a confirmation."""

from __future__ import annotations

import dataclasses
from functools import partial
from math import inf

from msgspec.structs import replace

from autoreason.contract import count_words
from autoreason.errors import InvalidInput, PanelFailed
from autoreason.events import CandidateDropped, Delivered, Excess, Incumbent, Slot, Status
from autoreason.jobs.context import JobContext
from autoreason.jobs.job import Plan, Plans
from autoreason.keys import sub_key
from autoreason.parsing.documents import share_changed
from autoreason.report.numbers import percent
from autoreason.settings import Settings
from autoreason.story import DRAFTS, REVIEW
from autoreason.task import Metric, Task
from autoreason.tournament.challengers import MAX_RIVALS, challenge, choose_draft, write_rival
from autoreason.tournament.edits import find_excess
from autoreason.tournament.evidence import survival_chances
from autoreason.tournament.judges import JUDGE_PROMPTS, seat_calls
from autoreason.tournament.panel import CodeJudges, confirm, review, review_seats
from autoreason.tournament.rounds import describe_back, describe_split
from autoreason.tournament.strategy import (
    Ending,
    ShareChanged,
    Strategy,
    describe_survivals,
    find_ending,
)
from autoreason.tournament.voting import (
    ballot_size,
    in_tie_order,
    judges_revisions,
    max_lead,
    pass_size,
    revisers_by_slot,
    writes_synthesis,
)
from autoreason.tournament.writing import CRITICS, criticise, violations

TRIES = 2
"""A text, a critique or a ballot that cannot be used is asked for once more."""
CALLS_PER_TEXT = 2
"""A text that breaks the contract: the text itself, and a request to fix it."""
MAX_CALLS_PER_TEXT = TRIES + 2
"""The most a text can take: one more call to fix a leak and one to fix a breach of contract."""


def min_plan(settings: Settings) -> Plan:
    """Critics find nothing from the start, or small changes end it sooner."""
    critics = CRITICS * min(settings.k, settings.passes)
    found_nothing = {"author": settings.drafts, "critic": critics, "judge": 0}
    if not 0 < settings.plateau <= settings.passes or not settings.judges:
        return found_nothing
    judges, review = (
        number // 2 + 1 if settings.early_stop and number else number
        for number in (settings.judges, settings.reviewers)
    )
    small_changes = {
        "author": settings.drafts,
        "critic": settings.plateau,
        "reviser": settings.plateau * len(revisers_by_slot(settings)),
        "synthesizer": settings.plateau * writes_synthesis(settings),
        "judge": settings.plateau * judges + review,
    }
    return min(found_nothing, small_changes, key=lambda plan: sum(plan.values()))


def broken_plan(settings: Settings, *, given: bool) -> Plan:
    """No text keeps the contract: each is sent back, and the drafts, or where there is but one a pass, are the end."""
    if not given and settings.max_drafts > 1:
        return {"author": CALLS_PER_TEXT * settings.max_drafts}
    revisions = len(revisers_by_slot(settings))
    texts = {"author": not given, "reviser": revisions, "synthesizer": writes_synthesis(settings)}
    return {role: CALLS_PER_TEXT * number for role, number in texts.items()}


def likely_plan(settings: Settings) -> Plan:
    """As many passes as are likely, every request once."""
    passes = _likely_passes(settings)
    return {
        "author": settings.drafts,
        "critic": passes,
        "reviser": passes * len(revisers_by_slot(settings)),
        "synthesizer": passes * writes_synthesis(settings),
        "judge": (passes * settings.judges + _other_judges(settings, passes))
        * seat_calls(settings).usual,
    }


def _likely_passes(settings: Settings) -> int:
    """As chance alone would have it; with reviews, half way from the first that may end the run to the last."""
    passes: float = settings.passes
    if settings.review_every and settings.reviewers:
        passes = min(passes, (settings.min_reviews * settings.review_every + passes) / 2)
    return round(min(passes, _passes_by_chance(settings)) if settings.judges else passes)


def _passes_by_chance(settings: Settings) -> float:
    """Passes until A survives k times in a row, ties aside."""
    panel = dataclasses.replace(pass_size(settings), early_stop=False)
    survival, tie = survival_chances(panel, ballot_size(settings), settings.voting)
    expected = 0.0
    for _ in range(settings.k):
        # A streak of one more: those before it and one pass, as often as it takes until A survives that;
        # after a tie it takes one more pass and not the streak again.
        expected = (expected * (1 - tie) + 1) / survival if survival else inf
    return expected


def max_plan(settings: Settings) -> Plan:
    """Every request is repeated as often as possible."""
    rivals = MAX_RIVALS * _has_rivals(settings)
    texts = settings.passes * MAX_CALLS_PER_TEXT
    return {
        "author": (settings.max_drafts + settings.passes * rivals) * MAX_CALLS_PER_TEXT,
        "critic": settings.passes * CRITICS * TRIES,
        "reviser": texts * len(revisers_by_slot(settings)),
        "synthesizer": texts * writes_synthesis(settings),
        "judge": (settings.passes * settings.judges + _other_judges(settings, settings.passes))
        * seat_calls(settings).most,
    }


def _has_rivals(settings: Settings) -> bool:
    """Whether a fresh draft may stand as B, which takes judges who see it."""
    allowed = settings.rivals and settings.edit == "free"
    return allowed and judges_revisions(settings) and settings.judges > 0


def without_drafts(plans: Plans, drafts: int) -> Plans:
    low, likely, high = (
        {**plan, "author": max(0, plan.get("author", 0) - drafts * calls)}
        for plan, calls in zip(plans, (1, 1, MAX_CALLS_PER_TEXT), strict=True)
    )
    return low, likely, high


def _other_judges(settings: Settings, passes: int) -> int:
    among_drafts = settings.panel_judges if settings.drafts > 1 else 0
    reviews = sum(review_seats(settings, texts) for texts in _reviewed_texts(settings, passes))
    return among_drafts + reviews + settings.confirmation


def _reviewed_texts(settings: Settings, passes: int) -> list[int]:
    """How many texts each review of so many passes ranks, if every pass brings one."""
    every = settings.review_every or passes
    ends = range(every, passes + every, every)
    return [min(settings.review_texts, passes + 1, end + 1) for end in ends]


def warn_of_unranked(settings: Settings) -> str:
    """That reviews have no room for every text since the last one; empty where they have."""
    most, every = min(settings.review_texts, 2 * settings.ballot_texts - 1), settings.review_every
    is_reviewed = settings.job.is_tournament and settings.reviewers and not settings.judges
    if not is_reviewed or every >= settings.passes or every + 2 <= most:
        return ""
    room = f"a review has room for {most} texts, {most - 2} of them new"
    which = "review_texts" if most == settings.review_texts else "ballot_texts"
    return f"{room}, and there may be {every}; lower `review_every` or raise `{which}`"


def texts_per_ballot(settings: Settings) -> float:
    """How many texts a judge reads on average, in as many passes as are likely."""
    passes = _likely_passes(settings)
    panels = [(passes * settings.judges, ballot_size(settings)), (settings.confirmation, 2)]
    for texts in _reviewed_texts(settings, passes):
        panels.append((review_seats(settings, texts), min(texts, settings.ballot_texts)))
    judges = sum(each for each, _ in panels)
    return sum(each * texts for each, texts in panels) / judges if judges else 0.0


def growth(first: str, text: str) -> float:
    """The share of a text's words by which another is longer."""
    return count_words(text) / max(1, count_words(first)) - 1


class Tournament(Strategy):
    """The method: in every pass A can win."""

    summary = "a revision in every pass, and reviews that rank all texts blind and say when to end"
    prompts = (
        *("critic", "critique_again", "reviser", "blind_reviser", "synthesizer"),
        *JUDGE_PROMPTS,
    )
    fewer_calls = "lower `reviewers` or `confirmation`"
    share_changed: ShareChanged = staticmethod(share_changed)
    growth: ShareChanged = staticmethod(growth)

    def __init__(self, context: JobContext) -> None:
        super().__init__(context)
        self._code = CodeJudges(self.context)

    async def run(self) -> Delivered:
        await choose_draft(self.context, self._affords_drafts, self._code)
        number, ending = 0, None
        after = self._calls_after
        while (
            self.story.streak < self.settings.k
            and not (ending := find_ending(self.story, self.settings, self.share_changed))
            and self.may_begin(number + 1, calls_after=after)
            and await self.budget_allows(number + 1, after)
        ):
            number += 1
            await self._run_pass(number)
            if self.settings.review_every and not number % self.settings.review_every:
                await self._review(number)
        chosen = await self._review(number)
        status: Status = "capped"
        if self.story.streak >= self.settings.k:
            status = "converged"
            survived = f"{describe_survivals(self.story.streak)}{self._describe_streak()}"
            ending = Ending("survivals", f"{survived}{describe_back(self.story)}")
        elif ending and ending.ended_by == "review":
            status = "done"
        winner = await confirm(self.context, self.story.incumbents[0], chosen)
        return self.deliver(status, ending or self.why_capped(number), winner)

    async def _review(self, number: int) -> Incumbent:
        """The text to go on from, and to deliver if the run ends after this pass."""
        if self.story.closing_review is None:
            several = self.settings.review_every > 0
            stage, after = (sub_key(REVIEW, number), number) if several else (REVIEW, 0)
            line, kept = self.story.incumbents, self.story.reviewed
            await review(self.context, line, kept, stage=stage, code=self._code, after=after)
            recent = [each.number for each in self.story.reviews[-2:] if not each.verdict]
            if recent[1:] and recent[0] > self.context.recovery.forgiven:
                raise PanelFailed("too few rankings of two reviews in a row could be read")
        return self.story.chosen or self.incumbent

    @classmethod
    def check(cls, settings: Settings) -> None:
        super().check(settings)
        most = max_lead(settings.voting, ballot_size(settings), settings.judges)
        if settings.required_lead > max(1, most):
            unseen = "no judge sees rounds: set `judges`"
            fix = f"give {most} or less" if settings.judges else unseen
            raise InvalidInput(f"no text can lead by `required_lead`; {fix}")

    @classmethod
    def check_task(cls, task: Task, settings: Settings) -> None:
        has_metric = isinstance(task.work, Metric)
        super().check_task(replace(task, work=None) if has_metric else task, settings)
        if settings.edit != "free" and task.draft is None:
            raise InvalidInput(f"`edit` {settings.edit} needs a text of yours; give it as `draft`")

    @classmethod
    def plans(cls, settings: Settings) -> tuple[Plan, Plan, Plan]:
        return min_plan(settings), likely_plan(settings), max_plan(settings)

    @classmethod
    def fit_plans(cls, plans: Plans, task: Task, settings: Settings) -> Plans:
        low, likely, high = super().fit_plans(plans, task, settings)
        may_break = task.violations(task.draft) if task.draft else task.limited
        if may_break and not settings.anyway:
            broken = broken_plan(settings, given=task.draft is not None)
            low = min(low, broken, key=lambda plan: sum(plan.values()))
        return low, likely, high

    @classmethod
    def min_calls(cls, task: Task, settings: Settings) -> int:
        """Up to the end of the first pass, and what comes after the last one; no pass begins without those."""
        if not settings.reviewers + settings.confirmation:
            return 0
        one = replace(settings, passes=1, drafts=1 if task.draft is not None else settings.drafts)
        return sum(likely_plan(one).values()) - (task.draft is not None)

    async def _affords(self, stage: str, texts: int, calls_after: int = 0) -> bool:
        """Whether more texts fit: into the allowance with these calls after them, else into the budget."""
        calls = CALLS_PER_TEXT * texts
        if self.context.allowance:
            return self.context.allowance.fits(calls + calls_after)
        # Asked even without limits: a resumed run may have others, and must take the same turn.
        after = self.calls_per_pass() + self._calls_after
        return not await self.budget_shortage(stage, calls, after)

    async def _affords_drafts(self, numbers: range) -> bool:
        return await self._affords(sub_key(DRAFTS, numbers[-1]), len(numbers))

    async def _affords_rival(self, stage: str) -> bool:
        judges = self.settings.judges * seat_calls(self.settings).usual
        return await self._affords(stage, 1, judges + self._calls_after)

    @property
    def _calls_after(self) -> int:
        settings = self.settings
        judges = review_seats(settings, settings.review_texts) + settings.confirmation
        return judges * seat_calls(settings).usual

    def _describe_streak(self) -> str:
        """How many survivals of the last streak were not decided by a vote."""
        decided = [each.decided for each in self.story.passes if each.decided]
        streak = [each for each in decided if each.survived][-self.story.streak :]
        kinds = (
            (sum(each.verdict is not None and each.verdict.tied for each in streak), "on a tie"),
            (sum(each.outcome == "unopposed" for each in streak), "unopposed"),
        )
        some = "" if len(streak) == 1 else "{} of them "
        return "".join(f", {some.format(number)}{how}" for number, how in kinds if number)

    async def _run_pass(self, number: int) -> None:
        incumbent, text = self.incumbent, self.incumbent.text
        # The published procedure has critics who know nothing of judges.
        split = describe_split(self.story) if self.settings.protocol == "robust" else ()
        self.begin_pass(number)
        guidance = await self.guidance(number)
        findings = await criticise(self.context, number, text, guidance, split)
        if findings.outcome == "unreadable":
            return self.end_pass(number, "inconclusive", None, reason="no critic could be read")
        challengers: dict[Slot, str] = {}
        if findings.outcome != "none":
            excess = partial(self._find_excess, text, missing=findings.missing)
            context = dataclasses.replace(self.context, find_excess=excess)
            reviews = [each.decided for each in self.story.reviews if each.decided]
            ranked = [each.text for one in reviews for each in one.texts]
            challengers = await challenge(context, number, text, findings.problems, ranked)
        if not challengers:
            if not incumbent.keeps_contract:
                self._weakness = self._weakness or "it cannot put right what breaks the contract"
            # What a strong author's critics do not find speaks for A; what a weak one's do not, says little.
            is_doubtful = findings.outcome != "none" or self._weakness
            if is_doubtful and _has_rivals(self.settings):
                challengers = await write_rival(self.context, number, text, self._affords_rival)
        if not challengers and findings.outcome == "none":
            return self.decide(number, "A", reason="two critics found nothing to fix")
        ballot = self._ballot(number, incumbent, challengers)
        # What an author refused or sent empty says nothing about A.
        dropped = {each.reason for each in self.story.passes[-1].dropped}
        if not challengers and dropped & {"refused", "empty"}:
            reason = "no author would write a challenger"
            return self.end_pass(number, "inconclusive", None, reason=reason)
        if len(ballot) == 1:
            winner = next(iter(ballot))
            reason = "no challenger was left"
            if winner == "A" and dropped & {"longer", "changed"}:
                streak = self.story.streak
                return self.end_pass(number, "unopposed", "A", streak=streak, reason=reason)
            if winner != "A":
                reason = "it keeps more of the contract than the others"
            return self.decide(number, winner, reason=reason)
        if not self.settings.judges:
            return self.end_pass(number, "unjudged", next(iter(challengers)))
        return await self.vote(number, ballot, pass_size(self.settings, ballot), code=self._code)

    def _find_excess(self, incumbent: str, text: str, *, missing: bool) -> Excess | None:
        """How a text changed or grew too much, which judges do not see: they like what is long."""
        first = self.story.incumbents[0].text
        excess = find_excess(self.settings, first, incumbent, text)
        contract = self.context.task.contract
        if excess or missing or contract.max_words or contract.max_characters:
            return excess
        share = self.growth(first, text)
        long = share > max(self.settings.max_growth, self.growth(first, incumbent))
        return Excess("longer", f"{percent(share)} longer than the first draft") if long else None

    def _ballot(
        self, number: int, incumbent: Incumbent, challengers: dict[Slot, str]
    ) -> dict[Slot, str]:
        """The candidates, in the order in which ties are decided: the texts that break the fewest limits."""
        texts: dict[Slot, str] = {"A": incumbent.text, **challengers}
        breaches_by_slot = {slot: violations(self.context, text) for slot, text in texts.items()}
        minimum = min(map(len, breaches_by_slot.values()))
        drop = partial(CandidateDropped, number=number, reason="contract")
        for slot, breaches in breaches_by_slot.items():
            if len(breaches) > minimum:
                why = "; ".join(breach.message for breach in breaches)
                self.emit(drop(slot=slot, detail=why, violations=breaches))
        order = in_tie_order(texts, self.settings)
        return {slot: texts[slot] for slot in order if len(breaches_by_slot[slot]) == minimum}
