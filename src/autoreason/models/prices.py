"""What models cost, from a snapshot that is part of the package (written by `tools/prices.py`)."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from autoreason.exchange import Usage

_FREE = frozenset({"local", "echo", "scripted", "ollama", "vllm", "lmstudio", "llamacpp"})
SAME_PRICES = {"openai-responses": "openai"}
_MILLION = Decimal(1_000_000)
_BATCH = Decimal("0.5")
"""What a request in a batch costs of the price of one that is asked at once, cached or not."""


class Rates(Struct, frozen=True):
    """What a model's tokens cost: US dollars per million."""

    input: Decimal
    output: Decimal


class _Rates(Struct, frozen=True):
    """What all tokens of a call cost, where its prompt is longer than `tokens`."""

    input: Decimal
    output: Decimal
    read: Decimal | None = None
    """Read from a cache; None means like any input."""
    write: Decimal | None = None
    """Read and put into a cache; None means like any input."""
    tokens: int = -1
    since: date | None = None
    above: tuple[_Rates, ...] = ()

    def at(self, input_tokens: int) -> _Rates:
        """The rates for a prompt of this length."""
        longer = [each for each in self.above if input_tokens > each.tokens]
        return longer[-1] if longer else self

    def cost(self, usage: Usage) -> Decimal | None:
        """The price of a call, or None if the provider did not report its usage."""
        if usage.input is None or usage.output is None:
            return None
        rate = self.at(usage.input)
        read, written = usage.cache_read or 0, usage.cache_write or 0
        fresh = max(0, usage.input - read - written)
        total = fresh * rate.input + usage.output * rate.output
        total += read * (rate.input if rate.read is None else rate.read)
        total += written * (rate.input if rate.write is None else rate.write)
        return total / _MILLION


class _Row(Struct, frozen=True, rename={"exact": "is"}):
    """A model: the names it goes by, its window and its prices, the current one first."""

    exact: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    like: tuple[str, ...] = ()
    window: int | None = None
    rates: tuple[_Rates, ...] = ()

    def matches(self, name: str) -> bool:
        """Whether a name, in lower case, means this model."""
        return (
            name in self.exact
            or name.startswith(self.starts)
            or any(part in name for part in self.has)
            or any(re.match(pattern, name) for pattern in self.like)
        )


class Snapshot(Struct, frozen=True):
    """All we know, and as of when."""

    source: str
    date: date
    providers: dict[str, msgspec.Raw]
    """As in the file: a run uses one or two of them."""


def price(address: str, usage: Usage, *, batch: bool = False) -> Decimal | None:
    """What a call cost in US dollars; None where that is not known."""
    if address.partition("/")[0] in _FREE:
        return Decimal(0)
    current = _today(address)
    cost = None if current is None else current.cost(usage)
    return cost * _BATCH if batch and cost is not None else cost


def rates(address: str, input_tokens: int | None = None, *, batch: bool = False) -> Rates | None:
    """The most a model's tokens can cost, for a prompt of this length or else of any."""
    if address.partition("/")[0] in _FREE:
        return Rates(Decimal(0), Decimal(0))
    current = _today(address)
    if current is None:
        return None
    steps = (current, *current.above) if input_tokens is None else (current.at(input_tokens),)
    # What is read may be put into a cache on the way, which costs more than reading it.
    share = _BATCH if batch else 1
    return Rates(
        max(max(each.input, each.write or each.input) for each in steps) * share,
        max(each.output for each in steps) * share,
    )


def window(address: str) -> int | None:
    """How many tokens a model can read and write at once; None where that is not known."""
    row = _row(address)
    return None if row is None else row.window


@lru_cache(maxsize=1)
def snapshot() -> Snapshot:
    """The price list, read once."""
    content = Path(__file__).with_name("prices.json").read_bytes()
    return msgspec.json.decode(content, type=Snapshot)


@lru_cache(maxsize=16)
def _rows(provider: str) -> tuple[_Row, ...]:
    rows = snapshot().providers.get(provider)
    return () if rows is None else msgspec.json.decode(rows, type=tuple[_Row, ...])


@lru_cache(maxsize=1024)
def _row(address: str) -> _Row | None:
    provider, _, model = address.lower().partition("/")
    rows = _rows(SAME_PRICES.get(provider, provider))
    return next((row for row in rows if row.matches(model)), None)


def _today(address: str) -> _Rates | None:
    row = _row(address)
    if row is None:
        return None
    today = datetime.now(UTC).date()
    valid = [each for each in row.rates if each.since is None or each.since <= today]
    return valid[-1] if valid else None
