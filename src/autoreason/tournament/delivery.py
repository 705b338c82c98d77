"""The end of a run: what is delivered, and the evidence for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from statistics import fmean

from autoreason.contract import Violation, count_words
from autoreason.events import (
    BallotCast,
    Delivered,
    Evidence,
    Incumbent,
    Preference,
    Status,
    Survival,
)
from autoreason.stats.results import Estimate
from autoreason.stats.shares import exact_share, longer_preferred
from autoreason.story import CONFIRMATION, DRAFTS, Story
from autoreason.tournament.evidence import SurvivalChances, chance_of_streak


def deliver(
    story: Story, status: Status, reason: str, text: Incumbent, broken: tuple[Violation, ...]
) -> Delivered:
    """The end of a run, with its evidence."""
    return Delivered(
        status=status,
        reason=reason,
        text=text.text,
        origin=text.name,
        words=count_words(text.text),
        violations=broken,
        evidence=gather_evidence(story),
    )


def gather_evidence(story: Story) -> Evidence:
    """Every number the end of a run states."""
    decided = [p.decided for p in story.passes if p.decided]
    verdicts = [d.verdict for d in decided if d.verdict]
    if story.playoff and story.playoff.verdict:
        verdicts.append(story.playoff.verdict)
    others = [story.panels[stage] for stage in (DRAFTS, CONFIRMATION) if stage in story.panels]
    among_drafts = story.panels.get(DRAFTS)
    if among_drafts and among_drafts.verdict:
        verdicts.append(among_drafts.verdict)
    agreements = [v.agreement for v in verdicts if v.agreement is not None]
    ballots = [b for p in story.passes for b in p.ballots] + story.playoff_ballots
    ballots += [ballot for panel in others for ballot in panel.ballots]
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
        miscited=sum(c.miscited for p in story.passes for c in p.critiques),
        leaks=sum(bool(c.leaks) for p in story.passes for c in p.candidates.values()),
    )


def longer_preferred_in(story: Story) -> Estimate:
    """How often the judges of a run preferred the longer of two texts, over all its ballots."""
    named: dict[str, int] = {f"draft {each.number}": each.words for each in story.drafts}
    named |= {each.name: count_words(each.text) for each in story.incumbents}
    cast = [(named, each) for each in story.playoff_ballots]
    cast += [(named, each) for panel in story.panels.values() for each in panel.ballots]
    for one in story.passes:
        slots: dict[str, int] = {name: each.words for name, each in one.candidates.items()}
        slots["A"] = count_words(one.incumbent)
        cast += [(slots, each) for each in one.ballots]
    pairs = [
        (words[better] - words[worse], at)
        for at, (words, ballot) in enumerate(cast)
        for better, worse in combinations(ballot.ranking or (), 2)
    ]
    longer_by, ballots = zip(*pairs, strict=True) if pairs else ((), ())
    return longer_preferred([1.0] * len(pairs), longer_by, clusters=ballots)


def _survival(story: Story) -> Survival | None:
    panels = [
        p.decided for p in story.passes if p.decided and p.decided.survival_chance is not None
    ]
    if not panels:
        return None
    chances = [d.survival_chance for d in panels if d.survival_chance is not None]
    assert story.settings is not None
    return Survival(
        panels=len(panels),
        survived=sum(d.survived for d in panels),
        expected=sum(chances),
        required_streak=story.settings.k,
        chance=chance_of_streak(story.settings.k, list(_chances(story))),
    )


def _chances(story: Story) -> Iterator[SurvivalChances]:
    """How likely a survival was in each pass that decided something, if judges rank at random."""
    for each in story.passes:
        if each.decided and each.decided.winner:
            chance = each.decided.survival_chance
            # Without a panel chance had no part in it.
            sure = float(each.decided.survived)
            yield SurvivalChances(sure if chance is None else chance, each.decided.tie_chance)


def _preference(story: Story) -> Preference | None:
    confirmation = story.confirmation
    if confirmation is None:
        return None
    share = exact_share(confirmation.prefer, confirmation.judges)
    assert share.low is not None
    assert share.high is not None
    return Preference(
        judges=confirmation.judges, prefer=confirmation.prefer, low=share.low, high=share.high
    )


def _first_places(ballots: list[BallotCast]) -> tuple[int, ...]:
    """First places by position over panels of three: equal shares mean that position did not decide."""
    places = [0, 0, 0]
    for ballot in ballots:
        if ballot.ranking and len(ballot.order) == len(places):
            places[ballot.order.index(ballot.ranking[0])] += 1
    return tuple(places)
