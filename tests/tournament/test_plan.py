"""What a tournament takes, estimated from any settings."""

from __future__ import annotations

import random
from statistics import fmean

from hypothesis import given
from hypothesis import strategies as st
from tests.run.runs import settings

from autoreason.settings import MAX_PASSES
from autoreason.tournament.evidence import survival_chances
from autoreason.tournament.loop import likely_plan, max_plan, min_plan


@given(k=st.integers(1, MAX_PASSES), passes=st.integers(1, MAX_PASSES), judges=st.integers(2, 9))
def test_any_streak_and_any_number_of_passes_has_an_ordered_estimate(
    k: int, passes: int, judges: int
) -> None:
    chosen = settings(k=k, passes=passes, judges=judges)
    low, likely, high = (plan(chosen) for plan in (min_plan, likely_plan, max_plan))
    assert min(k, passes) <= likely["critic"] <= passes
    assert sum(low.values()) <= sum(likely.values()) <= sum(high.values())


def test_the_passes_that_are_planned_are_those_that_random_judges_take() -> None:
    survival, tie = survival_chances(3)
    rng, taken = random.Random(1), []
    for _ in range(4000):
        streak = number = 0
        while streak < 2:
            number += 1
            drawn = rng.random()
            streak = streak + 1 if drawn < survival else streak if drawn < survival + tie else 0
        taken.append(number)
    assert likely_plan(settings(k=2, passes=99))["critic"] == round(fmean(taken))
