"""Take a fresh snapshot of model prices: `python tools/prices.py`, with `genai-prices` installed.

The package is needed here only; the program reads the snapshot. Left out are prices for sound and
pictures, for batches and for keeping a cache longer than the default. Where a price depends on the
hour of the day, the most expensive is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

from genai_prices import types
from genai_prices.data import providers

TARGET = Path(__file__).parents[1] / "src" / "autoreason" / "models" / "prices.json"
NAMES = {"google": "gemini", "moonshotai": "moonshot", "x-ai": "xai"}
KEPT = (
    "openai",
    "anthropic",
    "google",
    "openrouter",
    "groq",
    "together",
    "mistral",
    "deepseek",
    "x-ai",
    "cerebras",
    "fireworks",
    "moonshotai",
    "zai",
)
RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "read": "cache_read_mtok",
    "write": "cache_write_mtok",
}


def main() -> None:
    """Write the snapshot."""
    today = datetime.now(UTC).date()
    rows_by_provider = {
        NAMES.get(each.id, each.id): list(models(each, today))
        for each in providers
        if each.id in KEPT
    }
    head = {"source": f"genai-prices {version('genai-prices')}", "date": today.isoformat()}
    lines = [json.dumps(head)[:-1] + ', "providers": {']
    for place, (name, found) in enumerate(sorted(rows_by_provider.items())):
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in found)
        lines.append(
            f"{json.dumps(name)}: [\n{rows}\n]" + ("," if place < len(rows_by_provider) - 1 else "")
        )
    TARGET.write_text("\n".join([*lines, "}}", ""]), encoding="utf-8")
    print(
        f"{TARGET.name}: {sum(map(len, rows_by_provider.values()))} models, {TARGET.stat().st_size} bytes"
    )


def models(provider: types.Provider, today: date) -> Iterator[dict[str, Any]]:
    """All of them, in the order in which they are to be tried."""
    for model in provider.models:
        row: dict[str, Any] = matching(model.match)
        if model.context_window:
            row["window"] = model.context_window
        spans = list(in_time(model.prices, today))
        # Without a price it is still listed, else its name could be taken for a later model's.
        if all(priced(prices) for _, prices in spans):
            row["rates"] = [rates(prices, since) for since, prices in spans]
        yield row


def priced(prices: types.ModelPrice) -> bool:
    """Whether both what goes in and what comes out has a price."""
    return prices.input_mtok is not None and prices.output_mtok is not None


def in_time(
    prices: types.ModelPrice | list[types.ConditionalPrice], today: date
) -> Iterator[tuple[date | None, types.ModelPrice]]:
    """The price of today, and those that are announced, each with the day it starts."""
    if isinstance(prices, types.ModelPrice):
        yield None, prices
        return
    hourly = [each for each in prices if isinstance(each.constraint, types.TimeOfDateConstraint)]
    if hourly:
        yield None, max((each.prices for each in hourly), key=lambda each: base(each.output_mtok))
        return
    dated = [(start(each), each) for each in prices]
    valid = [each for since, each in dated if since is None or since <= today]
    yield None, (valid[-1] if valid else prices[0]).prices
    yield from ((since, each.prices) for since, each in dated if since and since > today)


def start(price: types.ConditionalPrice) -> date | None:
    """The day from which a price is valid."""
    limit = price.constraint
    return limit.start_date if isinstance(limit, types.StartDateConstraint) else None


def rates(prices: types.ModelPrice, since: date | None) -> dict[str, Any]:
    """Dollars per million tokens; above a length of prompt, all of it costs more."""
    rates = {name: getattr(prices, field) for name, field in RATES.items()}
    row: dict[str, Any] = {"since": since.isoformat()} if since else {}
    row |= {name: str(base(price)) for name, price in rates.items() if price is not None}
    starts = {
        tier.start
        for price in rates.values()
        if isinstance(price, types.TieredPrices)
        for tier in price.tiers
    }
    if starts:
        row["above"] = [
            {"tokens": start}
            | {name: str(at(price, start)) for name, price in rates.items() if price is not None}
            for start in sorted(starts)
        ]
    return row


def base(price: Any) -> Decimal:
    """What the first token costs."""
    found = price.base if isinstance(price, types.TieredPrices) else price
    assert isinstance(found, Decimal)
    return found


def at(price: Any, start: int) -> Decimal:
    """What a token costs in a prompt longer than `start`."""
    found = base(price)
    for tier in price.tiers if isinstance(price, types.TieredPrices) else ():
        if tier.start <= start:
            found = tier.price
    return found


def matching(clause: Any) -> dict[str, list[str]]:
    """Which names mean the model: any one rule is enough."""
    row: dict[str, list[str]] = {}
    for each in clause.or_ if isinstance(clause, types.ClauseOr) else [clause]:
        kind, text = rule(each)
        row.setdefault(kind, []).append(text)
    return row


def rule(clause: Any) -> tuple[str, str]:
    """One clause as a rule of ours."""
    match clause:
        case types.ClauseEquals(equals):
            return "is", equals.lower()
        case types.ClauseStartsWith(starts_with):
            return "starts", starts_with
        case types.ClauseContains(contains):
            return "has", contains
        case _:
            return "like", pattern(clause)


def pattern(clause: Any) -> str:
    """Rarer clauses as a regular expression that is tried at the start of the name."""
    match clause:
        case types.ClauseRegex(regex):
            return regex if regex.startswith("^") else f".*(?:{regex})"
        case types.ClauseEndsWith(ends_with):
            return f".*{re.escape(ends_with)}$"
        case types.ClauseStartsWith(starts_with):
            return re.escape(starts_with)
        case types.ClauseContains(contains):
            return f".*{re.escape(contains)}"
        case types.ClauseEquals(equals):
            return f"{re.escape(equals)}$"
        case types.ClauseAnd(and_):
            return "".join(f"(?={pattern(each)})" for each in and_)
        case types.ClauseOr(or_):
            return "|".join(f"(?:{pattern(each)})" for each in or_)
    raise TypeError(f"a clause this tool does not know: {clause!r}")


if __name__ == "__main__":
    main()
