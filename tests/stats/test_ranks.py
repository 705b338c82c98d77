"""How far rankings and ratings agree, and who wins their duels."""

from __future__ import annotations

from itertools import combinations, permutations

import krippendorff
import numpy as np
import pytest
import scipy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoreason.stats.ranks import (
    TiedRanking,
    agreement,
    borda,
    cycles,
    first_places,
    games,
    kendall_tau,
    krippendorff_alpha,
    names_in,
    places,
    tau_b,
    win_matrix,
)
from autoreason.tournament.voting import count_votes

steady = settings(derandomize=True)
scores = st.lists(st.integers(1, 5), min_size=4, max_size=4)


def test_judges_who_say_the_same_agree_fully_and_judges_who_say_the_opposite_not_at_all() -> None:
    assert agreement(["ABC", "ABC", "ABC"]) == 1.0
    assert agreement(["ABC", "CBA"]) == -1.0
    assert agreement(["ABC", "BAC"]) == pytest.approx(1 / 3)
    # One judge agrees with no one.
    assert [agreement(cast) for cast in ([], ["ABC"], ["A", "A"])] == [None] * 3
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
    assert kendall_tau(one, other) == pytest.approx(scipy.stats.kendalltau(*rows).statistic)
    assert tau_b(*rows).value == pytest.approx(scipy.stats.kendalltau(*rows).statistic)


@given(scores, scores)
@steady
def test_tau_b_is_that_of_scipy(one: list[int], other: list[int]) -> None:
    assume(len(set(one)) > 1 and len(set(other)) > 1)
    assert tau_b(one, other).value == pytest.approx(scipy.stats.kendalltau(one, other).statistic)
    assert tau_b(one, other).n == 4


def test_where_nothing_is_ordered_there_is_no_tau_and_an_unknown_score_is_refused() -> None:
    assert tau_b([1], [2]).reason == "needs two things or more, there is one thing"
    assert tau_b([1, 1], [1, 2]).value is None
    with pytest.raises(ValueError, match="rankings of other names"):
        kendall_tau("AB", "AC")
    with pytest.raises(ValueError, match="leave out what is not known"):
        tau_b([1.0, float("nan")], [1.0, 2.0])


elections = st.lists(st.permutations("ABCD"), min_size=1, max_size=6)

CONDORCET = ["ABC", "BCA", "CAB"]


def beats(rankings: list[list[str]], one: str, other: str) -> bool:
    above = sum(ranking.index(one) < ranking.index(other) for ranking in rankings)
    return 2 * above > len(rankings)


def test_condorcets_own_paradox_is_a_circle() -> None:
    assert cycles(CONDORCET) == cycles([f"W{each}" for each in CONDORCET]) == [("A", "B", "C")]
    assert cycles(["AB", "BA"]) == []


@given(elections)
@steady
def test_there_is_a_circle_exactly_if_majorities_can_be_walked_round(
    rankings: list[list[str]],
) -> None:
    walks = [walk for size in (3, 4) for walk in permutations("ABCD", size)]
    round_trips = [
        set(walk)
        for walk in walks
        if all(
            beats(rankings, one, other)
            for one, other in zip(walk, walk[1:] + walk[:1], strict=True)
        )
    ]
    found = cycles(rankings)
    assert bool(found) == bool(round_trips)
    assert all(any(trip <= set(group) for group in found) for trip in round_trips)


@given(elections)
@steady
def test_borda_points_are_those_of_a_panel(rankings: list[list[str]]) -> None:
    assert borda(rankings) == pytest.approx(count_votes("borda", rankings, "ABCD").scores)
    assert sum(first_places(rankings).values()) == len(rankings)


@given(elections)
@steady
def test_every_pair_of_every_ranking_is_one_duel(rankings: list[list[str]]) -> None:
    wins = win_matrix(rankings)
    assert all(
        wins[one][other] + wins[other][one] == len(rankings)
        for one, other in combinations("ABCD", 2)
    )
    assert len(games(rankings)) == 6 * len(rankings)


def test_who_shares_a_place_shares_its_points_and_names_left_out_are_not_compared() -> None:
    shared: list[TiedRanking] = [[("A", "B"), "C"]]
    assert borda(shared) == {"A": 2.5, "B": 2.5, "C": 1}
    assert first_places(shared) == {"A": 0.5, "B": 0.5, "C": 0}
    assert games(shared) == [("A", "B", 0.5), ("A", "C", 1.0), ("B", "C", 1.0)]
    assert win_matrix(shared)["A"] == {"B": 0, "C": 1}
    partial = ["AB", "BC"]
    assert names_in(partial) == ["A", "B", "C"]
    assert win_matrix(partial)["A"] == {"B": 1, "C": 0}
    with pytest.raises(ValueError, match="contains every name once"):
        borda(["ABA"])


KRIPPENDORFF_2011: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Four observers and twelve units, example D of Krippendorff (2011)."""

ratings = st.lists(
    st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=5, max_size=5),
    min_size=2,
    max_size=4,
)


def test_alpha_is_the_published_one() -> None:
    found = krippendorff_alpha(KRIPPENDORFF_2011)
    assert found.value == pytest.approx(0.815, abs=5e-4)
    assert found.n == 11, "the unit rated once says nothing"


@given(ratings)
@steady
def test_alpha_is_that_of_the_krippendorff_package(rows: list[list[int | None]]) -> None:
    found = krippendorff_alpha(rows)
    assume(found.value is not None)
    table = np.array([[np.nan if r is None else r for r in row] for row in rows], dtype=float)
    assert found.value == pytest.approx(krippendorff.alpha(table, level_of_measurement="ordinal"))


def test_ordinal_alpha_sees_only_the_order_and_has_a_reason_where_no_one_can_agree() -> None:
    stretched = [[r and r**3 for r in row] for row in KRIPPENDORFF_2011]
    assert krippendorff_alpha(stretched).value == krippendorff_alpha(KRIPPENDORFF_2011).value
    assert krippendorff_alpha([[1, 2]]).reason == "needs two raters or more, there is one rater"
    assert krippendorff_alpha([[1, None], [None, 2]]).reason == "no thing was rated by two raters"
    assert krippendorff_alpha([[3, 3], [3, 3]]).value is None
    assert krippendorff_alpha([]).value is None
    with pytest.raises(ValueError, match="an entry for every thing"):
        krippendorff_alpha([[1, 2], [1]])
