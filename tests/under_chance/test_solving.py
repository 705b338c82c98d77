"""Sets of problems: which strategy solves more, where none does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.once import once
from tests.programs.solved import PASSED, WRONG, assignments, set_report, solved
from tests.under_chance.luck import misses, most_often

from autoreason.studies.lab_report import LabReport

TIMES = 70
SETS = [(5, 2, 1), (12, 3, 1), (12, 2, 3), (24, 4, 1)]
"""Problems, strategies and repeats."""
sets = pytest.mark.parametrize(("problems", "strategies", "repeats"), SETS)


def drawn_report(
    rng: np.random.Generator, problems: int, strategies: int, repeats: int
) -> LabReport:
    """Problems of every difficulty, and strategies that are all the same: half is solved on average."""
    chances = rng.beta(0.5, 0.5, size=problems)
    told = [
        solved(
            f"p{at + 1}",
            strategy=f"s{one}",
            repeat=repeat,
            first=PASSED if rng.random() < chances[at] else WRONG,
            public=PASSED,
            private=PASSED if rng.random() < chances[at] else WRONG,
        )
        for at in range(problems)
        for one in range(strategies)
        for repeat in range(1, repeats + 1)
    ]
    return set_report(told, assignments(problems), repeats)


@once
def said(problems: int, strategies: int, repeats: int) -> Counter[str]:
    """How often a report says what is not so."""
    rng = np.random.default_rng((problems, strategies, repeats))
    made: Counter[str] = Counter()
    for _ in range(TIMES):
        found = drawn_report(rng, problems, strategies, repeats)
        assert bool(found.winner) == (" wins on " in found.conclusion)
        made["wins"] += bool(found.winner)
        made["tests"] += any(each.shown for each in found.pairs)
        made["recoveries"] += any(each.shown for each in found.recovery)
        made["differences"] += any(misses(each.difference, 0) for each in found.pairs)
        made["passed"] += misses(found.arms[0].shares["passed"], 0.5)
        made["overfitted"] += misses(found.arms[0].shares["overfitted"], 0.5)
    return made


@sets
def test_no_strategy_wins_by_chance(problems: int, strategies: int, repeats: int) -> None:
    assert said(problems, strategies, repeats)["wins"] <= most_often(TIMES)


@sets
@pytest.mark.parametrize("which", ["tests", "recoveries"])
def test_corrected_tests_seldom_tell_strategies_apart(
    problems: int, strategies: int, repeats: int, which: str
) -> None:
    assert said(problems, strategies, repeats)[which] <= most_often(TIMES)


@sets
def test_the_intervals_of_all_differences_hold_together(
    problems: int, strategies: int, repeats: int
) -> None:
    assert said(problems, strategies, repeats)["differences"] <= most_often(TIMES)


@sets
@pytest.mark.parametrize("which", ["passed", "overfitted"])
def test_the_interval_of_a_rate_holds_the_truth(
    problems: int, strategies: int, repeats: int, which: str
) -> None:
    assert said(problems, strategies, repeats)[which] <= most_often(TIMES)
