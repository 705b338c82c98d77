"""What if: the recorded votes of a run counted again, without a judge or by another rule.

After the first round in which another text would have gone on, nothing is known: no votes on that text were recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from typing import Literal, NamedTuple

from autoreason.events import BallotCast, PassDecided
from autoreason.report.numbers import count
from autoreason.settings import Settings
from autoreason.story import RecordedPass, Story
from autoreason.tournament.rounds import describe_text, is_first_draft, short_name
from autoreason.tournament.voting import count_votes, from_scores, in_tie_order, pass_size
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
    names = ["", *(name for name, _ in judges)]
    recounts: dict[Choice, Recount] = {}
    follow = cache(partial(_follow, story, len(story.trajectory)))
    for without, rule in product(names, RULES):
        for ties, decisions in _decisions(story, settings, without, rule, models).items():
            for k in ks:
                recounts[Choice(without, rule, ties, k)] = follow(tuple(decisions), k)
    return WhatIf(judges, ks, recorded, recounts)


class _Decision(NamedTuple):
    winner: str | None
    counts: bool
    """Whether the text so far, where it stays, has one more in its row."""


def _decisions(
    story: Story, settings: Settings, without: str, rule: str, models: int
) -> dict[TieRule, list[_Decision]]:
    """Round by round who wins, by each rule for ties, up to the first round that another text wins than did."""
    found: dict[TieRule, list[_Decision]] = {ties: [] for ties in TIES}
    going = set(TIES)
    for one in story.passes:
        if one.decided is None or not going:
            break
        decided = _decide(one, one.decided, settings, without, rule, models)
        for ties in going & decided.keys():
            found[ties].append(decided[ties])
        going = {ties for ties in going if _goes_on(decided[ties], one.decided)}
    return found


def _decide(
    one: RecordedPass,
    decided: PassDecided,
    settings: Settings,
    without: str,
    rule: str,
    models: int,
) -> dict[TieRule, _Decision]:
    verdict = decided.verdict
    if verdict is None:
        # No vote decided it, so that no vote can change it.
        return dict.fromkeys(TIES, _Decision(decided.winner, decided.survived))
    size = pass_size(settings, verdict.scores)
    votes = [b for b in one.ballots if not without or judge_of(b, models) != without]
    rankings = [ballot.ranking for ballot in votes if ballot.ranking]
    if len(rankings) < size.quorum(len(votes)):
        return dict.fromkeys(TIES, _Decision(None, counts=False))
    order = in_tie_order(verdict.scores, settings)
    rankings += [ballot.ranking for ballot in verdict.code.values() if ballot.ranking]
    found = count_votes(rule, rankings, order, size.required_lead)
    counts = found.winner == "A" and not decided.violations
    to_challenger = found
    if found.winner == "A" and found.margin <= 0:
        last = [*(name for name in order if name != "A"), "A"]
        to_challenger = from_scores(found.scores, last)
    return {
        "confirms nothing": _Decision(found.winner, counts and found.margin > 0),
        "counts as kept": _Decision(found.winner, counts),
        "goes to the challenger": _Decision(
            to_challenger.winner, counts and to_challenger.winner == "A"
        ),
    }


def _goes_on(found: _Decision, decided: PassDecided) -> bool:
    """Whether the text that goes on is the recorded one; an undecided round leaves the text so far."""
    return (found.winner or "A") == (decided.winner or "A")


def _follow(story: Story, rounds: int, decisions: Sequence[_Decision], k: int) -> Recount:
    row = 0
    more: list[int] = []
    fewer: list[int] = []

    def ends(sentence: str, until: int, parted: str = "") -> Recount:
        return Recount(sentence, until, parted, tuple(more), tuple(fewer))

    for one, found in zip(story.passes, decisions, strict=False):
        assert one.decided is not None
        if not _goes_on(found, one.decided):
            winner = describe_text(found.winner or "A", first=is_first_draft(one, story))
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
            (more if found.counts else fewer).append(one.number)
        if row >= k and one.number < rounds:
            return ends(_stopped(story, one.number, rounds), one.number)
    ended_itself = story.delivered is not None and story.delivered.ended_by == "survivals"
    if row >= k or not ended_itself:
        return ends("Nothing changes: the same text after the same rounds.", rounds)
    return ends("The same text, but it would have gone on: what comes next is unknown.", rounds)


def _stopped(story: Story, number: int, rounds: int) -> str:
    since = [each.since for each in story.incumbents]
    standing = max(each for each in since if each <= number)
    earlier = f"{numeral(rounds - number)} {'round' if rounds - number == 1 else 'rounds'} earlier"
    if standing == since[-1]:
        return f"The same text, {earlier}."
    where = f"that of round {standing}" if standing else "the first draft"
    return f"It would have stopped after {count(number, 'round')} with another text: {where}."
