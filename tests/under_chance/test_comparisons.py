"""Comparisons: strategies that are all the same, and judges who agree on texts or do not."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.once import once
from tests.under_chance.luck import NAMES, ballot, judged, misses, most_often, names

from autoreason.studies.lab_report import summarize_panel
from autoreason.studies.panel_report import PanelReport, report

TIMES = 60
STUDIES = [(2, 3, 2, 0.0), (3, 7, 2, 1.0), (5, 7, 4, 8.0), (7, 7, 3, 0.0), (7, 7, 3, 8.0)]
"""Repeats, judges, strategies, and how far judges agree on the texts of a repeat."""
studies = pytest.mark.parametrize(("repeats", "judges", "strategies", "alike"), STUDIES)


def drawn_report(
    rng: np.random.Generator, repeats: int, judges: int, strategies: int, alike: float
) -> PanelReport:
    """Texts are of another quality in every repeat, and no strategy writes better ones."""
    every, shown, lengths = [], [], {}
    for repeat in range(repeats):
        quality = alike * rng.standard_normal(strategies)
        seen = quality + rng.gumbel(size=(judges, strategies))
        rankings = [tuple(NAMES[at] for at in np.argsort(-each)) for each in seen]
        every += judged(rankings, cluster=repeat)
        shown += [
            ballot(seat, tuple(map(str, rng.permutation(names(strategies)))), ranking)
            for seat, ranking in enumerate(rankings)
        ]
        words = rng.integers(80, 120, size=strategies).tolist()
        lengths[repeat] = dict(zip(names(strategies), words, strict=True))
    words = dict.fromkeys(names(strategies), 100)
    return report(every, words, shown, clustered=True, lengths=lengths)


@once
def said(repeats: int, judges: int, strategies: int, alike: float) -> Counter[str]:
    """How often a report says what is not so."""
    rng = np.random.default_rng((repeats, judges, strategies))
    made: Counter[str] = Counter()
    for _ in range(TIMES):
        found = drawn_report(rng, repeats, judges, strategies, alike)
        assert (found.winner is None) == found.conclusion.startswith("no winner")
        middle = (1 + strategies) / 2
        made["wins"] += found.winner is not None
        made["points"] += any(misses(each.mean_points, middle) for each in found.standings)
        made["preferred"] += any(misses(each.preferred, 0.5) for each in found.duels)
        for each in found.duels:
            assert misses(each.preferred, 0.5) == ((each.p_value_adjusted or 1) <= 0.05)
        made["tests"] += any((each.p_value_adjusted or 1) <= 0.05 for each in found.duels)
        made["preferred to"] += summarize_panel(found)[0].startswith("Judges prefer ")
        made["length"] += misses(found.longer_preferred, 0.5)
        made["position"] += (found.position_test.p_value or 1) <= 0.05
    return made


@studies
def test_no_strategy_wins_by_chance(
    repeats: int, judges: int, strategies: int, alike: float
) -> None:
    assert said(repeats, judges, strategies, alike)["wins"] <= most_often(TIMES)


@studies
def test_the_intervals_of_points_hold_together_over_repeats(
    repeats: int, judges: int, strategies: int, alike: float
) -> None:
    assert said(repeats, judges, strategies, alike)["points"] <= most_often(TIMES)


@studies
def test_the_intervals_of_all_pairs_hold_together_over_repeats(
    repeats: int, judges: int, strategies: int, alike: float
) -> None:
    assert said(repeats, judges, strategies, alike)["preferred"] <= most_often(TIMES)


@studies
def test_strategies_are_seldom_told_apart_over_repeats(
    repeats: int, judges: int, strategies: int, alike: float
) -> None:
    made = said(repeats, judges, strategies, alike)
    assert made["preferred to"] <= made["tests"] <= most_often(TIMES)


@studies
def test_longer_texts_are_seldom_said_to_be_preferred_over_repeats(
    repeats: int, judges: int, strategies: int, alike: float
) -> None:
    assert said(repeats, judges, strategies, alike)["length"] <= most_often(TIMES)


@studies
def test_position_is_seldom_said_to_matter_over_repeats(
    repeats: int, judges: int, strategies: int, alike: float
) -> None:
    assert said(repeats, judges, strategies, alike)["position"] <= most_often(TIMES)


def test_a_single_repeat_says_nothing_of_strategies() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        found = drawn_report(rng, 1, 7, 3, 8.0)
        assert found.winner is None
        assert all(each.mean_points.low is None for each in found.standings)
        assert all(each.preferred.low is None for each in found.duels)
        assert not misses(found.longer_preferred, 0.5)
