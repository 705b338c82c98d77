"""Statistics whose outcomes can be counted: exact levels, whatever report prints them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement, permutations
from math import comb, factorial, prod

import numpy as np
import pytest
from tests.cases import cases
from tests.under_chance.luck import misses, most_often

from autoreason.stats.resampling import equal_shares
from autoreason.stats.shares import exact_share, longer_preferred, pooled_share, sign_test


@cases("trials", [1, 2, 3, 5, 7, 16, 24, 60])
@cases("truth", [0.02, 0.3, 0.5, 0.6])
def test_an_exact_share_holds_the_truth(trials: int, truth: float) -> None:
    wrong = sum(
        comb(trials, won) * truth**won * (1 - truth) ** (trials - won)
        for won in range(trials + 1)
        if misses(exact_share(won, trials), truth)
    )
    assert wrong <= 0.05


@pytest.mark.parametrize("trials", [2, 5, 7, 30])
def test_the_sign_test_keeps_its_level(trials: int) -> None:
    small = [
        won for won in range(trials + 1) if (sign_test(won, trials - won).p_value or 0) <= 0.05
    ]
    assert sum(comb(trials, won) for won in small) / 2**trials <= 0.05


def tables(n: int, cells: int) -> Iterator[tuple[int, ...]]:
    """All ways to put so many things into so many cells."""
    for bars in combinations(range(n + cells - 1), cells - 1):
        ends = (-1, *bars, n + cells - 1)
        yield tuple(ends[at + 1] - ends[at] - 1 for at in range(cells))


@cases(("n", "cells"), [(7, 2), (14, 2), (100, 2), (7, 3), (22, 3), (9, 5)])
def test_equal_shares_keep_their_level(n: int, cells: int) -> None:
    wrong = sum(
        factorial(n) // prod(map(factorial, table))
        for table in tables(n, cells)
        if (equal_shares(table).p_value or 0) <= 0.05
    )
    assert wrong / cells**n <= 0.05


@pytest.mark.parametrize(("n", "cells"), [(60, 7), (100, 5), (300, 5), (700, 3)])
def test_equal_shares_of_many_ballots_keep_their_level(n: int, cells: int) -> None:
    drawn = np.random.default_rng(n).multinomial(n, [1 / cells] * cells, size=1000)
    seen = sum((equal_shares(table.tolist()).p_value or 0) <= 0.05 for table in drawn)
    assert seen <= most_often(1000)


@cache
def agreeing_pairs(texts: int) -> tuple[float, ...]:
    """How likely a random ballot puts 0, 1, 2, ... pairs in the order of their lengths."""
    pairs = texts * (texts - 1) // 2
    counts = [
        sum(one < other for one, other in combinations(order, 2))
        for order in permutations(range(texts))
    ]
    return tuple(counts.count(at) / len(counts) for at in range(pairs + 1))


@cases(("judges", "texts"), [(2, 2), (4, 2), (5, 2), (7, 2), (3, 3), (5, 3), (7, 3), (3, 4)])
def test_no_taste_for_length_is_found_in_random_ballots(judges: int, texts: int) -> None:
    likely, wrong = agreeing_pairs(texts), 0.0
    pairs = len(likely) - 1
    for cast in combinations_with_replacement(range(pairs + 1), judges):
        games = ((n, float(at < each), 1) for n, each in enumerate(cast) for at in range(pairs))
        if misses(longer_preferred(games), 0.5):
            ways = factorial(judges) // prod(factorial(cast.count(each)) for each in set(cast))
            wrong += ways * prod(likely[each] for each in cast)
    assert wrong <= 0.05


EQUAL = ((2, 7), (5, 3), (7, 7), (8, 40), (12, 10), (24, 7))
SIZES = {
    **{f"{tasks} of {tries}": [tries] * tasks for tasks, tries in EQUAL},
    "60 of 1, 3 of 30": [1] * 60 + [30] * 3,
    "100 of 2, 5 of 20": [2] * 100 + [20] * 5,
    "300 of 1, 1 of 100": [1] * 300 + [100],
    "30 that grow from 1 to 147": [round(1.19**at) for at in range(30)],
}


@cases("sizes", SIZES.values())
@cases("truth", [0.5, 0.8, 0.95])
@cases("alike", [0.1, 0.3, 0.6, 0.95])
def test_a_share_over_tasks_holds_the_truth_however_alike_tries_and_however_unequal_tasks_are(
    sizes: list[int], truth: float, alike: float
) -> None:
    times = 150
    rng = np.random.default_rng((len(sizes), sum(sizes)))
    scale = (1 - alike) / alike
    chances = rng.beta(truth * scale, (1 - truth) * scale, size=(times, len(sizes)))
    drawn = rng.binomial(sizes, chances).tolist()
    found = [pooled_share(list(zip(won, sizes, strict=True))) for won in drawn]
    assert sum(misses(each, truth) for each in found) <= most_often(times)
    if truth == 0.5:
        # What `knowledge test` calls helping.
        assert sum((each.low or 0) > truth for each in found) <= most_often(times, 0.025)
