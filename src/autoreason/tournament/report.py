"""What a run can show for itself: the evidence, folded from its story."""

from __future__ import annotations

from statistics import fmean

from autoreason.contract import count_words
from autoreason.events import (
    BallotCast,
    Delivered,
    Evidence,
    Preference,
    Reigning,
    Status,
    Survival,
)
from autoreason.stats.shares import wilson
from autoreason.story import Story
from autoreason.tournament.evidence import survival_tail


def deliver(story: Story, status: Status, reason: str, text: Reigning) -> Delivered:
    """The end of a run, with its evidence."""
    assert story.task is not None
    return Delivered(
        status=status,
        reason=reason,
        text=text.text,
        origin=text.name,
        words=count_words(text.text),
        violations=story.task.contract.violations(text.text),
        evidence=gather_evidence(story),
    )


def gather_evidence(story: Story) -> Evidence:
    """Every number the end of a run states."""
    decided = [p.decided for p in story.passes if p.decided]
    verdicts = [d.verdict for d in decided if d.verdict]
    if story.playoff and story.playoff.verdict:
        verdicts.append(story.playoff.verdict)
    agreements = [v.agreement for v in verdicts if v.agreement is not None]
    ballots = [b for p in story.passes for b in p.ballots] + story.playoff_ballots
    return Evidence(
        survival=_survival(story),
        agreement=fmean(agreements) if agreements else None,
        preference=_preference(story),
        ballots=sum(b.ranking is not None for b in ballots),
        invalid=sum(b.ranking is None for b in ballots),
        first_places=_first_places(ballots),
        ties=sum(v.tied for v in verdicts),
        inconclusive=sum(d.outcome == "inconclusive" for d in decided),
        unopposed=sum(d.outcome == "unopposed" for d in decided),
        dropped_quotes=sum(c.dropped for p in story.passes for c in p.critiques),
        leaks=sum(bool(c.leaks) for p in story.passes for c in p.candidates.values()),
    )


def _survival(story: Story) -> Survival | None:
    panels = [
        p.decided for p in story.passes if p.decided and p.decided.survival_chance is not None
    ]
    if not panels:
        return None
    chances = [d.survival_chance for d in panels if d.survival_chance is not None]
    survived = sum(d.winner == "A" for d in panels)
    return Survival(
        panels=len(panels),
        survived=survived,
        expected=sum(chances),
        chance=survival_tail(survived, chances),
    )


def _preference(story: Story) -> Preference | None:
    playoff = story.playoff
    if not playoff or playoff.preferred is None or not playoff.verdict:
        return None
    interval = wilson(playoff.preferred, playoff.verdict.ballots)
    if interval is None:
        return None
    return Preference(
        judges=playoff.verdict.ballots, prefer=playoff.preferred, low=interval[0], high=interval[1]
    )


def _first_places(ballots: list[BallotCast]) -> tuple[int, ...]:
    """First places by position over panels of three: equal shares mean that position did not decide."""
    places = [0, 0, 0]
    for ballot in ballots:
        if ballot.ranking and len(ballot.order) == len(places):
            places[ballot.order.index(ballot.ranking[0])] += 1
    return tuple(places)
