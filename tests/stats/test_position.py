"""Position, against SciPy and against going through every table."""

from __future__ import annotations

from itertools import product
from math import factorial, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from autoreason.stats.position import equal_shares, position_effect

steady = settings(derandomize=True)


def test_first_places_are_counted_by_where_the_winner_stood() -> None:
    orders = ["ABC", "BCA", "CAB", "ABC"]
    found = position_effect(orders, ["ACB", "BAC", "BCA", "CAB"])
    assert found.counts == (2, 0, 2)
    assert [each.value for each in found.shares] == [0.5, 0, 0.5]
    assert found.test.n == 4


def test_judges_who_take_the_first_in_line_are_found_out() -> None:
    orders = ["ABC", "BCA", "CAB"] * 4
    assert position_effect(orders, orders).test.p_value == pytest.approx(3 / 3**12)
    assert position_effect(orders, ["ABC"] * 12).test.p_value == pytest.approx(1)


@given(st.lists(st.integers(0, 7), min_size=3, max_size=3).filter(lambda c: 0 < sum(c) < 15))
@steady
def test_few_ballots_are_tested_exactly(counts: list[int]) -> None:
    def ways(table: tuple[int, ...] | list[int]) -> int:
        return factorial(sum(table)) // prod(factorial(cell) for cell in table)

    n = sum(counts)
    tables = [table for table in product(range(n + 1), repeat=3) if sum(table) == n]
    no_likelier = sum(ways(table) for table in tables if ways(table) <= ways(counts))
    assert equal_shares(counts).p_value == pytest.approx(no_likelier / 3**n)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@steady
def test_two_positions_are_a_coin_however_many_ballots(split: tuple[int, int]) -> None:
    first, n = split
    assert equal_shares([first, n - first]).p_value == pytest.approx(binomtest(first, n).pvalue)


@given(st.lists(st.integers(30, 90), min_size=5, max_size=5))
@steady
def test_many_ballots_are_tested_by_chi_square(counts: list[int]) -> None:
    theirs = chisquare(counts)
    found = equal_shares(counts)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue)


@given(st.lists(st.integers(0, 20), min_size=7, max_size=7).filter(lambda c: sum(c) > 60))
@steady
def test_ballots_too_many_to_count_and_too_few_for_chi_square_are_tested_against_random_ones(
    counts: list[int],
) -> None:
    theirs = chisquare(counts)
    found = equal_shares(counts)
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.03)
    assert found.p_value


def test_no_ballots_or_one_position_say_nothing() -> None:
    assert position_effect([], []).test.p_value is None
    assert equal_shares([0, 0, 0]).reason == "needs one first place or more, there is none"
    assert equal_shares([4]).p_value is None
    with pytest.raises(ValueError, match="same number of positions"):
        position_effect(["AB", "ABC"], ["AB", "ABC"])
