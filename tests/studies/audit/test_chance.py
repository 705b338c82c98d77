"""What judges who rank at random give: counted, not estimated, wherever it can be."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations, product

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from autoreason.stats.ranks import agreement
from autoreason.stats.sums import moments
from autoreason.studies.audit_panels import (
    Course,
    mean_tau,
    pairs_by_chance,
    position_by_chance,
    survivals_by_chance,
    tau_by_chance,
)
from autoreason.tournament.judges import balanced_orders

NAMES = ("A", "B", "C")
RANKINGS = st.lists(st.permutations(NAMES), min_size=2, max_size=6)


@given(RANKINGS)
def test_agreement_is_the_mean_tau(rankings: list[list[str]]) -> None:
    assert mean_tau(tuple(map(tuple, rankings))) == pytest.approx(agreement(rankings))


@pytest.mark.parametrize("judges", [2, 3])
def test_small_panels_are_counted_whole(judges: int) -> None:
    every = list(product(permutations(NAMES), repeat=judges))
    counts = Counter(round(mean_tau(cast), 9) for cast in every)
    expected = {value: times / len(every) for value, times in counts.items()}
    assert dict(tau_by_chance(judges, 3)) == pytest.approx(expected)


@pytest.mark.parametrize(("judges", "texts"), [(2, 3), (7, 3), (5, 5), (9, 2), (7, 5)])
def test_random_judges_have_a_tau_of_0(judges: int, texts: int) -> None:
    pairs = judges * (judges - 1) / 2
    assert moments([tau_by_chance(judges, texts)])[:2] == pytest.approx(
        (0, 2 * (2 * texts + 5) / (9 * texts * (texts - 1)) / pairs), abs=1e-7
    )


@pytest.mark.parametrize("k", [None, 2, 3])
def test_a_run_that_stops_after_a_streak_is_expected_to_survive_as_often_as_chance(
    k: int | None,
) -> None:
    part = survivals_by_chance(0.4, 9, k)
    assert sum(p for _, p in part) == pytest.approx(1)
    assert moments([part]).mean == pytest.approx(0, abs=1e-9)


COURSES = st.tuples(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(2, 4))


@given(COURSES)
def test_pairs_are_counted_over_every_course_that_stops_alike(
    given_course: tuple[list[bool], int],
) -> None:
    survived, k = given_course
    course = Course.of(survived, k)
    alike = [
        other
        for order in set(permutations(survived))
        if (other := Course.of(order, k))[1:] == course[1:] or course.k is None
    ]
    counts = Counter(other.pairs for other in alike)
    if sum(survived):
        expected = {pairs: times / len(alike) for pairs, times in counts.items()}
        assert dict(pairs_by_chance(course)) == pytest.approx(expected)
    else:
        assert pairs_by_chance(course) == ()


def test_judges_who_agree_on_balanced_orders_have_no_favourite_position() -> None:
    panel = [(order, "A") for order in balanced_orders(NAMES, 3, seed=1)]
    assert position_by_chance([panel] * 20) is None


@pytest.mark.parametrize("panels", [8, 200])
def test_lone_judges_who_always_take_the_first_are_seen(panels: int) -> None:
    rng = random.Random(4)
    orders = [rng.sample(NAMES, 3) for _ in range(panels)]
    p = position_by_chance([[(order, order[0])] for order in orders])
    assert p is not None
    assert p == pytest.approx(3.0 ** (1 - panels), abs=1e-6)


def test_lone_judges_are_tested_as_by_chi_square_where_there_are_many() -> None:
    rng = random.Random(5)
    seen = [(order, rng.choice(order)) for order in (rng.sample(NAMES, 3) for _ in range(900))]
    counts = Counter(order.index(first) for order, first in seen)
    expected = scipy.stats.chisquare([counts[place] for place in range(3)]).pvalue
    assert position_by_chance([[one] for one in seen]) == pytest.approx(expected, abs=1e-9)
