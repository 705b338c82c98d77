"""The result of a run, for the caller."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from autoreason.events import Evidence, Status
from autoreason.exchange import Spent
from autoreason.story import Story


@dataclass(frozen=True)
class Result:
    """The result of a run when it has ended or paused."""

    run: str
    status: Status
    reason: str
    text: str | None
    """Delivered, or the incumbent when the run paused; None where there is no first draft."""
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


class StopSwitch:
    """Lets the process that drives a run ask it to stop: no new calls, replies on their way are still taken in."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        """Stop at the next call."""
        self.stopped = True
