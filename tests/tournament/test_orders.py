"""Positions and labels that give nobody an advantage."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.tournament.judges import balanced_orders, neutral_labels, random_orders

steady = settings(derandomize=True)
seeds = st.integers(0, 2**64 - 1)
fields = st.integers(2, 8).map(lambda n: tuple("ABCDEFGH"[:n]))


def in_position(orders: Sequence[Sequence[str]]) -> Counter[tuple[int, str]]:
    """How often each candidate stands in each position."""
    return Counter((place, name) for order in orders for place, name in enumerate(order))


def neighbours(orders: Sequence[Sequence[str]]) -> Counter[tuple[str, str]]:
    """How often each candidate stands right behind each other one."""
    return Counter(pair for order in orders for pair in pairwise(order))


@given(seeds)
@steady
def test_three_judges_see_each_of_three_candidates_once_in_each_position(seed: int) -> None:
    orders = balanced_orders(("A", "B", "AB"), 9, seed)
    for block in (orders[:3], orders[3:6], orders[6:]):
        assert set(in_position(block).values()) == {1}
        assert len(in_position(block)) == 9


@given(seeds)
@steady
def test_six_judges_see_every_order_of_three_candidates_once(seed: int) -> None:
    orders = balanced_orders(("A", "B", "AB"), 12, seed)
    for block in (orders[:6], orders[6:]):
        assert sorted(block) == sorted(permutations(("A", "B", "AB")))


@given(fields, st.integers(1, 25), seeds)
@steady
def test_positions_are_shared_as_evenly_as_the_number_of_judges_allows(
    candidates: tuple[str, ...], judges: int, seed: int
) -> None:
    orders = balanced_orders(candidates, judges, seed)
    assert len(orders) == judges
    assert all(sorted(order) == sorted(candidates) for order in orders)
    counts = in_position(orders)
    every = [counts[place, name] for place in range(len(candidates)) for name in candidates]
    assert max(every) - min(every) <= 1


@given(fields, seeds)
@steady
def test_everybody_follows_everybody_else_equally_often(
    candidates: tuple[str, ...], seed: int
) -> None:
    rounds = 1 + len(candidates) % 2
    counts = neighbours(balanced_orders(candidates, rounds * len(candidates), seed))
    assert counts == Counter(dict.fromkeys(permutations(candidates, 2), rounds))


@given(fields, st.integers(1, 12), st.integers(0, 12), seeds)
@steady
def test_a_panel_that_grows_keeps_the_orders_it_has(
    candidates: tuple[str, ...], judges: int, more: int, seed: int
) -> None:
    grown = balanced_orders(candidates, judges + more, seed)
    assert grown[:judges] == balanced_orders(candidates, judges, seed)


@pytest.mark.parametrize("spread", [balanced_orders, random_orders])
def test_orders_come_from_the_seed_and_from_nothing_else(
    spread: Callable[[str, int, int], Hashable],
) -> None:
    several = [spread("ABC", 6, seed) for seed in range(20)]
    assert several == [spread("ABC", 6, seed) for seed in range(20)]
    assert len(set(several)) > 10


def test_random_orders_are_drawn_independently() -> None:
    orders = random_orders(("A", "B", "AB"), 6000, seed=1)
    counts = Counter(orders)
    assert sorted(counts) == sorted(permutations(("A", "B", "AB")))
    assert all(900 < count < 1100 for count in counts.values())


@pytest.mark.parametrize("candidates", [(), ("A", "A")])
def test_candidates_are_named_once_each(candidates: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="named once each"):
        balanced_orders(candidates, 3, 0)
    with pytest.raises(ValueError, match="named once each"):
        random_orders(candidates, 3, 0)


@given(st.integers(1, 40), seeds)
@steady
def test_labels_are_different_pairs_of_different_consonants(count: int, seed: int) -> None:
    labels = neutral_labels(count, random.Random(seed))
    assert len(set(labels)) == count
    for label in labels:
        assert len(set(label)) == 2
        assert set(label) <= set("BCDFGHJKLMNPQRSTVWXZ")


def test_labels_mean_nothing() -> None:
    drawn = {label for seed in range(500) for label in neutral_labels(6, random.Random(seed))}
    assert len(drawn) > 200
    assert not drawn & {"TV", "PC", "KG", "DB", "VS", "PR", "MR", "DR", "QR", "CV", "HR", "PS"}


def test_labels_come_from_the_source_they_are_given() -> None:
    assert neutral_labels(3, random.Random(7)) == neutral_labels(3, random.Random(7))
    assert len({neutral_labels(3, random.Random(seed)) for seed in range(50)}) == 50
