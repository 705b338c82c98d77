"""What a tournament takes, estimated from any settings."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.run.runs import settings

from autoreason.settings import MAX_PASSES
from autoreason.tournament.plan import likely_plan, max_plan, min_plan


@given(k=st.integers(1, MAX_PASSES), passes=st.integers(1, MAX_PASSES), judges=st.integers(2, 9))
def test_any_streak_and_any_number_of_passes_has_an_ordered_estimate(
    k: int, passes: int, judges: int
) -> None:
    chosen = settings(k=k, passes=passes, judges=judges)
    low, likely, high = (plan(chosen) for plan in (min_plan, likely_plan, max_plan))
    assert min(k, passes) <= likely["critic"] <= passes
    assert sum(low.values()) <= sum(likely.values()) <= sum(high.values())


def test_where_the_incumbent_always_stays_it_takes_as_many_passes_as_the_streak(
    tmp_path: Path,
) -> None:
    rule = tmp_path / "rule.py"
    rule.write_text("def tied(rankings, names):\n    return dict.fromkeys(names, 1)\n")
    chosen = settings(k=4, passes=9, voting=f"{rule}:tied")
    assert likely_plan(chosen)["critic"] == 4
