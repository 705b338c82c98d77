"""A panel: seats filled in waves, no more than the outcome needs, and what they decided together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autoreason.events import BallotCast, Verdict
from autoreason.settings import Settings
from autoreason.stats.ranks import agreement
from autoreason.tournament.chance import draw
from autoreason.tournament.evidence import chance_of_margin
from autoreason.tournament.judging import MOST_ASKED, take_seat
from autoreason.tournament.orders import balanced_orders, random_orders
from autoreason.tournament.venue import Venue
from autoreason.tournament.voting import RULES, Ranking, next_wave

T = TypeVar("T")


@dataclass(frozen=True)
class Size:
    """How many judges a panel has."""

    start: int
    more: int = 0
    most: int = 0
    close: int = 0
    spare: bool = False
    calls: int | None = None
    """Requests all seats may take together, second tries included; None is no limit."""

    def requests(self, seat: int) -> int:
        """Requests a seat may take: an equal share, whatever the other seats need, so that a record repeats."""
        if self.calls is None:
            return MOST_ASKED
        share, over = divmod(self.calls, self.limit)
        return min(MOST_ASKED, share + (seat < over))

    @property
    def limit(self) -> int:
        """The most judges it can come to."""
        return max(self.start, self.most) if self.more else self.start

    def wave(
        self, rankings: Sequence[Ranking], tie_order: Sequence[str], rule: str, lost: int = 0
    ) -> int:
        """Judges to ask next, after these ballots and `lost` seats without one."""
        return next_wave(
            rankings,
            tie_order,
            rule,
            start=self.start,
            step=self.more,
            close=self.close,
            limit=self.limit,
            seats_lost=lost,
            spare=self.spare,
        )

    def first_wave(self, names: Sequence[str], rule: str) -> int:
        """Judges who are asked whatever the others say: only their votes are a sample that stopping left alone."""
        return self.wave((), names, rule)


def pass_size(settings: Settings) -> Size:
    """The panel of a pass."""
    return Size(
        start=settings.judges,
        more=settings.more_judges,
        most=settings.most_judges,
        close=settings.close,
        spare=settings.spare_judges,
    )


@dataclass
class Panel:
    """Judges over texts; `texts` in the order in which ties are decided."""

    venue: Venue
    stage: str
    texts: Mapping[str, str]
    size: Size
    ballots: list[BallotCast] = field(default_factory=list)

    @property
    def rankings(self) -> list[tuple[str, ...]]:
        """The valid ballots."""
        return [ballot.ranking for ballot in self.ballots if ballot.ranking]

    async def hold(self) -> Verdict | None:
        """The verdict, or None where too few ballots are valid to speak of one."""
        orders = self._orders()
        while wave := self._wave():
            seats = range(len(self.ballots), len(self.ballots) + wave)
            voting = [
                take_seat(
                    self.venue,
                    self.stage,
                    seat,
                    orders[seat],
                    self.texts,
                    most=self.size.requests(seat),
                )
                for seat in seats
            ]
            async for ballot in in_order(voting):
                self.ballots.append(ballot)
                self.venue.tell(ballot)
        return self._verdict() if len(self.rankings) >= quorum(len(self.ballots)) else None

    def _orders(self) -> tuple[tuple[str, ...], ...]:
        spread = balanced_orders if self.venue.settings.balanced else random_orders
        seed = draw(self.venue.settings.seed, f"{self.stage}/orders").getrandbits(64)
        # Sorted first, so that the schedule cannot depend on who is the incumbent.
        return spread(sorted(self.texts), self.size.limit, seed)

    def _wave(self) -> int:
        """Judges to ask now: what the outcome needs, or else what a quorum does."""
        lost = len(self.ballots) - len(self.rankings)
        rule = self.venue.settings.voting
        wave = self.size.wave(self.rankings, tuple(self.texts), rule, lost)
        if not wave and len(self.rankings) < quorum(len(self.ballots)):
            wave = max(0, self.size.start - len(self.ballots))
        return wave

    def _verdict(self) -> Verdict:
        rule = self.venue.settings.voting
        tally = RULES[rule](self.rankings, tuple(self.texts))
        return Verdict(
            winner=tally.winner,
            scores=tally.scores,
            margin=tally.margin,
            chance=chance_of_margin(len(self.rankings), tally.margin, len(self.texts), rule),
            tied=tally.tied,
            ballots=len(self.rankings),
            invalid=len(self.ballots) - len(self.rankings),
            agreement=agreement(self.rankings),
        )


def quorum(judges: int) -> int:
    """A majority of the panel, at least two."""
    return max(2, judges // 2 + 1)


async def in_order(work: list[Coroutine[Any, Any, T]]) -> AsyncIterator[T]:
    """Results in the order of the work, as soon as those before are in; all of it ends before a failure is raised.

    Calls beside the one that failed are paid for, so they are waited for and recorded.
    """
    tasks = [asyncio.ensure_future(item) for item in work]
    failure: Exception | None = None
    try:
        for task in tasks:
            try:
                result = await task
            except Exception as raised:
                failure = failure or raised
            else:
                if not failure:
                    yield result
        if failure:
            raise failure
    finally:
        for task in tasks:
            task.cancel()
