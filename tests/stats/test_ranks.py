"""How far rankings agree, against SciPy."""

from __future__ import annotations

from itertools import combinations, permutations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, kendalltau, rankdata

from autoreason.stats.ranks import agreement, kendall_tau, kendalls_w, midranks, places, tau_b

steady = settings(derandomize=True)
ORDERS = list(permutations(range(3)))
scores = st.lists(st.integers(1, 5), min_size=4, max_size=4)


def test_judges_who_say_the_same_agree_fully_and_judges_who_say_the_opposite_not_at_all() -> None:
    assert agreement(["ABC", "ABC", "ABC"]) == 1.0
    assert agreement(["ABC", "CBA"]) == -1.0
    assert agreement(["ABC", "BAC"]) == pytest.approx(1 / 3)


def test_one_judge_agrees_with_no_one() -> None:
    assert agreement([]) is None
    assert agreement(["ABC"]) is None
    assert agreement(["A", "A"]) is None
    assert kendall_tau("A", "A") is None


@given(st.lists(st.permutations("ABCD"), min_size=2, max_size=6))
@steady
def test_agreement_is_the_mean_over_all_pairs_of_judges(rankings: list[list[str]]) -> None:
    pairs = [agreement(pair) for pair in combinations(rankings, 2)]
    found = agreement(rankings)
    assert found == pytest.approx(sum(tau for tau in pairs if tau is not None) / len(pairs))
    assert found == pytest.approx(agreement(rankings[::-1]))


@given(st.permutations("ABCDE"), st.permutations("ABCDE"))
@steady
def test_tau_is_that_of_scipy_with_ties_and_without(one: list[str], other: list[str]) -> None:
    rows = [[places(ranking)[name] for name in "ABCDE"] for ranking in (one, other)]
    assert kendall_tau(one, other) == pytest.approx(kendalltau(*rows).statistic)
    assert tau_b(*rows).value == pytest.approx(kendalltau(*rows).statistic)


@given(scores, scores)
@steady
def test_tau_b_is_that_of_scipy(one: list[int], other: list[int]) -> None:
    assume(len(set(one)) > 1 and len(set(other)) > 1)
    assert tau_b(one, other).value == pytest.approx(kendalltau(one, other).statistic)
    assert tau_b(one, other).n == 4


def test_where_nothing_is_ordered_there_is_no_tau() -> None:
    assert tau_b([1], [2]).reason == "needs two things or more, there is one thing"
    assert tau_b([1, 1], [1, 2]).value is None
    with pytest.raises(ValueError, match="rankings of other names"):
        kendall_tau("AB", "AC")


@given(st.lists(scores, min_size=2, max_size=6))
@steady
def test_w_is_that_of_friedmans_test(rows: list[list[int]]) -> None:
    assume(any(len(set(row)) > 1 for row in rows))
    w, test = kendalls_w(rows)
    theirs = friedmanchisquare(*zip(*rows, strict=True))
    assert test.statistic == pytest.approx(theirs.statistic)
    assert w.value is not None
    assert -1e-12 <= w.value <= 1 + 1e-12


@given(st.lists(st.permutations(range(3)), min_size=2, max_size=3))
@settings(steady, max_examples=25)
def test_chance_is_how_often_judges_who_rank_at_random_agree_as_much(rows: list[list[int]]) -> None:
    test = kendalls_w(rows).test
    every = [kendalls_w(cast).test.statistic or 0 for cast in product(*[ORDERS] * len(rows))]
    assert test.statistic is not None
    as_much = sum(each >= test.statistic - 1e-9 for each in every) / len(every)
    assert test.p_value == pytest.approx(as_much, abs=0.015)


@given(st.lists(st.permutations(range(5)), min_size=2, max_size=6))
@steady
def test_w_without_ties_is_the_mean_rank_correlation_rescaled(rows: list[list[int]]) -> None:
    judges = len(rows)
    spearman = [
        1 - 6 * sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / (5 * 24)
        for one, other in combinations(rows, 2)
    ]
    mean = sum(spearman) / len(spearman)
    assert kendalls_w(rows).w.value == pytest.approx((mean * (judges - 1) + 1) / judges)


def test_full_agreement_is_one_also_with_ties() -> None:
    assert kendalls_w([[1, 2, 2], [5, 9, 9], [0, 1, 1]]).w.value == pytest.approx(1)


def test_too_few_judges_or_things_give_a_reason_and_no_figure() -> None:
    assert kendalls_w([[1, 2]]).w.reason == "needs two judges or more, there is one judge"
    assert kendalls_w([]).test.reason == "needs two judges or more, there is none"
    assert kendalls_w([[1], [1]]).w.value is None
    assert kendalls_w([[1, 1], [2, 2]]).test.p_value is None
    with pytest.raises(ValueError, match="differ in length"):
        kendalls_w([[1, 2], [1, 2, 3]])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=9))
@steady
def test_equals_share_the_mean_of_their_places(numbers: list[int]) -> None:
    assert midranks(numbers) == rankdata(numbers).tolist()


def test_a_score_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="leave out what is not known"):
        tau_b([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(ValueError, match="leave out what is not known"):
        kendalls_w([[1.0, 2.0], [float("nan"), 2.0]])
