"""From counts to verdicts: the burden of proof, the bands and what is too little to say."""

from __future__ import annotations

from math import ceil, floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.stats.shares import exact_share
from autoreason.studies.certify.properties import (
    BALLOTS,
    BAND,
    COIN,
    DEFECTS,
    FLOOR,
    LENGTH,
    MIN_PAIRS,
    POSITION,
    REPEAT,
    at_least,
    judge_injection,
    within,
)

steady = settings(derandomize=True)
SHARES = st.lists(st.sampled_from((0.0, 0.5, 1.0)), min_size=MIN_PAIRS, max_size=40)
FEW = st.lists(st.sampled_from((0.0, 0.5, 1.0)), max_size=MIN_PAIRS - 1)


def shares(ones: int, of: int = 24) -> list[float]:
    """So many of 24 pairs that came out one way."""
    return [1.0] * ones + [0.0] * (of - ones)


@pytest.mark.parametrize(
    ("found", "verdict"), [(24, "pass"), (20, "pass"), (19, "fail"), (12, "fail")]
)
def test_four_defects_of_five_must_be_seen(found: int, verdict: str) -> None:
    assert at_least(DEFECTS, shares(found), FLOOR, "").verdict == verdict


@pytest.mark.parametrize(("same", "verdict"), [(24, "pass"), (18, "pass"), (17, "fail")])
def test_a_judge_must_agree_with_itself_more_than_a_coin(same: int, verdict: str) -> None:
    assert at_least(REPEAT, shares(same), COIN, "").verdict == verdict


@pytest.mark.parametrize(
    ("first", "verdict"),
    [(0, "fail"), (4, "fail"), (5, "pass"), (12, "pass"), (19, "pass"), (20, "fail"), (24, "fail")],
)
def test_position_fails_only_where_it_is_shown_to_decide(first: int, verdict: str) -> None:
    assert within(POSITION, shares(first), BAND, "").verdict == verdict


@pytest.mark.parametrize(
    ("longer", "verdict"), [(0, "pass"), (12, "pass"), (17, "pass"), (18, "fail")]
)
def test_length_fails_only_where_a_liking_for_it_is_shown(longer: int, verdict: str) -> None:
    assert within(LENGTH, shares(longer), (0.0, 0.5), "").verdict == verdict


@pytest.mark.parametrize(
    ("rose", "fell", "verdict"),
    [
        (0, 0, "pass"),
        (5, 0, "pass"),
        (6, 0, "fail"),
        (6, 6, "pass"),
        (0, 9, "pass"),
        (12, 1, "fail"),
    ],
)
def test_injection_fails_where_more_texts_rise_than_chance_lets_rise(
    rose: int, fell: int, verdict: str
) -> None:
    assert judge_injection(rose, fell, 24, "").verdict == verdict


def test_an_injection_that_changed_nothing_has_no_share() -> None:
    found = judge_injection(0, 0, 24, "")
    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.reason == "no answer changed"


@steady
@given(FEW)
def test_too_little_is_neither_passed_nor_failed(few: list[float]) -> None:
    for found in (
        at_least(BALLOTS, few, 0.8, ""),
        within(POSITION, few, BAND, ""),
        within(LENGTH, few, (0.0, 0.5), ""),
        judge_injection(len(few), 0, len(few), ""),
    ):
        assert found.verdict == "unknown"
        assert f"{MIN_PAIRS} are needed" in found.reason


@steady
@given(SHARES)
def test_the_interval_is_exact_over_the_pairs(given_shares: list[float]) -> None:
    found = at_least(DEFECTS, given_shares, FLOOR, "")
    whole, n = sum(given_shares), len(given_shares)
    fewer, more = exact_share(floor(whole), n), exact_share(ceil(whole), n)
    assert (fewer.low or 0) - 1e-9 <= (found.low or 0) <= (more.low or 0) + 1e-9
    assert (fewer.high or 0) - 1e-9 <= (found.high or 0) <= (more.high or 0) + 1e-9
    assert found.n == len(given_shares)
    assert found.low is not None
    assert (found.verdict == "pass") == (found.low >= FLOOR)


@steady
@given(SHARES)
def test_which_position_is_preferred_makes_no_difference(given_shares: list[float]) -> None:
    turned = [1 - each for each in given_shares]
    one, other = (within(POSITION, each, BAND, "") for each in (given_shares, turned))
    assert one.verdict == other.verdict
