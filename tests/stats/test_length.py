"""Length and preference."""

from __future__ import annotations

import pytest

from autoreason.stats.length import longer_preferred


def test_the_longer_text_is_counted_from_either_side() -> None:
    found = longer_preferred([1, 0, 0, 1, 0.5, 1], [10, -10, 10, -10, 10, 0])
    assert (found.value, found.n) == (0.5, 4)
    assert longer_preferred([], []).value is None


def test_comparisons_of_a_ballot_count_once() -> None:
    found = longer_preferred([1, 1, 1, 0], [5, 5, 5, 5], clusters=["one", "one", "one", "other"])
    assert (found.value, found.n) == (0.75, 2)


def test_every_outcome_needs_its_difference_in_length() -> None:
    with pytest.raises(ValueError, match="shorter"):
        longer_preferred([1, 0], [3])
