"""What if: the recorded votes of a run counted again, without a judge or by another rule.

After the first round in which another text would have gone on, nothing is known: no votes on that text were recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from typing import Literal, NamedTuple

from autoreason.events import BallotCast
from autoreason.report.numbers import count
from autoreason.story import RecordedPass, Story
from autoreason.tournament.rounds import describe_text, is_first_draft, short_name
from autoreason.tournament.voting import (
    PanelSize,
    count_votes,
    from_scores,
    in_tie_order,
    pass_size,
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
    """The last round that is as recorded; the one after it parted or was never run."""
    parted: str = ""
    """What would have won the round in which it parts from the record; empty where it does not."""
    more: tuple[int, ...] = ()
    """Rounds in which the text stays as recorded and has one more in its row than it had."""
    fewer: tuple[int, ...] = ()
    """The same with one fewer."""


class WhatIf(NamedTuple):
    """Every choice there is, and what it comes to."""

    judges: Sequence[tuple[str, int]]
    """Those who can be left out, with how many rankings they gave."""
    ks: Sequence[int]
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
    """Every choice counted; None where no round was decided by a vote."""
    settings = story.settings
    judged = [one for one in story.passes if one.decided and one.decided.verdict and one.ballots]
    if settings is None or not judged:
        return None
    models = len({ballot.model for one in judged for ballot in one.ballots})
    asked = Counter(judge_of(b, models) for one in judged for b in one.ballots if b.ranking)
    judges = sorted(asked.items())[:12]
    ks = sorted({*range(1, _MOST_K + 1), settings.k})
    recorded = Choice("", settings.voting, TIES[settings.ties_survive], settings.k)
    rounds = [one for one in story.passes if one.decided]
    votes = [[(judge_of(each, models), each.ranking) for each in one.ballots] for one in rounds]
    texts = [one.verdict.scores if one.verdict else {} for one in rounds]
    panels = [(pass_size(settings, each), in_tie_order(each, settings)) for each in texts]
    follow = cache(partial(_follow, story, len(rounds)))
    recounts: dict[Choice, Recount] = {}

    @cache
    def decide(at: int, rule: str, cast: int, *rankings: tuple[str, ...]) -> tuple[_Decision, ...]:
        return _decide(rounds[at], *panels[at], rule, cast, rankings)

    for without, rule in product(["", *(name for name, _ in judges)], RULES):
        decisions = []
        for at, cast in enumerate(votes):
            left = [ranking for judge, ranking in cast if judge != without]
            # In order, so that it makes no difference which of two equal votes is left out.
            decisions.append(decide(at, rule, len(left), *sorted(filter(None, left))))
        for ties, found in zip(TIES, zip(*decisions, strict=True), strict=True):
            for k in ks:
                recounts[Choice(without, rule, ties, k)] = follow(found, k)
    return WhatIf(judges, ks, recorded, recounts)


class _Decision(NamedTuple):
    winner: str | None
    counts: bool
    """Whether the text so far, where it stays, has one more in its row."""


def _decide(
    one: RecordedPass,
    size: PanelSize,
    order: Sequence[str],
    rule: str,
    cast: int,
    votes: Sequence[tuple[str, ...]],
) -> tuple[_Decision, ...]:
    """Who wins a round, by each rule for ties."""
    decided = one.decided
    assert decided is not None
    if decided.verdict is None:
        # No vote decided it, so that no vote can change it.
        return (_Decision(decided.winner, decided.survived),) * len(TIES)
    if len(votes) < size.quorum(cast):
        return (_Decision(None, counts=False),) * len(TIES)
    code = (ballot.ranking for ballot in decided.verdict.code.values())
    found = count_votes(rule, [*votes, *filter(None, code)], order, size.required_lead)
    counts = found.winner == "A" and not decided.violations
    challenger = found.winner
    if found.winner == "A" and found.margin <= 0:
        last = [*(name for name in order if name != "A"), "A"]
        challenger = from_scores(found.scores, last).winner
    return (
        _Decision(found.winner, counts and found.margin > 0),
        _Decision(found.winner, counts),
        _Decision(challenger, counts and challenger == "A"),
    )


def _follow(story: Story, rounds: int, decisions: Sequence[_Decision], k: int) -> Recount:
    """Round by round, up to the first that another text wins than did."""
    row = 0
    other: dict[bool, list[int]] = {True: [], False: []}
    """Rounds with one more or one fewer in the row."""

    def ends(sentence: str, until: int, parted: str = "") -> Recount:
        return Recount(sentence, until, parted, tuple(other[True]), tuple(other[False]))

    for one, found in zip(story.passes, decisions, strict=False):
        assert one.decided is not None
        # An undecided round leaves the text so far.
        if (found.winner or "A") != (one.decided.winner or "A"):
            first = is_first_draft(one, story)
            winner = describe_text(found.winner or "A", first=first, one=one)
            parted = f"{winner} would have stayed" if not found.winner else f"{winner} would win"
            return ends(
                f"It would have parted from the record in round {one.number}: {parted}. "
                "What follows is unknown and is not made up.",
                one.number - 1,
                winner,
            )
        if found.winner == "A" and not one.decided.violations:
            row += found.counts
        elif found.winner:
            row = 0
        if found.counts != one.decided.survived:
            other[found.counts].append(one.number)
        if row >= k and one.number < rounds:
            return ends(_stopped(story, one.number, rounds), one.number)
    ended_itself = story.delivered is not None and story.delivered.ended_by == "survivals"
    if row >= k or not ended_itself:
        return ends("Nothing changes: the same text after the same rounds.", rounds)
    return ends("The same text, but it would have gone on: what comes next is unknown.", rounds)


def _stopped(story: Story, number: int, rounds: int) -> str:
    since = [each.since for each in story.incumbents]
    standing = max(each for each in since if each <= number)
    if standing == since[-1]:
        fewer = rounds - number
        return f"The same text, {numeral(fewer)} {'round' if fewer == 1 else 'rounds'} earlier."
    where = f"that of round {standing}" if standing else "the first draft"
    return f"It would have stopped after {count(number, 'round')} with another text: {where}."
