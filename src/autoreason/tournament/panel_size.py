"""How many judges a panel has, and how many it asks next."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from autoreason.events import CodeBallot
from autoreason.settings import Settings
from autoreason.tournament.judges import MAX_REQUESTS_PER_SEAT
from autoreason.tournament.voting import Ranking, next_wave

QUARTERS = 4
"""How often a ballot of weight 1 counts on a panel with weights, so that sums stay whole under every rule."""


@dataclass(frozen=True)
class PanelSize:
    """How many judges a panel has."""

    start: int
    extra: int = 0
    """Judges added at a time while the vote is close; 0 adds none."""
    maximum: int = 0
    close_margin: int = 0
    early_stop: bool = False
    calls: int | None = None
    """Requests all seats may take together, second tries included; None is no limit."""
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
        """The same judges, next to those ballots of code that have a vote."""
        cast = (each.ranking for each in ballots if each.ranking)
        return replace(self, code=tuple(tuple(map(tie_order.index, each)) for each in cast))

    def code_rankings(self, tie_order: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """What code votes, each as often as it counts."""
        cast = tuple(tuple(tie_order[place] for place in each) for each in self.code)
        return cast * self.code_votes

    @property
    def code_votes(self) -> int:
        """How often a ballot of code counts."""
        return QUARTERS if self.weights else 1

    def votes(self, seat: int) -> int:
        """How often the ballot of a seat counts."""
        return self.weights[seat % len(self.weights)] if self.weights else 1

    def requests(self, seat: int) -> int:
        """Requests a seat may take: an equal share, whatever the other seats need, so that a replay repeats it."""
        if self.calls is None:
            return MAX_REQUESTS_PER_SEAT
        share, over = divmod(self.calls, self.limit)
        return min(MAX_REQUESTS_PER_SEAT, share + (seat < over))

    @property
    def limit(self) -> int:
        """The most judges it can have."""
        return max(self.start, self.maximum) if self.extra else self.start

    def wave(
        self, rankings: Sequence[Ranking], tie_order: Sequence[str], rule: str, invalid: int = 0
    ) -> int:
        """Judges to ask next, after these ballots and `invalid` seats; 0 when the panel is complete."""
        code = self.code_rankings(tie_order)
        wave = next_wave(
            [*code, *rankings],
            tie_order,
            rule,
            start=self.start + len(code),
            step=self.extra,
            close_margin=self.close_margin,
            limit=self.limit + len(code),
            required_lead=self.required_lead,
            invalid_seats=invalid,
            early_stop=self.early_stop,
        )
        asked = len(rankings) + invalid
        if not wave and len(rankings) < self.quorum(asked):
            return max(0, self.start - asked)
        return wave

    def quorum(self, asked: int) -> int:
        """Valid ballots without which so many judges decide nothing."""
        return 1 if self.single else quorum(asked)

    def first_wave(self, names: Sequence[str], rule: str) -> int:
        """Judges who are asked in any case: only their votes are a sample that early stopping does not bias."""
        return self.wave((), names, rule)


def pass_size(settings: Settings, texts: Collection[str] = ("A",)) -> PanelSize:
    """The panel of a pass over these texts; only A has a lead to be overcome."""
    return replace(
        whole_size(settings),
        extra=settings.extra_judges,
        maximum=settings.max_judges,
        close_margin=settings.close_margin,
        early_stop=settings.early_stop,
        required_lead=settings.required_lead if "A" in texts else 1,
    )


def whole_size(settings: Settings) -> PanelSize:
    """A panel of as many judges as one starts with, all of whom are asked."""
    judges, ties = settings.judges, settings.ties_survive
    return PanelSize(start=judges, single=judges == 1, ties_survive=ties)


def quorum(judges: int) -> int:
    """A majority of the panel, at least two."""
    return max(2, judges // 2 + 1)
