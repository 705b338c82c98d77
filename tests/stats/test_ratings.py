"""Strengths, against published fits in R, the `choix` package and what must not change them."""

from __future__ import annotations

from math import exp, log, sqrt

import choix
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import stdtrit

from autoreason.stats.bootstrap import Array
from autoreason.stats.elections import Game, Ranking, games
from autoreason.stats.ratings import Ratings, bradley_terry, elo, elo_averaged, plackett_luce

steady = settings(derandomize=True, max_examples=25)
scores = st.sampled_from([0.0, 0.5, 1.0])
duels = st.lists(
    st.tuples(st.sampled_from(["AB", "AC", "BC", "CD", "DA"]), scores), min_size=6, max_size=20
).map(lambda drawn: [(pair[0], pair[1], score) for pair, score in drawn])

BASEBALL = {
    "Milwaukee": (0, 7, 9, 7, 7, 9, 11),
    "Detroit": (6, 0, 7, 5, 11, 9, 9),
    "Toronto": (4, 6, 0, 7, 7, 8, 12),
    "New York": (6, 8, 6, 0, 6, 7, 10),
    "Boston": (6, 2, 6, 7, 0, 7, 12),
    "Cleveland": (4, 4, 5, 6, 6, 0, 6),
    "Baltimore": (2, 4, 1, 3, 1, 7, 0),
}
"""Wins of the row over the column, Agresti (2002), table 10.10."""

FRUITS: list[Ranking] = [
    ["apple", "banana"],
    ["banana", "orange", "apple"],
    [("banana", "orange"), "apple"],
    ["apple", "banana", "orange"],
    [("banana", "orange"), "apple"],
    ["apple", "orange"],
]
"""Partial rankings with ties, from the tests of the R package PlackettLuce."""


def strength(ratings: Ratings, name: str) -> float:
    value = ratings.strengths[name].value
    assert value is not None
    return value


# ---- Bradley-Terry -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("team", "published", "error"),
    [
        *(("Boston", 1.1077, 0.3339), ("Cleveland", 0.6839, 0.3319), ("Detroit", 1.4364, 0.3396)),
        *(("Milwaukee", 1.5814, 0.3433), ("New York", 1.2476, 0.3359)),
        ("Toronto", 1.2945, 0.3367),
    ],
)
def test_baseball_teams_lead_baltimore_as_published(
    team: str, published: float, error: float
) -> None:
    """As BradleyTerry2 prints for Agresti's data, with standard errors."""
    played: list[Game] = [
        (one, other, 1.0)
        for one, wins in BASEBALL.items()
        for other, times in zip(BASEBALL, wins, strict=True)
        for _ in range(times)
    ]
    lead = bradley_terry(played).lead(team, "Baltimore")
    assert lead.value == pytest.approx(published, abs=5e-5)
    assert lead.high is not None
    assert lead.value is not None
    assert (lead.high - lead.value) / stdtrit(lead.n - 1, 0.975) == pytest.approx(error, abs=5e-5)


@given(duels)
@steady
def test_duels_without_draws_are_rated_as_by_choix(drawn: list[Game]) -> None:
    decided = [game for game in drawn if game[2] != 0.5]
    found = bradley_terry(decided)
    assume(not found.reason)
    names = list(found.strengths)
    pairs = [
        (names.index(one), names.index(other)) if score else (names.index(other), names.index(one))
        for one, other, score in decided
    ]
    theirs = choix.opt_pairwise(len(names), pairs)
    ours = [strength(found, name) for name in names]
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-3)


@given(duels)
@steady
def test_draws_are_fitted_to_davidsons_likelihood(drawn: list[Game]) -> None:
    found = bradley_terry(drawn)
    assume(not found.reason and found.ties)
    names = list(found.strengths)
    readiness = found.ties[2].value
    assert readiness is not None
    ours = np.array([*(strength(found, name) for name in names), log(readiness)])

    def loss(values: Array) -> float:
        total = 0.0
        for one, other, score in drawn:
            a, b = values[names.index(one)], values[names.index(other)]
            draw = values[-1] + (a + b) / 2
            happened = {1.0: a, 0.0: b, 0.5: draw}[score]
            total -= happened - np.logaddexp(np.logaddexp(a, b), draw)
        return total

    assert loss(ours) <= minimize(loss, np.zeros(len(ours))).fun + 1e-6


@given(duels)
@steady
def test_turning_every_result_round_turns_the_strengths_round(drawn: list[Game]) -> None:
    found = bradley_terry(drawn)
    turned = bradley_terry([(one, other, 1 - score) for one, other, score in drawn])
    assert bool(found.reason) == bool(turned.reason)
    if not found.reason:
        for name in found.strengths:
            assert strength(found, name) == pytest.approx(-strength(turned, name), abs=1e-6)
        assert sum(strength(found, name) for name in found.strengths) == pytest.approx(0, abs=1e-9)


def test_four_times_the_data_give_half_the_interval() -> None:
    once: list[Game] = [("A", "B", 1), ("A", "B", 1), ("B", "A", 1), ("A", "B", 0.5)]
    few, many = bradley_terry(once), bradley_terry(once * 4)
    assert strength(few, "A") == pytest.approx(strength(many, "A"))
    variances = [ratings.covariance[0][0] for ratings in (few, many)]
    assert variances[0] == pytest.approx(4 * variances[1])
    reach = [(ratings.strengths["A"].high or 0) - strength(ratings, "A") for ratings in (few, many)]
    students = stdtrit([few.n - 1, many.n - 1], 0.975)
    assert reach[0] / students[0] == pytest.approx(2 * reach[1] / students[1])


def test_two_are_rated_by_the_odds() -> None:
    found = bradley_terry([("A", "B", 1)] * 3 + [("A", "B", 0)] + [("A", "B", 0.5)] * 2)
    assert found.lead("A", "B").value == pytest.approx(log(3))
    assert found.ties[2].value == pytest.approx(2 / sqrt(3))
    assert found.n == 6


# ---- Plackett-Luce -----------------------------------------------------------------------------


def test_ties_and_partial_rankings_are_rated_as_by_the_r_package() -> None:
    """PlackettLuce adds half a win and half a loss against a made-up item; doubled data hold them whole."""
    made_up: list[Ranking] = []
    for fruit in ("apple", "banana", "orange"):
        made_up += [[fruit, "made-up"], ["made-up", fruit]]
    found = plackett_luce(FRUITS * 2 + made_up)
    assert found.lead("banana", "apple").value == pytest.approx(0.2867987, abs=1e-6)
    assert found.lead("orange", "apple").value == pytest.approx(-0.4636687, abs=1e-6)
    assert found.ties[2].value == pytest.approx(exp(-1.0701129), abs=1e-6)


@given(st.lists(st.permutations("ABCD"), min_size=4, max_size=12))
@steady
def test_full_rankings_are_rated_as_by_choix(rankings: list[list[str]]) -> None:
    found = plackett_luce(rankings)
    assume(not found.reason)
    names = list(found.strengths)
    numbered = [tuple(names.index(name) for name in ranking) for ranking in rankings]
    theirs = choix.opt_rankings(4, numbered)
    ours = [strength(found, name) for name in names]
    assert ours == pytest.approx(theirs - theirs.mean(), abs=1e-3)


def test_rankings_of_two_are_duels() -> None:
    rankings: list[Ranking] = ["AB", "BA", "BC", "CB", "CA", [("A", "C")]]
    by_rank, by_duel = plackett_luce(rankings), bradley_terry(games(rankings))
    assert by_rank.strengths["A"].value == pytest.approx(by_duel.strengths["A"].value)
    assert by_rank.ties[2].value == pytest.approx(by_duel.ties[2].value)


def test_ties_of_several_sizes_have_a_readiness_each() -> None:
    rankings: list[Ranking] = [*FRUITS, [("apple", "banana", "orange")]]
    found = plackett_luce(rankings)
    assert sorted(found.ties) == [2, 3]
    assert not found.reason


def test_true_strengths_lie_in_nineteen_of_twenty_intervals() -> None:
    rng = np.random.default_rng(8)
    true = np.array([0.8, 0.2, -0.3, -0.7])
    held = 0
    for _ in range(100):
        noise = rng.gumbel(size=(60, 4))
        rankings = [["ABCD"[at] for at in np.argsort(-row)] for row in true + noise]
        found = plackett_luce(rankings)
        for name, value in zip("ABCD", true, strict=True):
            each = found.strengths[name]
            assert each.low is not None
            assert each.high is not None
            held += each.low <= value <= each.high
    assert 0.92 <= held / 400 <= 0.98


# ---- what the data do not fix ------------------------------------------------------------------


def test_groups_never_compared_are_named() -> None:
    found = plackett_luce(["AB", "BA", "CD", "DC"])
    assert found.reason == "no ranking joins these groups: A, B; C, D"
    assert found.strengths["A"].value is None
    assert found.strengths["A"].reason == found.reason
    assert plackett_luce(["AB", "BA", "CD", "DC"], ridge=1).reason == found.reason
    assert found.lead("A", "B").value is None


def test_whoever_never_lost_has_no_bound_unless_regularised() -> None:
    found = plackett_luce(["ABC", "BAC"])
    assert found.reason == "A, B never came after C, so nothing bounds the lead; a ridge would"
    held = plackett_luce(["ABC", "BAC"], ridge=1)
    assert strength(held, "A") == pytest.approx(strength(held, "B"), abs=1e-9)
    assert strength(held, "C") < -0.5


def test_a_draw_does_not_bound_the_lead_of_whoever_never_lost() -> None:
    assert "never came after" in bradley_terry([("A", "B", 1), ("A", "B", 0.5)]).reason
    assert not bradley_terry([("A", "B", 1), ("B", "C", 0.5), ("C", "A", 1)]).reason


def test_nothing_but_draws_is_no_scale() -> None:
    for ridge in (0, 1):
        found = bradley_terry([("A", "B", 0.5)] * 3, ridge=ridge)
        assert "every place is shared" in found.reason


def test_nobody_and_one_alone_are_not_rated() -> None:
    assert plackett_luce([]).reason == plackett_luce(["A"]).reason
    assert "two or more" in plackett_luce([]).reason


def test_a_duel_with_oneself_or_an_odd_score_is_refused() -> None:
    for game in (("A", "A", 1.0), ("A", "B", 0.7)):
        with pytest.raises(ValueError, match="a duel is between two"):
            bradley_terry([game])


# ---- Elo ---------------------------------------------------------------------------------------


def test_a_win_between_equals_moves_half_of_k() -> None:
    assert elo([("A", "B", 1)]) == {"A": 1516, "B": 1484}
    assert elo([("A", "B", 0.5)], k=16, initial=1000) == {"A": 1000, "B": 1000}


def test_four_hundred_points_are_odds_of_ten_to_one() -> None:
    ratings = elo([("A", "B", 1)], k=400)
    assert (ratings["A"], ratings["B"]) == (1700, 1300)
    again = elo([("A", "B", 1), ("A", "B", 1)], k=400)
    assert again["A"] - 1700 == pytest.approx(400 / 11)


@given(duels)
@steady
def test_elo_gives_one_what_it_takes_from_the_other(drawn: list[Game]) -> None:
    assert sum(rating - 1500 for rating in elo(drawn).values()) == pytest.approx(0, abs=1e-6)


def test_averaging_takes_the_order_out() -> None:
    played: list[Game] = [("A", "B", 1.0)] * 6 + [("A", "B", 0.0)] * 6 + [("B", "C", 1.0)] * 4
    assert elo(played)["A"] < elo(played[::-1])["A"]
    one, other = elo_averaged(played), elo_averaged(played[::-1])
    for name in "ABC":
        value, low, high = one[name].value, one[name].low, one[name].high
        assert value == pytest.approx(other[name].value, abs=4)
        assert value is not None
        assert low is not None
        assert high is not None
        assert low < value < high
    assert elo_averaged(played, seed=3) == elo_averaged(played, seed=3)


def test_no_duels_give_no_ratings() -> None:
    assert elo([]) == {}
    assert elo_averaged([]) == {}


def test_one_duel_has_one_order() -> None:
    assert elo_averaged([("A", "B", 1)], shuffles=5)["A"].value == 1516
