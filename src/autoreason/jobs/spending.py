"""What was spent, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreason.report.numbers import count, duration, money

if TYPE_CHECKING:
    from decimal import Decimal

    from autoreason.exchange import Spent


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
    """Calls, tokens, money and time in one line."""
    parts = [count(spent.calls, "call"), tokens(spent), cost(spent)]
    return ", ".join([*parts, duration(seconds)] if seconds is not None else parts)
