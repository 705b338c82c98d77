"""The pick test: whether drafts differ, and whether fresh judges confirm the pick."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.story import Story
from autoreason.studies.advise.pick_test import (
    PickTest,
    chance_confirmed,
    is_confirmed,
    mean_distance,
    read_pick,
)


def test_five_of_seven_confirm_a_pick_and_four_do_not() -> None:
    assert is_confirmed(7, 5)
    assert not is_confirmed(7, 4)
    assert not is_confirmed(0, 0)
    assert chance_confirmed(0.5) < chance_confirmed(0.8)


def test_words_say_how_far_texts_are_apart() -> None:
    assert mean_distance(["one two three", "One, two, three!"]) == 0
    assert mean_distance(["one two", "three four"]) == 1
    assert mean_distance(["one two", "one four"]) == 0.5
    assert mean_distance(["春天来了", "春天走了"]) == 0.25
    assert mean_distance(["alone"]) is None
    assert mean_distance(["...", "!!"]) == 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_distance_is_a_share_and_goes_both_ways(one: str, other: str) -> None:
    found = mean_distance([one, other])
    assert found is not None
    assert 0 <= found <= 1
    assert found == mean_distance([other, one])
    assert mean_distance([one, one]) == 0


def test_an_author_who_repeats_itself_leaves_nothing_to_pick() -> None:
    found = read_pick(Story(), None)
    assert found == PickTest(drafts=1, distance=None, judges=0, prefer=0)
    assert found.alike
    assert "nothing to pick" in found.describe()
