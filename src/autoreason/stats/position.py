"""Whether the place in the list decided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaln

from autoreason.stats.results import Estimate, Test
from autoreason.stats.shares import share

_COUNTABLE = 20_000
_ENOUGH_EACH = 30
_DRAWN = 20_000


class PositionEffect(NamedTuple):
    """First places by the position a text was shown at; equal shares mean that position did not decide."""

    counts: tuple[int, ...]
    shares: tuple[Estimate, ...]
    test: Test


def position_effect(
    orders: Sequence[Sequence[str]], rankings: Sequence[Sequence[str]]
) -> PositionEffect:
    """How often each position came first, judge by judge: what stood where, and the ranking, best first.

    Fair only where orders were drawn or balanced: then every position has the same chance.
    """
    if len({len(order) for order in orders}) > 1:
        raise ValueError("every order needs the same number of positions; test them apart")
    positions = [order.index(ranking[0]) for order, ranking in zip(orders, rankings, strict=True)]
    counts = tuple(positions.count(at) for at in range(len(orders[0]) if orders else 0))
    shares = tuple(share(count, len(positions)) for count in counts)
    return PositionEffect(counts, shares, equal_shares(counts))


def equal_shares(counts: Sequence[int]) -> Test:
    """Whether counts could come from equal chances: exact where all tables of the same total can be counted.

    Then those that are no likelier than this one are added up (the exact multinomial test). Else it is Pearson's
    chi-square (1900), against tables drawn at random where fewer than thirty are expected each.
    """
    if any(count < 0 for count in counts):
        raise ValueError(f"a count is 0 or more, not {min(counts)}")
    n, cells = sum(counts), len(counts)
    if cells < 2:
        return Test(None, n=n, reason="needs two positions or more")
    if not n:
        return Test(None, reason="needs one first place or more, there is none")
    observed = np.asarray(counts, dtype=float)
    statistic = float(((observed - n / cells) ** 2).sum() * cells / n)
    if comb(n + cells - 1, cells - 1) <= _COUNTABLE:
        return Test(_multinomial(tuple(sorted(counts))), statistic=statistic, n=n)
    if n < _ENOUGH_EACH * cells:
        drawn = _random_statistics(n, cells)
        # The table at hand counts as one more (Phipson and Smyth 2010).
        as_far = len(drawn) - int(np.searchsorted(drawn, statistic * (1 - 1e-9)))
        return Test((as_far + 1) / (len(drawn) + 1), statistic=statistic, n=n)
    return Test(float(chdtrc(cells - 1, statistic)), statistic=statistic, n=n)


@lru_cache(1024)
def _multinomial(counts: tuple[int, ...]) -> float:
    observed, n, cells = np.array(counts, dtype=float), sum(counts), len(counts)
    tables = np.array(_all_tables(n, cells), dtype=float)
    weights = gammaln(n + 1) - gammaln(tables + 1).sum(axis=1) - n * np.log(cells)
    mine = gammaln(n + 1) - gammaln(observed + 1).sum() - n * np.log(cells)
    # Tables as likely as this one must not drop out by rounding.
    return min(1.0, float(np.exp(weights[weights <= mine + 1e-9]).sum()))


@lru_cache(64)
def _random_statistics(n: int, cells: int) -> NDArray[Any]:
    """Chi-squares of tables drawn with equal chances, in ascending order; the same ones every time."""
    tables = np.random.default_rng(0).multinomial(n, [1 / cells] * cells, size=_DRAWN)
    return np.sort(((tables - n / cells) ** 2).sum(axis=1) * cells / n)


def _all_tables(n: int, cells: int) -> list[tuple[int, ...]]:
    if cells == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in _all_tables(n - first, cells - 1)]
