"""The judges of a run: how far they agree, and whether place or length sways them; each with its interval."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from autoreason.contract import count_words
from autoreason.events import BallotCast
from autoreason.report.charts import Chart, Interval, Verdict, interval_chart
from autoreason.report.numbers import count, listed, percent_interval
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share, group_values
from autoreason.story import RecordedPass, Story
from autoreason.tournament.rounds import short_name
from autoreason.tournament.voting import pass_size

_THREE = 3


class Measure(NamedTuple):
    """Something that is asked of every judge."""

    title: str
    chance: float
    more: str
    less: str


MEASURES = (
    Measure(
        "Prefers the same of two texts as another judge",
        *(1 / 2, "agrees with the others more than chance", "agrees less than chance"),
    ),
    Measure(
        "Puts the text first that it was shown first",
        *(1 / _THREE, "favours the text shown first", "disfavours the text shown first"),
    ),
    Measure(
        "Prefers the longer of two texts",
        *(1 / 2, "prefers longer texts", "prefers shorter texts"),
    ),
)


class JudgeRow(NamedTuple):
    """One model that judged, over all rounds."""

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
            found = [
                each.more if (share.value or 0.0) > each.chance else each.less
                for each, share in zip(MEASURES, row.shares, strict=True)
                if _is_beyond(share, each.chance)
            ]
            said += [f"{row.name} {listed(found)}."] if found else []
        return said

    def charts(self) -> Iterator[Chart]:
        for at, each in enumerate(MEASURES):
            rows = []
            for name, ballots, shares in self.rows:
                label = f"{name}, {count(ballots, 'ranking')}"
                shown: Verdict = "shown" if _is_beyond(shares[at], each.chance) else ""
                rows.append(Interval(label, shares[at], percent_interval(shares[at]), shown))
            yield interval_chart(each.title, rows, middle=each.chance)


def _is_beyond(share: Estimate, chance: float) -> bool:
    """Whether what chance gives is outside the interval."""
    return not ((share.low or 0.0) <= chance <= (1.0 if share.high is None else share.high))


def map_judges(story: Story) -> JudgeMap | None:
    """The judges of the rounds; None where none ranked anything."""
    cast = [(one, ballot) for one in story.passes for ballot in one.ballots if ballot.ranking]
    models = sorted({ballot.model for _, ballot in cast})
    if not models or story.settings is None:
        return None
    # All intervals hold together, so that the one that stands out most may be looked at.
    confidence = 1 - BEYOND_CHANCE / (len(MEASURES) * len(models))
    asked = {id(ballot) for one in story.passes for ballot in _asked_in_any_case(one, story)}
    before = {text: count_words(text) for text in {one.incumbent for one, _ in cast}}
    rows = []
    for model in models:
        own = [(one, ballot) for one, ballot in cast if ballot.model == model]
        values = (_agreements(own, asked), _first_shown(own), _longer(own, before))
        shares = [clustered_share(group_values(each), confidence) for each in values]
        rows.append(JudgeRow(short_name(model), len(own), shares))
    return JudgeMap(rows)


def _asked_in_any_case(one: RecordedPass, story: Story) -> Sequence[BallotCast]:
    """The rankings that did not depend on others: who is asked because a vote is close agrees less than chance."""
    if story.settings is None or one.verdict is None:
        return ()
    names = list(one.verdict.scores)
    wave = pass_size(story.settings, names).first_wave(names, story.settings.voting)
    return [ballot for ballot in one.ballots if ballot.seat < wave]


Cast = Sequence[tuple[RecordedPass, BallotCast]]


def _agreements(own: Cast, asked: set[int]) -> Iterator[tuple[Hashable, float]]:
    for one, ballot in own:
        if id(ballot) not in asked:
            continue
        for other in one.ballots:
            same_model = other.model == ballot.model
            # Two answers of one model are compared once.
            if id(other) not in asked or (same_model and other.seat <= ballot.seat):
                continue
            theirs = set(combinations(other.ranking or (), 2))
            for pair in combinations(ballot.ranking or (), 2):
                if theirs:
                    yield one.number, float(pair in theirs)


def _first_shown(own: Cast) -> Iterator[tuple[Hashable, float]]:
    for at, (_, ballot) in enumerate(own):
        if len(ballot.order) == _THREE and (ranking := ballot.first_ranking):
            yield at, float(ranking[0] == ballot.order[0])


def _longer(own: Cast, before: dict[str, int]) -> Iterator[tuple[Hashable, float]]:
    for at, (one, ballot) in enumerate(own):
        words: dict[str, int] = {slot: each.words for slot, each in one.candidates.items()}
        words["A"] = before[one.incumbent]
        for better, worse in combinations(ballot.ranking or (), 2):
            if words[better] != words[worse]:
                yield at, float(words[better] > words[worse])
