"""What every job is and works with: its context, its parts, its allowance, its randomness."""

from __future__ import annotations

from decimal import Decimal

from autoreason.exchange import Spent
from autoreason.report.numbers import count, duration, money


def count_within(number: int, limit: int | None, noun: str) -> str:
    """`3 calls`, or `3 of 20 calls` against a limit."""
    return count(number, noun) if limit is None else f"{number:,} of {count(limit, noun)}"


def show_tokens(spent: Spent, limit: int | None = None) -> str:
    """Tokens against their limit; where some are not known, what they are at least."""
    if spent.unmetered and not spent.known_tokens:
        return "tokens unknown" if limit is None else f"tokens unknown of {limit:,}"
    least = "at least " if spent.unmetered else ""
    return least + count_within(spent.known_tokens, limit, "token")


def show_cost(spent: Spent, limit: Decimal | None = None) -> str:
    """The cost against its limit; a part that is not known is named."""
    of = f" of {money(limit)}" if limit is not None else ""
    if spent.unpriced and not spent.known_cost:
        return f"cost unknown{of}"
    more = f" and {count(spent.unpriced, 'call')} of unknown price" if spent.unpriced else ""
    return f"{money(spent.known_cost)}{of}{more}"


def spending(spent: Spent, seconds: float | None = None) -> str:
    parts = [count(spent.calls, "call"), show_tokens(spent), show_cost(spent)]
    return ", ".join([*parts, duration(seconds)] if seconds is not None else parts)
