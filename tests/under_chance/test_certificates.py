"""Certificates of judges: how often a coin passes, and how often a fair judge fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from math import comb, factorial, sqrt
from pathlib import Path
from random import Random

import pytest
from tests.cases import cases
from tests.studies.certify.judges import Habit, certified, luck

from autoreason.exchange import Request
from autoreason.stats.shares import clustered_share
from autoreason.studies import certificate as rules

PAGE = Path(__file__).parents[2] / "docs" / "judging.md"
PAIRS = [16, 24]


Answers = list[list[int]]


def pairs_asked_once(pairs: int, truth: float) -> Iterator[tuple[Answers, float]]:
    """All outcomes of one ballot a pair, with how likely each is."""
    for found in range(pairs + 1):
        likely = comb(pairs, found) * truth**found * (1 - truth) ** (pairs - found)
        yield [[1]] * found + [[0]] * (pairs - found), likely


def pairs_asked_twice(pairs: int, truth: float) -> Iterator[tuple[Answers, float]]:
    """All outcomes of two ballots a pair that have nothing to do with each other."""
    for both in range(pairs + 1):
        for one in range(pairs - both + 1):
            none = pairs - both - one
            ways = factorial(pairs) // (factorial(both) * factorial(one) * factorial(none))
            likely = ways * truth ** (2 * both + one) * (1 - truth) ** (2 * none + one) * 2**one
            yield [[1, 1]] * both + [[1, 0]] * one + [[0, 0]] * none, likely


Outcomes = Callable[[int, float], Iterator[tuple[Answers, float]]]
asked = pytest.mark.parametrize("outcomes", [pairs_asked_once, pairs_asked_twice])


def how_often(
    verdict: str, rule: Callable[[Answers], str], outcomes: Iterator[tuple[Answers, float]]
) -> float:
    """How likely a rule comes to a verdict."""
    return sum(likely for answers, likely in outcomes if rule(answers) == verdict)


@asked
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("floor", [rules.FLOOR, rules.COIN])
def test_a_judge_exactly_at_the_floor_passes_or_fails_once_in_forty_times_at_most(
    outcomes: Outcomes, pairs: int, floor: float
) -> None:
    def rule(answers: Answers) -> str:
        return rules.weigh(clustered_share(answers), floor)

    found = list(outcomes(pairs, floor))
    assert how_often("passed", rule, iter(found)) <= 0.025
    assert how_often("failed", rule, iter(found)) <= 0.025


def test_ballots_as_often_unreadable_as_is_allowed_pass_or_fail_once_in_forty_times_at_most() -> (
    None
):
    def rule(read: Answers) -> str:
        return rules.weigh(clustered_share(read), rules.READABLE)

    found = list(pairs_asked_once(168, rules.READABLE))
    assert how_often("passed", rule, iter(found)) <= 0.025
    assert how_often("failed", rule, iter(found)) <= 0.025


@asked
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_judge_without_a_taste_for_length_fails_once_in_forty_times_at_most(
    outcomes: Outcomes, pairs: int
) -> None:
    def rule(answers: Answers) -> str:
        return rules.measure(rules.LENGTH, answers, "").verdict

    assert how_often("failed", rule, outcomes(pairs, rules.COIN)) <= 0.025


@asked
@pytest.mark.parametrize("pairs", PAIRS)
def test_a_judge_who_does_not_follow_records_seldom_fails_on_them(
    outcomes: Outcomes, pairs: int
) -> None:
    """Which text is named is drawn, so it is the one the judge prefers half of the time, whatever that is."""

    def rule(answers: Answers) -> str:
        return rules.measure(rules.RECORDS, answers, "").verdict

    assert how_often("failed", rule, outcomes(pairs, rules.COIN)) <= 0.025


@asked
@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("truth", [*rules.BAND, 0.5])
def test_a_judge_within_the_band_seldom_fails_on_position(
    outcomes: Outcomes, pairs: int, truth: float
) -> None:
    def rule(answers: Answers) -> str:
        return rules.measure(rules.POSITION, answers, "").verdict

    assert how_often("failed", rule, outcomes(pairs, truth)) <= 0.025


@cases("changed", range(1, 25))
def test_answers_that_change_by_chance_are_seldom_called_obedience(changed: int) -> None:
    wrong = sum(
        comb(changed, rose)
        for rose in range(changed + 1)
        if rules.measure(rules.INJECTION, [[1]] * rose + [[0]] * (changed - rose), "", 24).verdict
        == "failed"
    )
    assert wrong / 2**changed <= 0.025


def coin(seed: int) -> Habit:
    """A judge who tosses a coin for every ballot."""

    def habit(request: Request, texts: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(sorted(texts, key=lambda label: luck(seed, request.key, label)))

    return habit


async def test_a_coin_never_gets_a_certificate() -> None:
    for seed in range(6):
        found = await certified(coin(seed), seed)
        assert found.verdict != "passed"
        assert "planted defects" in (*found.failed, *found.not_shown)
        assert "nine texts: yes" not in found.ranks_nine


def test_a_coin_is_said_to_rank_nine_texts_once_in_forty_times_at_most() -> None:
    def rule(answers: Answers) -> str:
        return rules.measure(rules.MANY_TEXTS, answers, "").verdict

    # No order counts as no, so that a coin is right in at most half of the cases.
    for outcomes in (pairs_asked_once, pairs_asked_twice):
        assert how_often("passed", rule, outcomes(12, rules.COIN)) <= 0.025


def answers_of(judge: Random, accuracy: float, repeats: int) -> list[str]:
    """Verdicts on a judge who is right so often, each time by itself, and has no other habit."""

    def answers(chance: float, each: int = repeats) -> list[list[bool]]:
        return [[judge.random() < chance for _ in range(each)] for _ in range(24)]

    seen, again = answers(accuracy, 2 * repeats), answers(accuracy)
    injected = [(one[0], judge.random() < accuracy) for one in seen]
    rose = sum(before and not after for before, after in injected)
    fell = sum(after and not before for before, after in injected)
    same = [
        [x == y for x, y in zip(a[::2], b, strict=True)] for a, b in zip(seen, again, strict=True)
    ]
    swapped = [[x == y for x, y in zip(a[::2], a[1::2], strict=True)] for a in seen]
    return [
        rules.weigh(clustered_share(seen), rules.FLOOR),
        *(verdict for each in (same, swapped) if (verdict := agreement(each)) == "failed"),
        rules.measure(rules.POSITION, answers(0.5), "").verdict,
        rules.measure(rules.LENGTH, answers(1 - accuracy), "").verdict,
        rules.measure(rules.RECORDS, answers(0.5), "").verdict,
        rules.measure(rules.INJECTION, [[1]] * rose + [[0]] * (fell), "", 24).verdict,
    ]


def agreement(same: list[list[bool]]) -> str:
    """How a judge agrees with itself; it fails a certificate only where that is shown to be too little."""
    return rules.weigh(clustered_share(same), rules.COIN)


CURVE = re.compile(r"^\| right on (\d+) % \| (.*) \|$", re.MULTILINE)
CERTIFICATES = 150


@cases("row", CURVE.findall(PAGE.read_text("utf-8")))
def test_the_operating_curve_on_the_page_is_what_the_rules_give(row: tuple[str, str]) -> None:
    accuracy, printed = int(row[0]) / 100, [int(cell) / 100 for cell in row[1].split(" | ")]
    for shown, repeats in ((printed[:3], 1), (printed[3:], 3)):
        judge = Random(f"{accuracy} {repeats}")
        played = [answers_of(judge, accuracy, repeats) for _ in range(CERTIFICATES)]
        failed = sum("failed" in each for each in played)
        passed = sum(set(each) == {"passed"} for each in played)
        rates = (passed, CERTIFICATES - passed - failed, failed)
        for share, found in zip(shown, rates, strict=True):
            spread = sqrt(max(share * (1 - share), 0.01) / CERTIFICATES)
            assert abs(found / CERTIFICATES - share) <= 4 * spread


def test_the_operating_curve_is_on_the_page() -> None:
    assert len(CURVE.findall(PAGE.read_text("utf-8"))) == 7
