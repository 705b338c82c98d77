"""What a run came to, for whoever started it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from autoreason.events import Evidence, Status
from autoreason.exchange import Spent
from autoreason.story import Story


@dataclass(frozen=True)
class Result:
    """How a run stands when control comes back."""

    run: str
    status: Status
    reason: str
    text: str | None
    """Delivered, or standing when the run paused; None where not even a first draft came."""
    origin: str
    """Where the text came from: `draft`, or the pass it won."""
    passes: int
    spent: Spent
    seed: int
    evidence: Evidence | None
    story: Story

    @property
    def calls(self) -> int:
        """Calls that were answered."""
        return self.spent.calls

    @property
    def tokens(self) -> int | None:
        """Read and written; None where a provider did not say."""
        return self.spent.tokens

    @property
    def cost(self) -> Decimal | None:
        """US dollars; None where a price is not known."""
        return self.spent.cost


class Switch:
    """Lets the process that drives a run ask it to stop: no new calls, replies on their way are still taken in."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        """Stop at the next call."""
        self.stopped = True
