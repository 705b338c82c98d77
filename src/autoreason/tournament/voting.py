"""How ballots become a winner, how many judges a panel has, and whom it asks next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple, TypeVar

from autoreason.events import CodeBallot, Slot
from autoreason.settings import Settings

Ranking = Sequence[str]


class VoteResult(NamedTuple):
    winner: str
    scores: dict[str, int]
    margin: int
    """The winner's score less the best other's; 0 where there is no other, negative where a lead was too small."""
    tied: bool
    """The best other candidate has the winner's score."""


def count_votes(
    rule: str, rankings: Sequence[Ranking], tie_order: Sequence[str], required_lead: int = 1
) -> VoteResult:
    """The result by a rule, by its name; others need so many points more than the first in the tie order."""
    if not rankings:
        raise ValueError("an empty panel has no winner: there is not one ranking to count")
    _check(rankings, tie_order)
    return from_scores(_SCORING[rule].score(rankings, tie_order), tie_order, required_lead)


def from_scores(
    scores: Mapping[str, int], tie_order: Sequence[str], required_lead: int = 1
) -> VoteResult:
    """The highest score wins; among equals, and where none leads it by enough, the first in `tie_order`."""
    winner = max(tie_order, key=_with_lead(scores, tie_order, required_lead).__getitem__)
    others = [scores[name] for name in tie_order if name != winner]
    margin = scores[winner] - max(others) if others else 0
    in_order = {name: scores[name] for name in tie_order}
    return VoteResult(winner, in_order, margin, tied=bool(others) and margin == 0)


def _with_lead(
    scores: Mapping[str, int], tie_order: Sequence[str], required_lead: int
) -> Mapping[str, int]:
    """The scores by which candidates compare: the first in the tie order is given what others need beyond a point."""
    return {**scores, tie_order[0]: scores[tie_order[0]] + required_lead - 1}


def trend(rankings: Sequence[Ranking], names: Sequence[str]) -> float:
    """How far rankings follow `names`: 1 where a later one always comes first, 0 without order, -1 never."""
    last = len(names) - 1
    ages = {name: 2 * place / last - 1 for place, name in enumerate(names)}
    followed = sum(
        ages[name] * (1 - 2 * place / last)
        for ranking in rankings
        for place, name in enumerate(ranking)
    )
    # Rounded, so that no last digit decides whether it reaches a limit.
    return round(followed / (len(rankings) * sum(age * age for age in ages.values())), 9)


def max_lead(rule: str, candidates: int, judges: int) -> int:
    """The most by which a candidate can lead another: where all judges put it first and that one last."""
    first, *others = names = [str(number) for number in range(candidates)]
    scores = _SCORING[rule].score([(*others, first)] * judges, names)
    return max(scores.values()) - scores[first]


def is_additive(rule: str) -> bool:
    return _SCORING[rule].is_additive


@lru_cache(maxsize=4096)
def next_wave(
    rankings: tuple[Ranking, ...],
    tie_order: tuple[str, ...],
    rule: str,
    *,
    judges: int,
    required_lead: int = 1,
    invalid_seats: int = 0,
    early_stop: bool = True,
) -> int:
    """How many further judges of a panel to ask now, side by side; 0 when it is complete.

    With `early_stop`, a judge whose vote can no longer change the outcome is not asked: the wave is the smallest that
    could settle it; what others need beyond one point, `required_lead`, counts for the incumbent, `tie_order[0]`.
    `invalid_seats` counts the judges who gave no valid ballot. The same panels come up repeatedly, and computing a
    wave takes a while, so waves are cached.
    """
    _check(rankings, tie_order)
    left = judges - len(rankings) - invalid_seats
    if left <= 0 or not early_stop:
        return max(left, 0)
    goal = _Goal(tie_order, required_lead, left * _SCORING[rule].reach(len(tie_order)))
    return min(_wave_for(name, goal, rankings, rule, left) for name in tie_order)


class _Goal(NamedTuple):
    """A lead that no further judge can reverse."""

    tie_order: Sequence[str]
    required_lead: int
    max_loss: int
    """The most by which further judges could shorten it."""

    def slack(self, leader: str, rival: str, scores: Mapping[str, int]) -> int:
        """Points to spare over the lead that `leader` needs; negative where it falls short."""
        needed = int(self.tie_order.index(rival) < self.tie_order.index(leader))
        if leader == self.tie_order[0]:
            # It is to stay ahead without what is required of others: a tie confirms nothing.
            needed = self.required_lead
        return scores[leader] - scores[rival] - self.max_loss - needed

    def reached_by(self, leader: str, scores: Mapping[str, int]) -> bool:
        rivals = (name for name in self.tie_order if name != leader)
        return all(self.slack(leader, rival, scores) >= 0 for rival in rivals)

    def best_vote_for(self, leader: str, scores: Mapping[str, int]) -> Ranking:
        """The ballot that helps `leader` most: the closest rival goes last."""
        rivals = [name for name in self.tie_order if name != leader]
        rivals.sort(key=lambda rival: self.slack(leader, rival, scores), reverse=True)
        return (leader, *rivals)


def _wave_for(
    leader: str, goal: _Goal, rankings: Sequence[Ranking], rule: str, max_wave: int
) -> int:
    """How many judges it takes for `leader` to reach the goal, if they vote for it; at most `max_wave`."""
    scoring = _SCORING[rule]
    votes = list(rankings)
    scores = scoring.safe_scores(votes, goal.tie_order, leader, goal.required_lead)
    for wave in range(max_wave):
        if goal.reached_by(leader, scores):
            return wave
        vote = goal.best_vote_for(leader, scores)
        goal = goal._replace(max_loss=goal.max_loss - scoring.reach(len(goal.tie_order)))
        if scoring.is_additive:
            points = scoring.score((vote,), goal.tie_order)
            scores = {name: score + points[name] for name, score in scores.items()}
        else:
            votes.append(vote)
            scores = scoring.safe_scores(votes, goal.tie_order, leader, goal.required_lead)
    return max_wave


def _points_by_place(rankings: Sequence[Ranking], names: Sequence[str]) -> dict[str, int]:
    """Borda: n points for the best of n, down to 1 for the last."""
    scores = dict.fromkeys(names, 0)
    for ranking in rankings:
        for place, name in enumerate(ranking):
            scores[name] += len(names) - place
    return scores


def _first_places(rankings: Sequence[Ranking], names: Sequence[str]) -> dict[str, int]:
    """Majority: a point for every first place."""
    scores = dict.fromkeys(names, 0)
    for ranking in rankings:
        scores[ranking[0]] += 1
    return scores


def _duels(rankings: Sequence[Ranking], names: Sequence[str]) -> dict[str, int]:
    """Copeland: two points for every rival that most judges put lower, one where they are split."""
    scores = dict.fromkeys(names, 0)
    places = [{name: place for place, name in enumerate(ranking)} for ranking in rankings]
    for one, other in combinations(names, 2):
        preferring = sum(place[one] < place[other] for place in places)
        balance = 2 * preferring - len(places)
        scores[one] += 1 + (balance > 0) - (balance < 0)
        scores[other] += 1 + (balance < 0) - (balance > 0)
    return scores


def _runoff(rankings: Sequence[Ranking], names: Sequence[str]) -> dict[str, int]:
    """Instant runoff: the first places of a text in the last round that it is in.

    Each round leaves out the texts with the fewest first places, all of them where several have equally few, so that
    no name counts; it ends where one is left, or where all that are left have as many.
    """
    scores, left = dict.fromkeys(names, 0), set(names)
    while left:
        firsts = Counter(next(name for name in each if name in left) for each in rankings)
        scores |= {name: firsts[name] for name in left}
        fewest = min(firsts[name] for name in left)
        left = {name for name in left if firsts[name] > fewest}
        if len(left) == 1:
            break
    return scores


def _against_all(
    rankings: Sequence[Ranking], names: Sequence[str], leader: str, required_lead: int
) -> Mapping[str, int]:
    """First places of a text and, for each other, those of all others together, however they are passed on.

    With half of them a text is in the last round, where no other has more than the other half. Below that it may be
    left out before, so that what is required of others does not help it.
    """
    own = _first_places(rankings, names)[leader]
    scores = dict.fromkeys(names, len(rankings) - own) | {leader: own}
    return scores if leader == names[0] else _with_lead(scores, names, required_lead)


_Score = Callable[[Sequence[Ranking], Sequence[str]], dict[str, int]]
_Bound = Callable[[Sequence[Ranking], Sequence[str], str, int], Mapping[str, int]]


class _Scoring(NamedTuple):
    score: _Score
    reach: Callable[[int], int]
    """The most by which one judge can move two of n candidates against each other."""
    is_additive: bool
    """Whether a panel's scores are the sum of what each judge gives."""
    bound: _Bound | None = None
    """Scores by which a text is surely ahead, where the rule's own do not say it."""

    def safe_scores(
        self, rankings: Sequence[Ranking], names: Sequence[str], leader: str, required_lead: int
    ) -> Mapping[str, int]:
        """Scores whose difference one judge changes by no more than the reach."""
        if self.bound:
            return self.bound(rankings, names, leader, required_lead)
        return _with_lead(self.score(rankings, names), names, required_lead)


_SCORING: Mapping[str, _Scoring] = {
    "borda": _Scoring(_points_by_place, lambda n: n - 1, is_additive=True),
    "majority": _Scoring(_first_places, lambda _: 1, is_additive=True),
    # One vote moves a duel by at most a point for either side, and each has n - 1 of them.
    "copeland": _Scoring(_duels, lambda n: 2 * (n - 1), is_additive=False),
    "instant_runoff": _Scoring(_runoff, lambda _: 1, is_additive=False, bound=_against_all),
}
BUILT_IN = tuple(_SCORING)


def _check(rankings: Sequence[Ranking], tie_order: Sequence[str]) -> None:
    candidates = sorted(tie_order)
    if not candidates or len(set(candidates)) < len(candidates):
        raise ValueError(f"candidates must be named once each, not {tie_order}")
    for ranking in rankings:
        if sorted(ranking) != candidates:
            raise ValueError(f"a ballot must rank {tie_order} once each, not {ranking}")


JUDGES_PER_SEAT = 2
MAX_REQUESTS_PER_SEAT = 2 * JUDGES_PER_SEAT
"""Requests a seat takes at most: every judge is asked once more if necessary."""
QUARTERS = 4
"""How often a ballot of weight 1 counts on a panel with weights, so that sums stay whole under every rule."""


@dataclass(frozen=True)
class PanelSize:
    """How many judges a panel has."""

    judges: int
    early_stop: bool = False
    calls: int | None = None
    """Requests all seats may take together, second tries included; None is unlimited."""
    code: tuple[tuple[int, ...], ...] = ()
    """Ballots of seats that code fills, known before any judge is asked: places in the tie order, best first."""
    weights: tuple[int, ...] = ()
    """How often each seat's ballot counts, seats by turns, in quarters; empty where all count once."""
    required_lead: int = 1
    """Points by which others must lead the first in the tie order."""
    ties_survive: bool = False
    """Whether the first in the tie order survives where it stays without a lead."""
    single: bool = False
    """Whether one judge was asked for by name, so that one ballot decides."""

    def with_code(self, ballots: Iterable[CodeBallot], tie_order: Sequence[str]) -> PanelSize:
        cast = (each.ranking for each in ballots if each.ranking)
        return replace(self, code=tuple(tuple(map(tie_order.index, each)) for each in cast))

    def code_rankings(self, tie_order: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        cast = tuple(tuple(tie_order[place] for place in each) for each in self.code)
        return cast * self.code_votes

    @property
    def code_votes(self) -> int:
        return QUARTERS if self.weights else 1

    def votes(self, seat: int) -> int:
        return self.weights[seat % len(self.weights)] if self.weights else 1

    def requests(self, seat: int) -> int:
        """Requests a seat may take: an equal share, whatever the other seats need, so that a replay repeats it."""
        if self.calls is None:
            return MAX_REQUESTS_PER_SEAT
        share, over = divmod(self.calls, self.judges)
        return min(MAX_REQUESTS_PER_SEAT, share + (seat < over))

    def wave(
        self, rankings: Sequence[Ranking], tie_order: Sequence[str], rule: str, invalid: int = 0
    ) -> int:
        """Judges to ask next, after these ballots and `invalid` seats; 0 when the panel is complete."""
        code = self.code_rankings(tie_order)
        wave = next_wave(
            (*code, *map(tuple, rankings)),
            tuple(tie_order),
            rule,
            judges=self.judges + len(code),
            required_lead=self.required_lead,
            invalid_seats=invalid,
            early_stop=self.early_stop,
        )
        asked = len(rankings) + invalid
        if not wave and len(rankings) < self.quorum(asked):
            return max(0, self.judges - asked)
        return wave

    def quorum(self, asked: int) -> int:
        """Valid ballots without which so many judges decide nothing."""
        return 1 if self.single else quorum(asked)

    def first_wave(self, names: Sequence[str], rule: str) -> int:
        """Judges who are asked in any case: only their votes are a sample that early stopping does not bias."""
        return self.wave((), names, rule)


def pass_size(settings: Settings, texts: Collection[str] = ("A",)) -> PanelSize:
    """The panel of a pass over these texts; only A has a lead to be overcome."""
    return PanelSize(
        settings.judges,
        single=settings.judges == 1,
        early_stop=settings.early_stop,
        ties_survive=settings.ties_survive,
        required_lead=settings.required_lead if "A" in texts else 1,
    )


def quorum(judges: int) -> int:
    """A majority of the panel, at least two."""
    return max(2, judges // 2 + 1)


S = TypeVar("S", bound=str)

SLOT_NAMES: dict[str, str] = {
    "A": "A, the text before",
    "AB": "AB, a synthesis",
    "B": "B, a revision",
    "B1": "B1, a revision by the first model",
    "B2": "B2, a revision by the second model",
    "B3": "B3, a revision by the third model",
}
"""What each is, in the order in which readers are shown them."""
_ONE: tuple[Slot, ...] = ("B",)
_SEVERAL: tuple[Slot, ...] = ("B1", "B2", "B3")


def revisers_by_slot(settings: Settings, number: int = 1) -> dict[Slot, str]:
    """Who writes which revision in a pass; one, by turns, where revisions are not judged."""
    models = settings.models.revisers or (settings.models.author,)
    slots = zip(_SEVERAL if len(models) > 1 else _ONE, models, strict=False)
    if settings.judges and judges_revisions(settings):
        return dict(slots)
    return dict([[*slots][turn(number, len(models))]])


def turn(number: int, revisers: int) -> int:
    """Whose revision is joined with A in a pass."""
    return (number - 1) % revisers


def ballot_size(settings: Settings) -> int:
    """How many candidates a pass has, A included."""
    revisions = len(revisers_by_slot(settings)) if judges_revisions(settings) else 0
    return 1 + revisions + writes_synthesis(settings)


def judges_revisions(settings: Settings) -> bool:
    return settings.candidates != "AB"


def writes_synthesis(settings: Settings) -> bool:
    return settings.candidates != "B"


def is_revision(slot: str) -> bool:
    return slot.startswith("B")


def in_tie_order(slots: Iterable[S], settings: Settings) -> list[S]:
    """Slots in the order in which ties are decided; several revisions are where B is, by number."""
    order = settings.tie_order
    return sorted(slots, key=lambda slot: (order.index("B" if is_revision(slot) else slot), slot))
