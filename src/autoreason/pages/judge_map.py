"""The judges of a run: how far they agree, and whether place or length sways them; each with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from statistics import fmean
from typing import NamedTuple

from autoreason.events import BallotCast
from autoreason.report.charts import Chart, Interval, Verdict, interval_chart
from autoreason.report.numbers import count, listed, percent_interval
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share, group_values
from autoreason.story import DRAFTS, Story
from autoreason.tournament.evidence import all_ballots
from autoreason.tournament.rounds import short_name
from autoreason.tournament.voting import pass_size

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
                shown: Verdict = "shown" if _is_beyond(shares[at]) else ""
                rows.append(Interval(label, shares[at], percent_interval(shares[at]), shown))
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


Cast = Sequence[tuple[Mapping[str, int], BallotCast]]


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


def _first_shown(own: Cast) -> Iterator[tuple[Hashable, float]]:
    for at, (_, ballot) in enumerate(own):
        if ranking := ballot.first_ranking:
            place = ranking.index(ballot.order[0])
            others = (each for each in range(len(ranking)) if each != place)
            yield from ((at, float(each > place)) for each in others)


def _longer(own: Cast) -> Iterator[tuple[Hashable, float]]:
    for at, (words, ballot) in enumerate(own):
        for better, worse in combinations(ballot.ranking or (), 2):
            if words[better] != words[worse]:
                yield at, float(words[better] > words[worse])
