"""Agreement beyond chance, against published tables and the `krippendorff` package."""

from __future__ import annotations

from itertools import permutations
from typing import get_args

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as their_kappa

from autoreason.stats.reliability import Level, fleiss_kappa, krippendorff_alpha

steady = settings(derandomize=True)
KRIPPENDORFF_2011: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
"""Four observers and twelve units, example D of Krippendorff (2011)."""

FLEISS_1971 = [
    *((0, 0, 0, 6, 0), (0, 3, 0, 0, 3), (0, 1, 4, 0, 1), (0, 0, 0, 0, 6), (0, 3, 0, 3, 0)),
    *((2, 0, 4, 0, 0), (0, 0, 4, 0, 2), (2, 0, 3, 1, 0), (2, 0, 0, 4, 0), (0, 0, 0, 0, 6)),
    *((1, 0, 0, 5, 0), (1, 1, 0, 4, 0), (0, 3, 3, 0, 0), (1, 0, 0, 5, 0), (0, 2, 0, 3, 1)),
    *((0, 0, 5, 0, 1), (3, 0, 0, 1, 2), (5, 1, 0, 0, 0), (0, 2, 0, 4, 0), (1, 0, 2, 0, 3)),
    *((0, 0, 0, 0, 6), (0, 1, 0, 5, 0), (0, 2, 0, 1, 3), (2, 0, 0, 4, 0), (1, 0, 0, 4, 1)),
    *((0, 5, 0, 1, 0), (4, 0, 0, 0, 2), (0, 2, 0, 4, 0), (1, 0, 5, 0, 0), (0, 0, 0, 0, 6)),
]
"""Thirty patients, six psychiatrists, five diagnoses."""

ratings = st.lists(
    st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=5, max_size=5),
    min_size=2,
    max_size=4,
)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_is_the_published_one(level: Level, published: float) -> None:
    found = krippendorff_alpha(KRIPPENDORFF_2011, level=level)
    assert found.value == pytest.approx(published, abs=5e-4)
    assert found.n == 11, "the unit rated once says nothing"


@given(ratings, st.sampled_from(get_args(Level)))
@steady
def test_alpha_is_that_of_the_krippendorff_package(
    rows: list[list[int | None]], level: Level
) -> None:
    found = krippendorff_alpha(rows, level=level)
    assume(found.value is not None)
    table = np.array([[np.nan if r is None else r for r in row] for row in rows], dtype=float)
    assert found.value == pytest.approx(krippendorff.alpha(table, level_of_measurement=level))


@given(ratings)
@steady
def test_who_rated_does_not_matter_to_alpha(rows: list[list[int | None]]) -> None:
    found = [krippendorff_alpha(order).value for order in permutations(rows)]
    assert all(value == pytest.approx(found[0]) for value in found)


def test_ordinal_alpha_sees_only_the_order() -> None:
    stretched = [[r and r**3 for r in row] for row in KRIPPENDORFF_2011]
    assert krippendorff_alpha(stretched).value == krippendorff_alpha(KRIPPENDORFF_2011).value


def test_the_interval_of_alpha_is_drawn_over_things_and_can_be_repeated() -> None:
    found = krippendorff_alpha(KRIPPENDORFF_2011, resamples=300, seed=3)
    assert found == krippendorff_alpha(KRIPPENDORFF_2011, resamples=300, seed=3)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.815 < found.high <= 1


def test_where_nobody_can_agree_there_is_a_reason() -> None:
    assert krippendorff_alpha([[1, 2]]).reason == "needs two raters or more, there is one rater"
    assert krippendorff_alpha([[1, None], [None, 2]]).reason == "no thing was rated by two raters"
    assert krippendorff_alpha([[3, 3], [3, 3]]).value is None
    assert krippendorff_alpha([]).value is None
    with pytest.raises(ValueError, match="an entry for every thing"):
        krippendorff_alpha([[1, 2], [1]])


def test_kappa_is_the_published_one() -> None:
    assert fleiss_kappa(FLEISS_1971).value == pytest.approx(0.430, abs=5e-4)


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=2, max_size=8))
@steady
def test_kappa_is_that_of_statsmodels(ratings_by_thing: list[list[int]]) -> None:
    table = [[row.count(category) for category in range(3)] for row in ratings_by_thing]
    found = fleiss_kappa(table)
    assume(found.value is not None)
    assert found.value == pytest.approx(their_kappa(np.array(table)))


def test_kappa_needs_two_raters_and_two_categories() -> None:
    assert fleiss_kappa([]).value is None
    assert fleiss_kappa([[1, 0]]).reason == "needs two raters or more, there is one rater"
    assert fleiss_kappa([[3, 0], [3, 0]]).value is None
    with pytest.raises(ValueError, match="same number of raters"):
        fleiss_kappa([[3, 0], [2, 0]])
