"""Figures of a part: the whole they come from is never outside their limits, and verdicts follow from those."""

from __future__ import annotations

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.figures import (
    NOTHING,
    Found,
    all_of,
    compare,
    conclude,
    deviation_of,
    largest,
    majority,
    mean_of,
    mean_within,
    percentage,
    smallest,
    tally,
)

cases = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20)
points = st.lists(st.tuples(st.integers(1, 35), st.booleans()), min_size=1, max_size=8)


def within(found: Found, value: float) -> bool:
    """Whether a value may be that of the whole; without data it may be any."""
    if found.value is None:
        return True
    low = found.low is None or found.low <= value + 1e-9
    return low and (found.high is None or value <= found.high + 1e-9)


@given(cases)
def test_the_count_of_all_is_within_that_of_a_part(drawn: list[tuple[bool, bool]]) -> None:
    found = tally(hit if here else None for hit, here in drawn)
    assert within(found, sum(hit for hit, _ in drawn))
    assert found.whole == (found.value is None or all(here for _, here in drawn))


@given(points)
def test_the_mean_of_all_is_within_that_of_a_part(drawn: list[tuple[int, bool]]) -> None:
    found = mean_within([value if here else None for value, here in drawn], 1, 35)
    assert within(found, fmean(value for value, _ in drawn))


@given(points)
def test_the_ends_of_all_are_within_those_of_a_part(drawn: list[tuple[int, bool]]) -> None:
    everything, here = [value for value, _ in drawn], [value for value, here in drawn if here]
    assert within(smallest(here, len(drawn)), min(everything))
    assert within(largest(here, len(drawn)), max(everything))


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.data())
def test_a_majority_of_all_is_within_that_of_a_part(
    wins: int, losses: int, missing: int, data: st.DataObject
) -> None:
    more = data.draw(st.integers(0, missing))
    won, lost = wins + more, losses + missing - more
    assert within(majority(wins, losses, missing), float(won > lost))


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_all_of_the_cases_give_a_figure_and_no_interval(hits: list[bool]) -> None:
    found = percentage(hits, len(hits))
    assert found.whole
    assert found.low == pytest.approx(found.value)
    assert found.high == pytest.approx(found.value)
    assert mean_of([float(hit) for hit in hits], len(hits)).whole


def test_nothing_is_known_of_nothing() -> None:
    assert {
        percentage([], 5),
        mean_of([], 5),
        deviation_of([3], 5),
        smallest([], 5),
        largest([], 5),
    } == {NOTHING}
    assert tally([None, None]) == mean_within([None], 1, 2) == majority(0, 0, 5) == NOTHING


@pytest.mark.parametrize(
    ("paper", "found", "verdict"),
    [
        ("88", Found(87.33), "differs"),
        ("87", Found(87.33), "agrees"),
        ("0.21", Found(0.2101), "agrees"),
        ("69", Found(70, 69.3, 70.7), "agrees"),
        ("83", Found(85, 84.3, 85.7), "differs"),
        ("0.32", Found(0.3785), "differs"),
        ("33.7", Found(101 / 3), "agrees"),
        ("4", Found(2, 2, 3, whole=False), "differs"),
        ("3", Found(2, 2, 3, whole=False), "consistent"),
        ("83", Found(95.2, whole=False), "consistent"),
        ("1451", Found(1453, None, 1453, whole=False), "consistent"),
        ("1460", Found(1453, None, 1453, whole=False), "differs"),
        ("5", NOTHING, "no data"),
        ("", Found(5), None),
    ],
)
def test_a_verdict_on_a_figure(paper: str, found: Found, verdict: str | None) -> None:
    assert compare("it", paper, found).verdict == verdict


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ((Found(1), Found(1)), "agrees"),
        ((Found(1), NOTHING), "consistent"),
        ((Found(1), Found(1, 0, 3, whole=False)), "consistent"),
        ((Found(2), NOTHING), "differs"),
        ((NOTHING, NOTHING), "no data"),
    ],
)
def test_a_verdict_on_a_line(found: tuple[Found, ...], verdict: str) -> None:
    assert conclude(compare("it", "1", each) for each in found) == verdict


def test_what_is_claimed_of_all_is_contradicted_by_one() -> None:
    assert compare("it", "100", all_of(9, 10, whole=False)).verdict == "differs"
    assert compare("it", "100", all_of(10, 10, whole=False)).verdict == "consistent"
    assert compare("it", "100", all_of(10, 10, whole=True)).verdict == "agrees"


@pytest.mark.parametrize(
    ("paper", "found", "shown"),
    [
        ("88", Found(87.33), "87"),
        ("69", Found(70, 69.3, 70.7), "70 (69 to 71)"),
        ("35", Found(35), "35"),
        ("1.4", Found(4 / 3, 1.2, 2.8, whole=False), "1.3 (1.2 to 2.8)"),
        ("33.7", Found(101 / 3), "33.7"),
        ("", Found(34), "34"),
        ("", Found(0.5078), "0.51"),
        ("30", Found(30, 30, None, whole=False), "30 (30 or more)"),
        ("30", Found(30, None, 30, whole=False), "30 (30 or less)"),
        ("0.21", Found(0.4244, whole=False), "0.42"),
        ("7", NOTHING, "–"),
    ],
)
def test_a_figure_is_shown_with_its_limits(paper: str, found: Found, shown: str) -> None:
    assert compare("it", paper, found).shown() == shown
