"""What a strategy may spend beside its rivals: asked between passes, so that the answer depends on replies alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from autoreason.errors import InvalidInput
from autoreason.exchange import Reply, Spent

Unit = Literal["calls", "tokens", "cost"]


class Allowance:
    """A limit that another pass may not overstep; nothing paid for is thrown away for it."""

    def __init__(self, unit: Unit, amount: Decimal | None = None) -> None:
        self.unit = unit
        self.amount = amount
        """None is no limit: only what is spent is counted."""
        self.total = Spent()
        self._begun = Decimal(0)
        self._dearest = Decimal(0)

    def take(self, reply: Reply) -> None:
        """Count one reply."""
        self.total = self.total.plus(reply)

    @property
    def spent(self) -> Decimal:
        """In the unit that is matched."""
        if self.unit == "cost" and self.total.cost is None:
            raise InvalidInput(
                "budgets cannot be matched by cost where a price is not known; match calls or tokens"
            )
        if self.unit == "tokens" and self.total.unmetered:
            raise InvalidInput(
                "budgets cannot be matched by tokens where a provider does not count them; match calls"
            )
        return Decimal(getattr(self.total, self.unit) or 0)

    @property
    def left(self) -> Decimal | None:
        """What may still be spent; None where there is no limit."""
        return None if self.amount is None else self.amount - self.spent

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.amount is not None

    def begin_pass(self) -> None:
        """What is spent from here on belongs to one pass."""
        self._begun = self.spent

    def end_pass(self) -> None:
        """Remember the dearest pass."""
        self._dearest = max(self._dearest, self.spent - self._begun)

    def fits(self, calls: int) -> bool:
        """Whether so many calls more fit."""
        return self.amount is None or self.spent + calls * self._a_call() <= self.amount

    def fits_another(self, calls: int = 1, calls_after: int = 0) -> bool:
        """Whether another pass fits, and with it the calls that come after the last one.

        It is taken to be as dear as the dearest so far, or the first to take so many `calls`.
        """
        if self.amount is None:
            return True
        a_call = self._a_call()
        needed = (self._dearest or calls * a_call) + calls_after * a_call
        return self.spent < self.amount and self.spent + needed <= self.amount

    def _a_call(self) -> Decimal:
        """What a call takes, on average so far."""
        if self.unit == "calls":
            return Decimal(1)
        return self.spent / self.total.calls if self.total.calls else Decimal(0)
