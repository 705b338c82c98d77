"""How many judges a panel has, and whom it asks next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoreason.settings import Settings
from autoreason.tournament.judging import MOST_ASKED
from autoreason.tournament.voting import Ranking, next_wave


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
        """Judges to ask next, after these ballots and `lost` seats without one; 0 when the panel is complete."""
        wave = next_wave(
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
        asked = len(rankings) + lost
        if not wave and len(rankings) < quorum(asked):
            return max(0, self.start - asked)
        return wave

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


def quorum(judges: int) -> int:
    """A majority of the panel, at least two."""
    return max(2, judges // 2 + 1)
