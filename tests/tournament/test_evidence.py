"""What chance would have done, checked against counting everything and against playing it out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import comb, isclose, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.tournament.evidence import (
    SurvivalChances,
    chance_of_margin,
    chance_of_streak,
    survival_chances,
)
from autoreason.tournament.voting import PanelSize, VoteResult, count_votes

steady = settings(derandomize=True)


def every_panel(judges: int, candidates: int, rule: str = "borda") -> Iterator[VoteResult]:
    names = "ABCDE"[:candidates]
    for rankings in product(tuple(permutations(names)), repeat=judges):
        yield count_votes(rule, rankings, names)


def played_chances(ends: Sequence[VoteResult]) -> tuple[float, float]:
    """How often A led, and how often it stayed without a lead."""
    stayed = [each.margin > 0 for each in ends if each.winner == "A"]
    return stayed.count(True) / len(ends), stayed.count(False) / len(ends)


def random_panels(
    judges: int, candidates: int, panels: int, seed: int, rule: str = "borda"
) -> Iterator[VoteResult]:
    names, rng = "ABCDEFGHIJ"[:candidates], random.Random(seed)
    for _ in range(panels):
        yield count_votes(rule, [rng.sample(names, candidates) for _ in range(judges)], names)


@cases(
    ("judges", "candidates", "rule"),
    [
        *((judges, 2, "borda") for judges in (1, 5, 8)),
        *((judges, 3, "borda") for judges in (1, 2, 3, 5)),
        *((judges, 4, "borda") for judges in (1, 2, 3)),
        (2, 5, "borda"),
        *((5, 2, rule) for rule in ("majority", "copeland", "instant_runoff")),
        *((3, 3, rule) for rule in ("majority", "copeland", "instant_runoff")),
        *((2, 4, rule) for rule in ("majority", "copeland", "instant_runoff")),
    ],
)
def test_the_chances_are_those_of_counting_every_possible_panel(
    judges: int, candidates: int, rule: str
) -> None:
    tallies = list(every_panel(judges, candidates, rule))
    for margin in range(judges * candidates):
        share = sum(tally.margin >= margin for tally in tallies) / len(tallies)
        assert isclose(chance_of_margin(judges, margin, candidates, rule), share, abs_tol=1e-12)
    assert survival_chances(judges, candidates, rule) == pytest.approx(played_chances(tallies))


@pytest.mark.parametrize(
    ("judges", "candidates", "rule"),
    [
        *((9, 3, "borda"), (7, 5, "borda")),
        *(pytest.param(7, 8, rule, id=f"sampled {rule}") for rule in ("borda", "majority")),
    ],
)
def test_the_chances_are_those_of_playing_it_out(judges: int, candidates: int, rule: str) -> None:
    tallies = list(random_panels(judges, candidates, panels=8000, seed=5, rule=rule))
    for margin in (1, 2, 4, 8):
        share = sum(tally.margin >= margin for tally in tallies) / len(tallies)
        assert abs(chance_of_margin(judges, margin, candidates, rule) - share) < 0.025
    expected = pytest.approx(survival_chances(judges, candidates, rule), abs=0.025)
    assert played_chances(tallies) == expected


def test_three_judges_who_cannot_tell_texts_apart_displace_the_incumbent_in_60_percent() -> None:
    survival, tie = survival_chances(3)
    assert survival + tie == pytest.approx(86 / 216)
    assert survival_chances(PanelSize(3, ties_survive=True)) == (86 / 216, 0)
    assert (round(survival, 2), round(tie, 2)) == (0.29, 0.11)


def test_the_largest_margin_takes_a_favourite_of_all_and_rivals_who_split_the_rest() -> None:
    assert isclose(chance_of_margin(6, 9), 3 * (1 / 3) ** 6 * comb(6, 3) / 2**6)
    assert chance_of_margin(6, 10) == 0.0


# ---- panels that stop early ------------------------------------------------------------------------

SIX = PanelSize(6, early_stop=True)
SIZES = [SIX, PanelSize(3, early_stop=True), PanelSize(5, early_stop=True), PanelSize(4)]


def cast_panels(
    size: PanelSize, names: str, rule: str, lost: tuple[int, ...], panels: int
) -> Iterator[list[Sequence[str]]]:
    """The ballots of random judges, asked as a run asks them."""
    rng = random.Random(5)
    for _ in range(panels):
        cast: list[Sequence[str]] = []
        seat = 0
        while wave := size.wave(cast, names, rule, seat - len(cast)):
            asked = range(seat, seat + wave)
            cast += [rng.sample(names, len(names)) for each in asked if each not in lost]
            seat += wave
        yield cast


@cases(
    ("size", "lost", "rule", "names"),
    [
        *((size, lost, "borda", "ABC") for size in SIZES for lost in ((), (1,))),
        *((SIX, (), rule, "ABC") for rule in ("majority", "copeland")),
        *((SIX, (1,), rule, "AB") for rule in ("borda", "majority")),
    ],
)
def test_the_chances_of_panels_that_stop_early_are_those_of_playing_them_out(
    size: PanelSize, lost: tuple[int, ...], rule: str, names: str
) -> None:
    cast = cast_panels(size, names, rule, lost, panels=1000)
    tallies = [count_votes(rule, each, names) for each in cast]
    for margin in (1, 2, 3, 5):
        share = sum(tally.margin >= margin for tally in tallies) / len(tallies)
        chance = chance_of_margin(size, margin, len(names), rule, lost)
        assert abs(chance - share) < 0.064, margin
    expected = pytest.approx(survival_chances(size, len(names), rule, lost), abs=0.064)
    assert played_chances(tallies) == expected


def test_a_panel_that_stops_where_the_vote_is_clear_is_not_one_of_as_many_judges() -> None:
    assert chance_of_margin(SIX, 2) > chance_of_margin(6, 2)


@pytest.mark.parametrize("rule", ["borda", "majority", "copeland", "instant_runoff"])
@pytest.mark.parametrize("lead", [1, 2, 3])
def test_sparing_judges_leaves_the_chance_of_a_survival_with_any_lead(rule: str, lead: int) -> None:
    rankings = product(tuple(permutations("ABC")), repeat=3)
    expected = played_chances([count_votes(rule, each, "ABC", lead) for each in rankings])
    whole = PanelSize(3, required_lead=lead)
    assert survival_chances(whole, rule=rule) == pytest.approx(expected)
    early = survival_chances(replace(whole, early_stop=True), rule=rule)
    assert early == pytest.approx(expected)


def test_panels_too_large_to_follow_are_drawn() -> None:
    drawn = survival_chances(PanelSize(20, early_stop=True))
    assert drawn == pytest.approx(survival_chances(20), abs=0.1)
    assert 0 < chance_of_margin(PanelSize(20, early_stop=True), 60) < 0.01


# ---- streaks ---------------------------------------------------------------------------------------


THIRDS = st.tuples(st.floats(0, 0.5), st.floats(0, 0.5)).map(SurvivalChances._make)


@given(st.lists(THIRDS, max_size=6), st.integers(1, 4))
@steady
def test_the_chance_of_a_streak_is_that_of_counting_every_course_of_events(
    chances: list[SurvivalChances], k: int
) -> None:
    total = 0.0
    for course in product("A=-", repeat=len(chances)):
        # A tie neither counts nor ends the row.
        if "A" * k in "".join(course).replace("=", ""):
            total += prod(
                {"A": each.survival, "=": each.tie, "-": 1 - sum(each)}[end]
                for end, each in zip(course, chances, strict=True)
            )
    assert chance_of_streak(k, chances) == pytest.approx(total, abs=1e-9)


def test_what_no_sampled_panel_shows_is_unlikely_and_not_impossible() -> None:
    assert 0 < chance_of_margin(9, 80, 10) < 0.001
