"""The recorded votes of a run: what they say of its judges, and what if they were counted another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations, permutations, product
from statistics import fmean
from typing import Literal, NamedTuple

from autoreason.events import BallotCast, PassDecided, ReviewDecided
from autoreason.report.charts import Chart, ChartRow, ChartVerdict, interval_chart
from autoreason.report.numbers import count, listed, percent_interval
from autoreason.settings import Settings
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share, group_values
from autoreason.story import DRAFTS, RecordedPass, RecordedReview, Story
from autoreason.tournament.evidence import all_ballots
from autoreason.tournament.rounds import Chapter, short_name, tell
from autoreason.tournament.strategy import ends_by_review
from autoreason.tournament.voting import (
    QUARTERS,
    count_votes,
    from_scores,
    in_tie_order,
    pass_size,
    quorum,
)
from autoreason.wording import numeral

# ---- how far judges agree, and whether place or length sways them; each with its interval --------

MEASURES = (
    (
        "Prefers the same of two texts as another judge",
        ("agrees with the others more than chance", "agrees less than chance"),
    ),
    (
        "Prefers the text that it was shown first to another",
        ("favours the text shown first", "disfavours the text shown first"),
    ),
    ("Prefers the longer of two texts", ("prefers longer texts", "prefers shorter texts")),
)
"""What is asked of every judge, and what it is called to be above or below the half that chance gives."""


class JudgeRow(NamedTuple):
    """One model that judged."""

    name: str
    ballots: int
    shares: Sequence[Estimate]
    """One for each measure."""


class JudgeMap(NamedTuple):
    rows: Sequence[JudgeRow]

    @property
    def findings(self) -> Sequence[str]:
        """What is beyond chance, in sentences; all together are wrong in one run of twenty at most."""
        said = []
        for row in self.rows:
            asked = zip(MEASURES, row.shares, strict=True)
            found = [e[(own.value or 0.0) < 0.5] for (_, e), own in asked if _is_beyond(own)]
            said += [f"{row.name} {listed(found)}."] if found else []
        return said

    def charts(self) -> Iterator[Chart]:
        for at, (title, _) in enumerate(MEASURES):
            rows = []
            for name, ballots, shares in self.rows:
                label = f"{name}, {count(ballots, 'ranking')}"
                shown: ChartVerdict = "shown" if _is_beyond(shares[at]) else ""
                rows.append(ChartRow(label, shares[at], percent_interval(shares[at]), shown))
            if any(row.found.value is not None for row in rows):
                yield interval_chart(title, rows, middle_label="chance")


def _is_beyond(share: Estimate) -> bool:
    """Whether what chance gives is outside the interval."""
    return not ((share.low or 0.0) <= 0.5 <= (1.0 if share.high is None else share.high))


def map_judges(story: Story) -> JudgeMap | None:
    """The judges, over all panels of a run; None where none ranked anything."""
    cast = [(words, ballot) for words, ballot in all_ballots(story) if ballot.ranking]
    models = sorted({ballot.model for _, ballot in cast})
    if not models or story.settings is None:
        return None
    # All intervals hold together, so that the one that stands out most may be looked at.
    confidence = 1 - BEYOND_CHANCE / (len(MEASURES) * len(models))
    panels = [*_asked_in_any_case(story)]
    rows = []
    for model in models:
        own = [(words, ballot) for words, ballot in cast if ballot.model == model]
        values = group_values(_first_shown(own)), group_values(_longer(own))
        shares = [clustered_share(each, confidence) for each in (_agreed(model, panels), *values)]
        rows.append(JudgeRow(short_name(model), len(own), shares))
    return JudgeMap(rows)


def _asked_in_any_case(story: Story) -> Iterator[Sequence[BallotCast]]:
    """Of each panel of the evidence: who is asked because a vote is close agrees less than chance."""
    assert story.settings is not None
    for one in story.passes:
        if names := list(one.verdict.scores if one.verdict else ()):
            wave = pass_size(story.settings, names).first_wave(names, story.settings.voting)
            yield one.ballots[:wave]
    for review in story.reviews:
        if review.decided and review.decided.verdict:
            yield review.last_stage
    if (drafts := story.panels.get(DRAFTS)) and drafts.verdict:
        yield drafts.ballots


JudgeBallots = Sequence[tuple[Mapping[str, int], BallotCast]]


def _agreed(model: str, panels: Sequence[Sequence[BallotCast]]) -> Sequence[Sequence[float]]:
    """How often a judge puts two texts in the same order as another, by panel; every panel counts the same."""
    found: list[list[float]] = []
    for panel in panels:
        ranked = [(each, set(combinations(each.ranking, 2))) for each in panel if each.ranking]
        found.append([])
        for (ballot, mine), (other, theirs) in permutations(ranked, 2):
            # Two answers of one model are compared once.
            if ballot.model == model and (other.model != model or other.seat > ballot.seat):
                found[-1] += (float(pair in theirs) for pair in mine)
    least = min(map(len, filter(None, found)), default=0)
    return [[fmean(values)] * least for values in found if values]


def _first_shown(own: JudgeBallots) -> Iterator[tuple[Hashable, float]]:
    for at, (_, ballot) in enumerate(own):
        if ranking := ballot.first_ranking:
            place = ranking.index(ballot.order[0])
            others = (each for each in range(len(ranking)) if each != place)
            yield from ((at, float(each > place)) for each in others)


def _longer(own: JudgeBallots) -> Iterator[tuple[Hashable, float]]:
    for at, (words, ballot) in enumerate(own):
        for better, worse in combinations(ballot.ranking or (), 2):
            if words[better] != words[worse]:
                yield at, float(words[better] > words[worse])


# ---- what if: counted again, without a judge or by another rule ----------------------------------
# After the first round or review from which another text would have gone on, nothing is known: no votes on that text
# were recorded.

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


class CountingRule(NamedTuple):
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
    recorded: CountingRule
    recounts: dict[CountingRule, Recount]
    """In the order of judges, rules, ties and rows."""


def judge_of(ballot: BallotCast, models: int) -> str:
    """Who gave a ranking: its model, or which seat where all judges are of one model."""
    return short_name(ballot.model) if models > 1 else f"judge {ballot.seat + 1}"


def recount_all(story: Story) -> WhatIf | None:
    """Every choice counted; None where no round and no review was decided by a vote."""
    settings = story.settings
    steps = [each for each in tell(story) if each.left]
    judged = [each.step for each in steps if each.step.verdict and each.step.ballots]
    if settings is None or not judged or story.is_sampling:
        return None
    models = len({ballot.model for each in judged for ballot in each.ballots})
    asked = Counter(judge_of(b, models) for each in judged for b in each.ballots if b.ranking)
    judges = sorted(asked.items())[:12]
    recorded = CountingRule("", settings.voting, TIES[settings.ties_survive], settings.k)
    contests = any(isinstance(each, RecordedPass) for each in judged)
    ks = sorted({*range(1, _MOST_K + 1), settings.k}) if contests else [settings.k]
    ties = TIES if contests else (recorded.ties,)
    follow = cache(partial(_follow, story, steps))
    recounts: dict[CountingRule, Recount] = {}

    @cache
    def decide(at: int, rule: str, tie: TieRule, *left: _Vote) -> _Decision:
        chapter = steps[at]
        if not chapter.is_review:
            return _decide(chapter, settings, rule, tie, left)
        reviewed = [each.left for each in steps[:at] if each.is_review]
        before = [story.incumbents[0], *filter(None, reviewed)][-1].name
        return _decide_review(chapter, before, settings, rule, left)

    for without in ["", *(name for name, _ in judges)]:
        cast = []
        for each in (chapter.step for chapter in steps):
            left = (b for b in each.ballots if judge_of(b, models) != without)
            # In order, so that it makes no difference which of two equal votes is left out.
            cast.append(sorted(_vote(b, each, settings) for b in left))
        for rule, tie in product(RULES, ties):
            decisions = tuple(decide(at, rule, tie, *votes) for at, votes in enumerate(cast))
            for k in ks:
                recounts[CountingRule(without, rule, tie, k)] = follow(decisions, k)
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
    counts: bool
    """Whether the text so far, where it stays, has one more in its row."""
    parted: str = ""
    """What would have happened instead, where another text goes on than did."""


def _decide(
    chapter: Chapter, settings: Settings, rule: str, tie: TieRule, cast: Sequence[_Vote]
) -> _Decision:
    """Who wins a round."""
    one, decided = chapter.step, chapter.step.decided
    assert isinstance(one, RecordedPass)
    assert isinstance(decided, PassDecided)
    if decided.verdict is None:
        # No vote decided it, so that no vote can change it.
        grew = decided.survived and all(each.reason != "longer" for each in one.dropped)
        return _Decision(decided.winner, grew)
    size = pass_size(settings, decided.verdict.scores)
    votes, winner, leads = [each.ranking for each in cast if each.ranking], None, True
    if len(votes) >= size.quorum(len(cast)):
        order = in_tie_order(decided.verdict.scores, settings)
        code = (ballot.ranking for ballot in decided.verdict.code.values())
        found = count_votes(rule, [*votes, *filter(None, code)], order, size.required_lead)
        winner = found.winner
        if winner == "A" and found.margin <= 0:
            leads = tie != "confirms nothing"
            if tie == "goes to the challenger":
                last = [*(name for name in order if name != "A"), "A"]
                winner = from_scores(found.scores, last).winner
    parted = ""
    # An undecided round leaves the text so far.
    if (winner or "A") != (decided.winner or "A"):
        parted = f"{chapter.describe(winner or 'A')} would {'win' if winner else 'have stayed'}"
    return _Decision(winner, winner == "A" and leads and not decided.violations, parted)


def _decide_review(
    chapter: Chapter, before: str, settings: Settings, rule: str, cast: Sequence[_Vote]
) -> _Decision:
    """Whether the run goes on from the same text as it did; `before` is the one that the review before left."""
    review, decided = chapter.step, chapter.step.decided
    assert isinstance(review, RecordedReview)
    assert isinstance(decided, ReviewDecided)
    left = chapter.left.name if chapter.left else ""
    winners, parted = list[str | None](), ""
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
    older, winner = winners[0] if winners[1:] else None, winners[-1] if decided.verdict else None
    if older and older != names[0] and decided.verdict and not decided.verdict.code:
        parted = f"{chapter.describe(older)} would be put first of the older texts"
    elif winner and winner != left:
        parted = f"{chapter.describe(winner)} would be put first"
    elif decided.winner and not winner:
        stays = before if decided.after and not settings.judges else decided.texts[-1].name
        if stays != left:
            parted = f"too few rankings are left: it goes on from {chapter.describe(stays)}"
    return _Decision(winner, False, parted)


def _follow(
    story: Story, steps: Sequence[Chapter], decisions: Sequence[_Decision], k: int
) -> Recount:
    """Step by step, up to the first from which another text goes on than did."""
    row, winners, settings = 0, list[str | None](), story.settings
    assert settings is not None
    other: dict[bool, list[int]] = {True: [], False: []}
    """Rounds with one more or one fewer in the row."""

    def ends(sentence: str, until: int, parted: str = "") -> Recount:
        return Recount(sentence, until, parted, tuple(other[True]), tuple(other[False]))

    for at, (chapter, found) in enumerate(zip(steps, decisions, strict=True), 1):
        if found.parted:
            where = f"the {chapter.name}" if chapter.is_review else chapter.name
            said = f"It would have parted from the record in {where}: {found.parted}. "
            return ends(f"{said}What follows is unknown and is not made up.", at - 1, found.parted)
        if isinstance(step := chapter.step, RecordedPass):
            assert step.decided is not None
            # A review may have gone back to another text.
            row *= at == 1 or not steps[at - 2].back
            if found.winner == "A" and not step.decided.violations:
                row += found.counts
            elif found.winner:
                row = 0
            if step.verdict and found.counts != step.decided.survived:
                other[found.counts].append(at)
        else:
            winners.append(found.winner)
        is_followed = at < len(steps) and not steps[at].is_review
        is_read = chapter.is_review and step.verdict
        if is_followed and (row >= k or (is_read and ends_by_review(winners, settings))):
            return ends(_stopped(steps, at), at)
    said = "Nothing changes: the same text after the same rounds."
    is_over = {"survivals": row >= k, "review": ends_by_review(winners, settings)}
    if story.delivered and not is_over.get(story.delivered.ended_by, True):
        said = "The same text, but it would have gone on: what comes next is unknown."
    return ends(said, len(steps))


def _stopped(steps: Sequence[Chapter], until: int) -> str:
    # A vote at the end alone would have been on other texts.
    lasting = [each for each in steps if getattr(each.step.decided, "after", 1)]
    since = [each.left.since for each in lasting if each.left]
    """The round from which the text comes that stands after each step."""
    if since[until - 1] == since[-1]:
        fewer = sum(not each.is_review for each in steps[until:])
        return f"The same text, {numeral(fewer)} {'round' if fewer == 1 else 'rounds'} earlier."
    where = f"that of round {since[until - 1]}" if since[until - 1] else "the first draft"
    number = count(steps[until - 1].number, "round")
    return f"It would have stopped after {number} with another text: {where}."
