"""Certificates of judges: how often a coin passes, and how often a fair judge fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import comb, factorial

import pytest
from tests.studies.certify.judges import Habit, certified, luck

from autoreason.exchange import Request
from autoreason.studies.certify import properties as rules
from autoreason.studies.certify.properties import CertificateFinding

PAIRS = [16, 24]


def pairs_asked_once(pairs: int, truth: float) -> Iterator[tuple[list[float], float]]:
    """All outcomes of one ballot a pair, with how likely each is."""
    for found in range(pairs + 1):
        likely = comb(pairs, found) * truth**found * (1 - truth) ** (pairs - found)
        yield [1.0] * found + [0.0] * (pairs - found), likely


def pairs_asked_twice(pairs: int, truth: float) -> Iterator[tuple[list[float], float]]:
    """All outcomes of two ballots a pair that have nothing to do with each other."""
    for both in range(pairs + 1):
        for one in range(pairs - both + 1):
            none = pairs - both - one
            ways = factorial(pairs) // (factorial(both) * factorial(one) * factorial(none))
            likely = ways * truth ** (2 * both + one) * (1 - truth) ** (2 * none + one) * 2**one
            yield [1.0] * both + [0.5] * one + [0.0] * none, likely


Outcomes = Callable[[int, float], Iterator[tuple[list[float], float]]]
asked = pytest.mark.parametrize("outcomes", [pairs_asked_once, pairs_asked_twice])


def how_often(
    verdict: str,
    rule: Callable[[list[float]], CertificateFinding],
    outcomes: Iterator[tuple[list[float], float]],
) -> float:
    """How likely a rule comes to a verdict."""
    return sum(likely for shares, likely in outcomes if rule(shares).verdict == verdict)


@asked
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize(
    ("what", "floor"),
    [(rules.DEFECTS, rules.FLOOR), (rules.REPEAT, rules.COIN), (rules.SWAP, rules.COIN)],
)
def test_a_judge_no_better_than_the_floor_passes_once_in_forty_times_at_most(
    outcomes: Outcomes, pairs: int, what: rules.Property, floor: float
) -> None:
    def rule(shares: list[float]) -> CertificateFinding:
        return rules.at_least(what, shares, floor, "")

    assert how_often("pass", rule, outcomes(pairs, floor)) <= 0.025


def test_ballots_as_often_unreadable_as_is_allowed_pass_once_in_forty_times_at_most() -> None:
    def rule(read: list[float]) -> CertificateFinding:
        return rules.at_least(rules.BALLOTS, read, rules.READABLE, "")

    assert how_often("pass", rule, pairs_asked_once(168, rules.READABLE)) <= 0.025


@asked
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_judge_without_a_taste_for_length_fails_once_in_forty_times_at_most(
    outcomes: Outcomes, pairs: int
) -> None:
    def rule(shares: list[float]) -> CertificateFinding:
        return rules.within(rules.LENGTH, shares, (0.0, rules.COIN), "")

    assert how_often("fail", rule, outcomes(pairs, rules.COIN)) <= 0.025


@asked
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_judge_who_does_not_follow_records_seldom_fails_on_them(
    outcomes: Outcomes, pairs: int
) -> None:
    """Which text is named is drawn, so it is the one the judge prefers half of the time, whatever that is."""

    def rule(shares: list[float]) -> CertificateFinding:
        return rules.within(rules.RECORDS, shares, (0.0, rules.COIN), "")

    assert how_often("fail", rule, outcomes(pairs, rules.COIN)) <= 0.025


@asked
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("truth", [*rules.BAND, 0.5])
def test_a_judge_within_the_band_seldom_fails_on_position(
    outcomes: Outcomes, pairs: int, truth: float
) -> None:
    def rule(shares: list[float]) -> CertificateFinding:
        return rules.within(rules.POSITION, shares, rules.BAND, "")

    assert how_often("fail", rule, outcomes(pairs, truth)) <= 0.025


@pytest.mark.parametrize("changed", range(1, 25))
def test_answers_that_change_by_chance_are_seldom_called_obedience(changed: int) -> None:
    wrong = sum(
        comb(changed, rose)
        for rose in range(changed + 1)
        if rules.judge_injection(rose, changed - rose, 24, "").verdict == "fail"
    )
    assert wrong / 2**changed <= 0.025


@pytest.mark.parametrize("couples", range(1, 25))
@pytest.mark.parametrize("seen", [0.5, 0.8])
def test_a_judge_without_a_favourite_place_is_seldom_said_to_have_one(
    couples: int, seen: float
) -> None:
    """Whatever it sees in the texts, it errs to either place alike."""
    leans = 2 * seen * (1 - seen)
    wrong = 0.0
    for second in range(couples + 1):
        for first in range(couples - second + 1):
            none = couples - second - first
            ways = factorial(couples) // (factorial(second) * factorial(first) * factorial(none))
            found = [2] * second + [0] * first + [1] * none
            p = rules.lean(list(enumerate(found))).p_value
            if p is not None and p <= 0.05:
                wrong += ways * (leans / 2) ** (second + first) * (1 - leans) ** none
    assert wrong <= 0.05


def coin(seed: int) -> Habit:
    """A judge who tosses a coin for every ballot."""

    def habit(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(sorted(texts, key=lambda label: luck(seed, request.key, label)))

    return habit


async def test_a_coin_never_gets_a_certificate() -> None:
    for seed in range(6):
        found = await certified(coin(seed), seed)
        assert found.verdict == "fail"
        assert "planted defects" in found.failed
