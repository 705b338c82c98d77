"""Duels, Condorcet winners and circles, against going through every group."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.stats.elections import (
    Ranking,
    borda,
    condorcet_winner,
    cycles,
    first_places,
    games,
    names_in,
    win_matrix,
)
from autoreason.tournament.voting import count_votes

steady = settings(derandomize=True)
elections = st.lists(st.permutations("ABCD"), min_size=1, max_size=6)

CONDORCET = ["ABC", "BCA", "CAB"]


def beats(rankings: list[list[str]], one: str, other: str) -> bool:
    above = sum(ranking.index(one) < ranking.index(other) for ranking in rankings)
    return 2 * above > len(rankings)


def test_condorcets_own_paradox_is_a_circle_without_a_winner() -> None:
    assert cycles(CONDORCET) == [("A", "B", "C")]
    assert condorcet_winner(CONDORCET) is None


def test_a_circle_below_the_winner_is_a_circle_too() -> None:
    rankings = [f"W{ranking}" for ranking in CONDORCET]
    assert condorcet_winner(rankings) == "W"
    assert cycles(rankings) == [("A", "B", "C")]


def test_a_drawn_duel_makes_no_circle_and_no_winner() -> None:
    assert cycles(["AB", "BA"]) == []
    assert condorcet_winner(["AB", "BA"]) is None


@given(elections)
@steady
def test_the_winner_beats_everyone(rankings: list[list[str]]) -> None:
    winners = [
        one
        for one in "ABCD"
        if all(beats(rankings, one, other) for other in "ABCD" if other != one)
    ]
    assert condorcet_winner(rankings) == (winners[0] if winners else None)


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


def test_who_shares_a_place_shares_its_points_and_draws_the_duel() -> None:
    shared: list[Ranking] = [[("A", "B"), "C"]]
    assert borda(shared) == {"A": 2.5, "B": 2.5, "C": 1}
    assert first_places(shared) == {"A": 0.5, "B": 0.5, "C": 0}
    assert games(shared) == [("A", "B", 0.5), ("A", "C", 1.0), ("B", "C", 1.0)]
    assert win_matrix(shared)["A"] == {"B": 0, "C": 1}


def test_names_left_out_are_not_compared() -> None:
    partial = ["AB", "BC"]
    assert names_in(partial) == ["A", "B", "C"]
    assert win_matrix(partial)["A"] == {"B": 1, "C": 0}
    assert condorcet_winner(partial) is None


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="contains every name once"):
        borda(["ABA"])
