"""Agreement beyond chance, against published tables and the `krippendorff` package."""

from __future__ import annotations

from itertools import permutations

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from autoreason.stats.reliability import krippendorff_alpha

steady = settings(derandomize=True)
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


@given(ratings)
@steady
def test_who_rated_does_not_matter_to_alpha(rows: list[list[int | None]]) -> None:
    found = [krippendorff_alpha(order).value for order in permutations(rows)]
    assert all(value == pytest.approx(found[0]) for value in found)


def test_ordinal_alpha_sees_only_the_order() -> None:
    stretched = [[r and r**3 for r in row] for row in KRIPPENDORFF_2011]
    assert krippendorff_alpha(stretched).value == krippendorff_alpha(KRIPPENDORFF_2011).value


def test_where_no_one_can_agree_there_is_a_reason() -> None:
    assert krippendorff_alpha([[1, 2]]).reason == "needs two raters or more, there is one rater"
    assert krippendorff_alpha([[1, None], [None, 2]]).reason == "no thing was rated by two raters"
    assert krippendorff_alpha([[3, 3], [3, 3]]).value is None
    assert krippendorff_alpha([]).value is None
    with pytest.raises(ValueError, match="an entry for every thing"):
        krippendorff_alpha([[1, 2], [1]])
