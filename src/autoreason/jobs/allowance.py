"""What a job may spend, and what it has spent."""

from __future__ import annotations

from decimal import Decimal

from autoreason.errors import InvalidInput
from autoreason.exchange import Reply, Spent
from autoreason.report.numbers import count, duration, money
from autoreason.settings import Unit


def amount_spent(spent: Spent, unit: Unit) -> Decimal:
    """What was spent in the unit that is matched; refused where it is not known."""
    if unit == "cost" and spent.cost is None:
        raise InvalidInput(
            "budgets cannot be matched by cost where a price is not known; match calls or tokens"
        )
    if unit == "tokens" and spent.unmetered:
        raise InvalidInput(
            "budgets cannot be matched by tokens where a provider does not count them; match calls"
        )
    return Decimal(getattr(spent, unit) or 0)


class Allowance:
    """A limit that the next pass must not exceed; a pass that was started is finished."""

    def __init__(self, unit: Unit, amount: Decimal | None = None) -> None:
        self.unit = unit
        self.amount = amount
        """None is no limit: only what is spent is counted."""
        self.total = Spent()
        self._pass_start = Decimal(0)
        self._max_pass = Decimal(0)

    def take(self, reply: Reply) -> None:
        """Count one reply."""
        self.total = self.total.plus(reply)

    @property
    def spent(self) -> Decimal:
        """In the unit that is matched."""
        return amount_spent(self.total, self.unit)

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
        self._pass_start = self.spent

    def end_pass(self) -> None:
        """Remember the most expensive pass."""
        self._max_pass = max(self._max_pass, self.spent - self._pass_start)

    def fits(self, calls: int) -> bool:
        """Whether so many more calls fit."""
        return self.amount is None or self.spent + calls * self._per_call() <= self.amount

    def fits_another(self, calls: int = 1, calls_after: int = 0) -> bool:
        """Whether another pass fits, and with it the calls that come after the last one.

        It is assumed to be as expensive as the most expensive so far; the first to take so many `calls`.
        """
        if self.amount is None:
            return True
        per_call = self._per_call()
        needed = (self._max_pass or calls * per_call) + calls_after * per_call
        return self.spent < self.amount and self.spent + needed <= self.amount

    def _per_call(self) -> Decimal:
        """What a call takes, on average."""
        if self.unit == "calls":
            return Decimal(1)
        return self.spent / self.total.calls if self.total.calls else Decimal(0)


def count_within(number: int, limit: int | None, noun: str) -> str:
    """`3 calls`, or `3 of 20 calls` against a limit."""
    return count(number, noun) if limit is None else f"{number:,} of {count(limit, noun)}"


def tokens(spent: Spent, limit: int | None = None) -> str:
    """Tokens against their limit; where some are not known, what they are at least."""
    if spent.unmetered and not spent.known_tokens:
        return "tokens unknown" if limit is None else f"tokens unknown of {limit:,}"
    least = "at least " if spent.unmetered else ""
    return least + count_within(spent.known_tokens, limit, "token")


def cost(spent: Spent, limit: Decimal | None = None) -> str:
    """The cost against its limit; a part that is not known is named."""
    of = f" of {money(limit)}" if limit is not None else ""
    if spent.unpriced and not spent.known_cost:
        return f"cost unknown{of}"
    more = f" and {count(spent.unpriced, 'call')} of unknown price" if spent.unpriced else ""
    return f"{money(spent.known_cost)}{of}{more}"


def spending(spent: Spent, seconds: float | None = None) -> str:
    parts = [count(spent.calls, "call"), tokens(spent), cost(spent)]
    return ", ".join([*parts, duration(seconds)] if seconds is not None else parts)
