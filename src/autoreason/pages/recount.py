"""What if: the recorded votes of a run counted again, without a judge or by another rule.

After the first round or review from which another text would have gone on, nothing is known: no votes on that text
were recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise, product
from statistics import fmean
from typing import Literal, NamedTuple

from autoreason.events import BallotCast
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import RecordedPass, RecordedReview, Story
from autoreason.tournament.rounds import (
    Review,
    describe_text,
    is_first_draft,
    name_text,
    reviews_of,
    short_name,
)
from autoreason.tournament.voting import (
    QUARTERS,
    count_votes,
    from_scores,
    in_tie_order,
    pass_size,
    quorum,
    trend,
)
from autoreason.wording import numeral

TieRule = Literal["confirms nothing", "counts as kept", "goes to the challenger"]
RULES = {
    "borda": "points for every place",
    "majority": "most first places",
    "copeland": "head to head",
    "instant_runoff": "runoff: the last ones leave",
}
TIES: tuple[TieRule, ...] = ("confirms nothing", "counts as kept", "goes to the challenger")
"""What a vote without a leader does: neither counts nor ends the row, is one more in the row, or ends the row."""
_MOST_K = 5


class Choice(NamedTuple):
    """One way to count."""

    without: str
    """The judge who is left out; empty where all count."""
    rule: str
    ties: TieRule
    k: int


class Recount(NamedTuple):
    """How far the record goes under a choice, and where it would have ended or parted."""

    sentence: str
    until: int
    """How many rounds and reviews are as recorded; the one after them parted or was never run."""
    parted: str = ""
    """What would have happened where it parts from the record; empty where it does not."""
    more: tuple[int, ...] = ()
    """Which of them are rounds in which the text stays as recorded and has one more in its row than it had."""
    fewer: tuple[int, ...] = ()
    """The same with one fewer."""


class WhatIf(NamedTuple):
    """Every choice there is, and what it comes to."""

    judges: Sequence[tuple[str, int]]
    """Those who can be left out, with how many rankings they gave."""
    ties: Sequence[TieRule]
    ks: Sequence[int]
    """Of these two there is one choice where rounds have no votes."""
    recorded: Choice
    recounts: dict[Choice, Recount]
    """In the order of judges, rules, ties and rows."""

    @property
    def outcomes(self) -> list[Recount]:
        return list(dict.fromkeys(self.recounts.values()))

    @property
    def places(self) -> str:
        """For each choice, which of the outcomes it has."""
        numbers = {each: str(at) for at, each in enumerate(self.outcomes)}
        return " ".join(numbers[each] for each in self.recounts.values())


def judge_of(ballot: BallotCast, models: int) -> str:
    """Who gave a ranking: its model, or which seat where all judges are of one model."""
    return short_name(ballot.model) if models > 1 else f"judge {ballot.seat + 1}"


def recount_all(story: Story) -> WhatIf | None:
    """Every choice counted; None where no round and no review was decided by a vote."""
    settings = story.settings
    steps = [each for each in story.steps if each.decided]
    judged = [each for each in steps if each.decided and each.decided.verdict and each.ballots]
    if settings is None or not judged or story.is_sampling:
        return None
    models = len({ballot.model for each in judged for ballot in each.ballots})
    asked = Counter(judge_of(b, models) for each in judged for b in each.ballots if b.ranking)
    judges = sorted(asked.items())[:12]
    recorded = Choice("", settings.voting, TIES[settings.ties_survive], settings.k)
    contests = any(isinstance(each, RecordedPass) for each in judged)
    ks = sorted({*range(1, _MOST_K + 1), settings.k}) if contests else [settings.k]
    ties = TIES if contests else (recorded.ties,)
    reviews = reviews_of(story)
    follow = cache(partial(_follow, story, steps, reviews))
    recounts: dict[Choice, Recount] = {}

    @cache
    def decide(at: int, rule: str, *left: _Vote) -> tuple[_Decision, ...]:
        if isinstance(step := steps[at], RecordedPass):
            return _decide(step, story, settings, rule, left)
        number = story.reviews.index(step)
        before = reviews[number - 1].left.name if number else story.incumbents[0].name
        return (_decide_review(step, reviews[number], before, story, rule, left),) * len(TIES)

    for without, rule in product(["", *(name for name, _ in judges)], RULES):
        decisions = []
        for at, each in enumerate(steps):
            left = (b for b in each.ballots if judge_of(b, models) != without)
            # In order, so that it makes no difference which of two equal votes is left out.
            decisions.append(decide(at, rule, *sorted(_vote(b, each, settings) for b in left)))
        for tie, found in zip(TIES, zip(*decisions, strict=True), strict=True):
            for k in ks if tie in ties else ():
                recounts[Choice(without, rule, tie, k)] = follow(found, k)
    return WhatIf(judges, ties, ks, recorded, recounts)


class _Vote(NamedTuple):
    stage: str
    worth: int
    """How often it counts."""
    ranking: tuple[str, ...]
    """Empty where none could be read."""


def _vote(ballot: BallotCast, step: RecordedPass | RecordedReview, settings: Settings) -> _Vote:
    weights = getattr(step.decided, "weights", {})
    judges = settings.models.judges
    worth = round(QUARTERS * weights[judges[ballot.seat % len(judges)]]) if weights else 1
    return _Vote(ballot.stage, worth, ballot.ranking or ())


class _Decision(NamedTuple):
    winner: str | None
    """Of a round."""
    counts: bool
    """Whether the text so far, where it stays, has one more in its row."""
    parted: str = ""
    """What would have happened instead, where another text goes on than did."""
    trend: float | None = None
    """Of a review."""


def _decide(
    one: RecordedPass, story: Story, settings: Settings, rule: str, cast: Sequence[_Vote]
) -> tuple[_Decision, ...]:
    """Who wins a round, by each rule for ties."""
    decided = one.decided
    assert decided is not None
    if decided.verdict is None:
        # No vote decided it, so that no vote can change it.
        streaks = [0, *(each.decided.streak for each in story.passes if each.decided)]
        grew = decided.streak > streaks[story.passes.index(one)]
        return (_Decision(decided.winner, grew),) * len(TIES)
    size = pass_size(settings, decided.verdict.scores)
    order = in_tie_order(decided.verdict.scores, settings)
    votes = [each.ranking for each in cast if each.ranking]
    describe = partial(describe_text, first=is_first_draft(one, story), one=one)

    def goes_on(winner: str | None, counts: bool) -> _Decision:
        # An undecided round leaves the text so far.
        parted = ""
        if (winner or "A") != (decided.winner or "A"):
            parted = f"{describe(winner or 'A')} would {'win' if winner else 'have stayed'}"
        return _Decision(winner, counts, parted)

    if len(votes) < size.quorum(len(cast)):
        return (goes_on(None, counts=False),) * len(TIES)
    code = (ballot.ranking for ballot in decided.verdict.code.values())
    found = count_votes(rule, [*votes, *filter(None, code)], order, size.required_lead)
    counts = found.winner == "A" and not decided.violations
    challenger = found.winner
    if found.winner == "A" and found.margin <= 0:
        last = [*(name for name in order if name != "A"), "A"]
        challenger = from_scores(found.scores, last).winner
    return (
        goes_on(found.winner, counts and found.margin > 0),
        goes_on(found.winner, counts),
        goes_on(challenger, counts and challenger == "A"),
    )


def _decide_review(
    review: RecordedReview, was: Review, before: str, story: Story, rule: str, cast: Sequence[_Vote]
) -> _Decision:
    """Whether the run goes on from the same text as it did; `before` is the one that the review before left."""
    decided, name = review.decided, partial(name_text, story=story)
    assert decided is not None
    winners, trends, parted = list[str | None](), [], ""
    names = [""]
    for ballots in review.stages:
        names = [each.name for each in decided.texts if each.name in ballots[0].order]
        own = [each for each in cast if each.stage == ballots[0].stage]
        votes = [each.ranking for each in own if each.ranking]
        counted = [each.ranking for each in own if each.ranking for _ in range(each.worth)]
        # What code voted in the first of two stages is not recorded.
        code = decided.verdict.code if decided.verdict and ballots == review.last_stage else {}
        by_code = [each.ranking for each in code.values() if each.ranking]
        counted += by_code * (QUARTERS if decided.weights else 1)
        enough = votes and len(votes) >= quorum(len(own))
        winners.append(count_votes(rule, counted, names[::-1]).winner if enough else None)
        trends += [trend(votes, names)] if votes else []
    older, winner = winners[0] if winners[1:] else None, winners[-1] if decided.verdict else None
    if older and older != names[0] and decided.verdict and not decided.verdict.code:
        parted = f"{name(older)} would be put first of the older texts"
    elif winner:
        parted = "" if winner == was.left.name else f"{name(winner)} would be put first"
    elif decided.winner:
        unseen = decided.after and story.settings and not story.settings.judges
        stays = before if unseen else decided.texts[-1].name
        same = stays == was.left.name
        parted = "" if same else f"too few rankings are left: it goes on from {name(stays)}"
    return _Decision(None, False, parted, fmean(trends) if winner else None)


def _follow(
    story: Story,
    steps: Sequence[RecordedPass | RecordedReview],
    reviews: Sequence[Review],
    decisions: Sequence[_Decision],
    k: int,
) -> Recount:
    """Step by step, up to the first from which another text goes on than did."""
    row, trends, settings = 0, list[float](), story.settings
    assert settings is not None
    other: dict[bool, list[int]] = {True: [], False: []}
    """Rounds with one more or one fewer in the row."""

    def ends(sentence: str, until: int, parted: str = "") -> Recount:
        return Recount(sentence, until, parted, tuple(other[True]), tuple(other[False]))

    def is_flat() -> bool:
        enough = settings.review_every and len(trends) >= settings.min_reviews
        return bool(enough) and fmean(trends[-2:]) < settings.min_trend

    for at, ((step, after), found) in enumerate(
        zip(pairwise([*steps, None]), decisions, strict=True), 1
    ):
        assert step is not None
        assert step.decided is not None
        if found.parted:
            where = "the review after round" if isinstance(step, RecordedReview) else "round"
            return ends(
                f"It would have parted from the record in {where} {step.number}: {found.parted}. "
                "What follows is unknown and is not made up.",
                at - 1,
                found.parted,
            )
        if isinstance(step, RecordedReview):
            trends += [] if found.trend is None else [found.trend]
        else:
            if found.winner == "A" and not step.decided.violations:
                row += found.counts
            elif found.winner:
                row = 0
            if step.verdict and found.counts != step.decided.survived:
                other[found.counts].append(at)
        if isinstance(after, RecordedPass) and (row >= k or is_flat()):
            return ends(_stopped(steps, reviews, at), at)
    ended_by = story.delivered.ended_by if story.delivered else None
    if (ended_by == "survivals" and row < k) or (ended_by == "trend" and not is_flat()):
        return ends(
            "The same text, but it would have gone on: what comes next is unknown.", len(steps)
        )
    return ends("Nothing changes: the same text after the same rounds.", len(steps))


def _stopped(
    steps: Sequence[RecordedPass | RecordedReview],
    reviews: Sequence[Review],
    until: int,
) -> str:
    since, over = [0], iter(reviews)
    """The round from which the text comes that stands after each step."""
    for step in steps:
        if isinstance(step, RecordedReview):
            review = next(over)
            # A vote at the end alone would have been on other texts.
            since.append(review.left.since if review.after else since[-1])
        else:
            won = step.decided and step.decided.winner not in (None, "A")
            since.append(step.number if won else since[-1])
    if since[until] == since[-1]:
        fewer = sum(isinstance(each, RecordedPass) for each in steps[until:])
        return f"The same text, {numeral(fewer)} {'round' if fewer == 1 else 'rounds'} earlier."
    where = f"that of round {since[until]}" if since[until] else "the first draft"
    number = count(steps[until - 1].number, "round")
    return f"It would have stopped after {number} with another text: {where}."
