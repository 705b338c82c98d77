"""The evidence of a run, and what chance alone gives: margins, survivals and streaks if judges rank at random."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, combinations, combinations_with_replacement, permutations
from itertools import count as count_from
from math import comb, factorial, prod
from statistics import fmean
from typing import NamedTuple

from autoreason.contract import count_words
from autoreason.events import BallotCast, Evidence, Preference, Survival
from autoreason.stats import BEYOND_CHANCE, Estimate
from autoreason.stats.shares import clustered_share, exact_share, longer_preferred
from autoreason.story import DRAFTS, Story
from autoreason.tournament.voting import PanelSize, count_votes, is_additive

Scores = tuple[int, ...]
"""Scores of a panel in ascending order, whichever candidate they belong to."""
CastBallots = tuple[tuple[str, ...], ...]
_NAMES = tuple(map(str, range(100)))
_SAMPLED_BALLOTS = 10_000
"""Ballots drawn where following every course of a panel would take too long."""
_WEIGHTED_PANELS = 2_000


def chance_of_margin(
    judges: int | PanelSize,
    margin: int,
    candidates: int = 3,
    rule: str = "borda",
    invalid: tuple[int, ...] = (),
) -> float:
    """How often the top score leads the next by `margin` or more if judges rank at random.

    Exact, but for panels too large to count: there it is estimated from the same random panels every time.
    A `PanelSize` is a panel that may stop early or grow. It differs from a panel of as many judges as it happened
    to ask, because it stops where the vote is clear; its ballots count as the weights of their seats say. Next to a
    metric's ballot, chance is that of judges who rank at random while that ballot stays as it is. `invalid` are its
    seats without a valid ballot.
    """
    ends = _ends(judges, candidates, rule, invalid)
    if isinstance(ends, int):
        counts = _margins(ends, candidates, rule)
        as_much, total = sum(counts[margin:]), sum(counts)
        return _estimated(as_much / total, _SAMPLE if total == _SAMPLE else 0)
    return _estimated(sum(ends.margins[margin:]) if margin else 1.0, ends.sampled)


def chance_of_win(judges: int, candidates: int, rule: str) -> float:
    chances = (chance_of_margin(judges, margin, candidates, rule) for margin in count_from(1))
    return next(chance for chance in chances if chance <= BEYOND_CHANCE)


class SurvivalChances(NamedTuple):
    """How a panel ends for a fixed incumbent if judges rank at random."""

    survival: float
    tie: float
    """It stays without a lead, and that counts neither way."""


def survival_chances(
    judges: int | PanelSize, candidates: int = 3, rule: str = "borda", invalid: tuple[int, ...] = ()
) -> SurvivalChances:
    """How often a fixed incumbent survives, and how often it stays without a lead, if judges rank at random."""
    size = PanelSize(judges) if isinstance(judges, int) else judges
    ends = _ends(size, candidates, rule, invalid)
    if isinstance(ends, int):
        panels = _random_panels(ends, candidates, rule).items()
        # Any candidate may be the incumbent, so it is among those who stay in their share of cases.
        total = candidates * sum(count for _, count in panels)
        leads = sum(count for scores, count in panels if scores[-1] > scores[-2]) / total
        near = [(s[-1] - score < size.required_lead) * count for s, count in panels for score in s]
        stays = sum(near) / total
    else:
        leads, stays = ends.leads, ends.stays
    tie = 0.0 if size.ties_survive else stays - leads
    return SurvivalChances(stays - tie, tie)


def _estimated(chance: float, sampled: int) -> float:
    """Never zero from a sample: the observed panel counts as one more."""
    return min(1.0, (chance * sampled + 1) / (sampled + 1) if sampled else chance)


class _Ends(NamedTuple):
    """How panels that stop early or grow end, if their judges rank at random."""

    margins: tuple[float, ...]
    """The chance of each margin, from 0 on."""
    stays: float
    leads: float
    """Its chance to stay with a lead."""
    sampled: int
    """Panels in the sample these are estimated from; 0 where they are exact."""


@cache
def _ends(
    judges: int | PanelSize, candidates: int, rule: str, invalid: tuple[int, ...]
) -> _Ends | int:
    """The ends of a panel whose size depends on votes, next to code or with weights; of another just its ballots."""
    if isinstance(judges, int):
        return judges
    may_vary = judges.early_stop and not judges.single
    if not (may_vary or judges.code or judges.weights):
        return judges.judges - len(invalid)
    size, names = judges, _NAMES[:candidates]
    if size.weights:
        weighted = _weighted_panels(size, names, invalid, _WEIGHTED_PANELS)
        return _gather(weighted, size, rule, names, _WEIGHTED_PANELS)
    if candidates <= 3 and size.judges <= (12 if is_additive(rule) else 7):
        return _gather(_waves(size, names, rule, invalid), size, rule, names)
    sampled = _SAMPLED_BALLOTS // size.judges
    return _gather(_sampled_waves(size, names, rule, invalid, sampled), size, rule, names, sampled)


def _gather(
    panels: Iterable[tuple[float, CastBallots]],
    size: PanelSize,
    rule: str,
    names: tuple[str, ...],
    sampled: int = 0,
) -> _Ends:
    margins: defaultdict[int, float] = defaultdict(float)
    stays = leads = 0.0
    for chance, cast in panels:
        # Where every seat is invalid no candidate leads.
        votes = size.code_rankings(names) + cast
        result = count_votes(rule, votes, names, size.required_lead) if cast else None
        *_, second, best = sorted(result.scores.values()) if result else (0, 0)
        margins[best - second] += chance
        if result is None or result.winner == names[0]:
            stays += chance
            leads += chance if result and result.margin > 0 else 0.0
    by_margin = tuple(margins[margin] for margin in range(max(margins) + 1))
    return _Ends(by_margin, stays, leads, sampled)


def _waves(
    size: PanelSize, names: tuple[str, ...], rule: str, invalid: tuple[int, ...]
) -> Iterator[tuple[float, CastBallots]]:
    """Every way such a panel can end, with its chance; each stands for all that are alike to the rule."""
    sitting: dict[tuple[Hashable, int], tuple[float, CastBallots]] = {((), 0): (1.0, ())}
    ballots = [(vote,) for vote in permutations(names)]
    for seat in range(size.judges + 1):
        further: dict[tuple[Hashable, int], tuple[float, CastBallots]] = {}
        for (_, due), (chance, cast) in sitting.items():
            due = due or size.wave(cast, names, rule, seat - len(cast))
            if not due:
                yield chance, cast
                continue
            votes: Sequence[CastBallots] = [()] if seat in invalid else ballots
            for vote in votes:
                then = cast + vote
                state = _state(then, rule, names), due - 1
                before = further[state][0] if state in further else 0.0
                further[state] = before + chance / len(votes), then
        sitting = further


def _sampled_waves(
    size: PanelSize, names: tuple[str, ...], rule: str, invalid: tuple[int, ...], panels: int
) -> Iterator[tuple[float, CastBallots]]:
    """The same from a sample, which is the same every time."""
    rng = random.Random(0)
    for _ in range(panels):
        cast: list[tuple[str, ...]] = []
        seat = 0
        while due := size.wave(cast, names, rule, seat - len(cast)):
            seats = range(seat, seat + due)
            cast += [tuple(rng.sample(names, len(names))) for each in seats if each not in invalid]
            seat += due
        yield 1 / panels, tuple(cast)


def _weighted_panels(
    size: PanelSize, names: tuple[str, ...], invalid: tuple[int, ...], panels: int
) -> Iterator[tuple[float, CastBallots]]:
    """Panels of a fixed size whose ballots count as their seats do, from a sample."""
    rng = random.Random(0)
    times = [size.votes(seat) for seat in range(size.judges) if seat not in invalid]
    for _ in range(panels):
        drawn = ((tuple(rng.sample(names, len(names))),) * each for each in times)
        yield 1 / panels, tuple(chain.from_iterable(drawn))


def _state(cast: CastBallots, rule: str, names: tuple[str, ...]) -> Hashable:
    """What of some ballots the rule and the further course of the panel depend on."""
    if is_additive(rule):
        return tuple(count_votes(rule, cast, names).scores.values()) if cast else ()
    return tuple(sorted(cast))


def chance_of_streak(k: int, chances: Sequence[SurvivalChances]) -> float:
    """How likely k survivals in a row are within passes that have these chances; ties neither count nor end a row.

    A count of survivals would not do: a run that stops at its k-th in a row ends with them by design.
    """
    so_far = [1.0] + [0.0] * (k - 1)
    """By length of the current streak; streaks that have reached k are taken out."""
    for survival, tie in chances:
        lost = (1 - survival - tie) * sum(so_far)
        grown = (survival * each for each in so_far[:-1])
        so_far = [new + tie * old for new, old in zip((lost, *grown), so_far, strict=True)]
    return max(0.0, 1 - sum(so_far))


@cache
def _margins(judges: int, candidates: int, rule: str) -> tuple[int, ...]:
    """How many of all possible panels end with which margin, from 0 on."""
    margins: defaultdict[int, int] = defaultdict(int)
    for scores, times in _random_panels(judges, candidates, rule).items():
        margins[scores[-1] - scores[-2]] += times
    return tuple(margins[margin] for margin in range(max(margins) + 1))


_COUNTABLE = 220_000
_SAMPLE = 20_000


def _random_panels(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    """How many of all possible panels end in which scores."""
    if is_additive(rule):
        # About the number of scores a panel can end in, times the ways to give out one judge's points.
        if judges ** (candidates - 1) * 2**candidates <= _COUNTABLE:
            return _all_panels(judges, candidates, rule)
    elif comb(judges + factorial(candidates) - 1, judges) <= _COUNTABLE:
        return _all_elections(judges, candidates, rule)
    return _sampled_panels(judges, candidates, rule)


@cache
def _all_panels(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    names = _NAMES[:candidates]
    points = tuple(count_votes(rule, [names], names).scores.values())
    panels: Mapping[Scores, int] = {tuple(sorted(points)): factorial(candidates)}
    for _ in range(judges - 1):
        panels = _one_judge_more(panels, points)
    return panels


def _one_judge_more(panels: Mapping[Scores, int], ballot: Scores) -> Mapping[Scores, int]:
    """Every way to add a ballot: the best's points go to someone, then the second's, and so on."""
    partly: dict[tuple[Scores, Scores], int] = {(scores, ()): n for scores, n in panels.items()}
    for points in ballot:
        further: defaultdict[tuple[Scores, Scores], int] = defaultdict(int)
        for (waiting, served), count in partly.items():
            for at, score in enumerate(waiting):
                # Candidates with equal scores are interchangeable.
                if at and score == waiting[at - 1]:
                    continue
                slot = bisect(served, score + points)
                now_served = (*served[:slot], score + points, *served[slot:])
                still_waiting = waiting[:at] + waiting[at + 1 :]
                further[still_waiting, now_served] += count * waiting.count(score)
        partly = further
    return {served: count for (_, served), count in partly.items()}


@cache
def _all_elections(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    """Every multiset of ballots, under a rule that is more than a sum of points."""
    ballots = list(permutations(range(candidates)))
    panels: defaultdict[Scores, int] = defaultdict(int)
    for cast in combinations_with_replacement(ballots, judges):
        same = prod(factorial(times) for times in Counter(cast).values())
        panels[_scores(cast, rule)] += factorial(judges) // same
    return panels


@cache
def _sampled_panels(judges: int, candidates: int, rule: str) -> Mapping[Scores, int]:
    rng = random.Random(0)
    panels: defaultdict[Scores, int] = defaultdict(int)
    # Ballots are drawn once and reused: drawing each anew takes many times as long.
    ballots = [tuple(rng.sample(range(1, candidates + 1), candidates)) for _ in range(_SAMPLE)]
    for _ in range(_SAMPLE):
        cast = rng.choices(ballots, k=judges)
        if rule == "borda":
            panels[tuple(sorted(map(sum, zip(*cast, strict=True))))] += 1
        else:
            panels[_scores(cast, rule)] += 1
    return panels


def _scores(cast: Sequence[tuple[int, ...]], rule: str) -> Scores:
    rankings = [tuple(map(str, ballot)) for ballot in cast]
    return tuple(sorted(count_votes(rule, rankings, sorted(rankings[0])).scores.values()))


def standings(rankings: Sequence[Sequence[str]]) -> dict[str, Estimate]:
    """How often each text is put before another; the intervals are simultaneous, so that of the best is valid too."""
    found, rivals = dict[str, Estimate](), len(rankings[0]) - 1
    for name in rankings[0]:
        # A ballot sets a text against each of its rivals, and is one answer.
        tries = [[1 - each.index(name) / rivals] * rivals for each in rankings]
        found[name] = clustered_share(tries, 1 - BEYOND_CHANCE / (rivals + 1), "ballot")
    return found


def gather_evidence(story: Story, delivered: str) -> Evidence:
    """The evidence for the text of this name; judges who chose the first draft are none for it."""
    decided = [p.decided for p in story.passes if p.decided]
    verdicts = [d.verdict for d in decided if d.verdict]
    chose = (story.panels.get(DRAFTS), *(each.decided for each in story.reviews))
    verdicts += [each.verdict for each in chose if each and each.verdict]
    agreements = [v.agreement for v in verdicts if v.agreement is not None]
    ballots = [b for p in story.passes for b in p.ballots] + story.review_ballots
    ballots += [ballot for panel in story.panels.values() for ballot in panel.ballots]
    preference = None
    if (confirmed := story.confirmation) and delivered != story.incumbents[0].name:
        judges, prefer = confirmed
        share = exact_share(prefer, judges)
        assert share.low is not None
        assert share.high is not None
        preference = Preference(judges=judges, prefer=prefer, low=share.low, high=share.high)
    # By position, over panels of three: equal shares mean that position did not decide.
    places = [0, 0, 0]
    for ballot in ballots:
        if ballot.ranking and len(ballot.order) == len(places):
            places[ballot.order.index(ballot.ranking[0])] += 1
    return Evidence(
        survival=_survival(story),
        agreement=fmean(agreements) if agreements else None,
        preference=preference,
        ballots=sum(b.ranking is not None for b in ballots),
        invalid=sum(b.ranking is None for b in ballots),
        first_places=tuple(places),
        ties=sum(v.tied for v in verdicts),
        inconclusive=sum(d.outcome == "inconclusive" for d in decided),
        unopposed=sum(d.outcome == "unopposed" for d in decided),
        dropped_quotes=sum(c.dropped for p in story.passes for c in p.critiques),
        miscited=sum(c.miscited for p in story.passes for c in p.critiques),
        leaks=sum(bool(c.leaks) for p in story.passes for c in p.candidates.values()),
    )


def all_ballots(story: Story) -> list[tuple[Mapping[str, int], BallotCast]]:
    """Every ballot of a run, with how many words the texts have that it names."""
    named: dict[str, int] = {f"draft {each.number}": each.words for each in story.drafts}
    ranked = [each for review in story.reviews if review.decided for each in review.decided.texts]
    named |= {each.name: count_words(each.text) for each in (*story.incumbents, *ranked)}
    cast: list[tuple[Mapping[str, int], BallotCast]] = [
        (named, each) for review in story.reviews if review.decided for each in review.ballots
    ]
    cast += [(named, each) for panel in story.panels.values() for each in panel.ballots]
    for one in story.passes:
        slots: dict[str, int] = {name: each.words for name, each in one.candidates.items()}
        slots["A"] = count_words(one.incumbent)
        cast += [(slots, each) for each in one.ballots]
    return cast


def longer_preferred_in(story: Story) -> Estimate:
    """How often the judges of a run preferred the longer of two texts, over all its ballots."""
    return longer_preferred(
        (at, 1.0, words[better] - words[worse])
        for at, (words, ballot) in enumerate(all_ballots(story))
        for better, worse in combinations(ballot.ranking or (), 2)
    )


def _survival(story: Story) -> Survival | None:
    decided = [p.decided for p in story.passes if p.decided]
    panels = [d for d in decided if d.survival_chance is not None]
    if not panels:
        return None
    ruled = [d for d in decided if d.winner]
    # How likely survivals were if judges rank at random; without a panel chance had no part in one.
    sure = [float(d.survived) if d.survival_chance is None else d.survival_chance for d in ruled]
    chances = [*map(SurvivalChances, sure, (d.tie_chance for d in ruled))]
    assert story.settings is not None
    return Survival(
        panels=len(panels),
        survived=sum(d.survived for d in panels),
        expected=sum(d.survival_chance or 0.0 for d in panels),
        required_streak=story.settings.k,
        chance=chance_of_streak(story.settings.k, chances),
    )
