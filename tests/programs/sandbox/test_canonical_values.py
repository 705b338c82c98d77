"""Values are written down so that what tests would call equal is the same text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.programs.sandbox.test_driver import MAX_VALUE_TEXT, canonical, shorten

steady = settings(derandomize=True)
whole = st.integers(-(10**30), 10**30)
plain = st.recursive(
    st.none() | st.booleans() | whole | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.frozensets(whole, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@steady
@given(plain, plain)
def test_values_without_fractions_are_the_same_text_exactly_where_they_are_equal(
    one: object, other: object
) -> None:
    assert (canonical(one) == canonical(other)) == (one == other)


@steady
@given(st.lists(whole, max_size=6))
def test_the_order_of_a_set_and_of_keys_does_not_matter(items: list[int]) -> None:
    shuffled = items[::-1]
    assert canonical(set(items)) == canonical(set(shuffled))
    assert canonical(dict.fromkeys(items)) == canonical(dict.fromkeys(shuffled))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.1 + 0.2, 0.3),
        (2.9999999999999996, 3),
        ([1e-17], [0]),
        (5 + 0j, 5),
        pytest.param(10**5000, 10**5000, id="huge"),
    ],
)
def test_numbers_within_the_usual_tolerance_are_the_same(one: object, other: object) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1], (1,)),
        ("1", 1),
        (b"a", "a"),
        (1.01, 1.02),
        (1234567.0, 1234568.0),
        ([], None),
        pytest.param(10**5000, 10**5000 + 1, id="huge"),
        ({1: 2}, {2: 1}),
    ],
)
def test_what_tests_would_tell_apart_is_not_the_same(one: object, other: object) -> None:
    assert canonical(one) != canonical(other)


@steady
@given(st.text(), st.text())
def test_long_texts_become_short_and_stay_different(one: str, other: str) -> None:
    one, other = one * 100, other * 100
    assert len(shorten(one)) <= MAX_VALUE_TEXT
    assert (shorten(one) == shorten(other)) == (one == other)
