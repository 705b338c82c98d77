"""Recorded passes put to another panel, which tosses coins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.under_chance.luck import most_often, random_rankings, verdict_of

from autoreason.studies.panel_jobs import Decision, RejudgeReport, beyond_chance

TIMES = 400


def drawn_decisions(rng: np.random.Generator, passes: int, judges: int) -> list[Decision]:
    """Passes of three texts that another panel judges at random."""
    found = []
    for number in range(passes):
        was, now = (verdict_of(random_rankings(rng, judges, 3)) for _ in range(2))
        changed = was.winner != now.winner
        found.append(Decision(f"pass {number}", was.winner, now.winner, was, now, changed))
    return found


@pytest.mark.parametrize(("passes", "judges"), [(1, 3), (1, 7), (8, 7)])
def test_no_decision_is_said_to_be_beyond_chance(passes: int, judges: int) -> None:
    rng = np.random.default_rng((passes, judges))
    studies = [drawn_decisions(rng, passes, judges) for _ in range(TIMES)]
    assert sum(bool(beyond_chance(each)) for each in studies) <= most_often(TIMES)
    assert sum(claims(each) for each in studies) <= most_often(TIMES)


def claims(found: Sequence[Decision]) -> bool:
    """Whether the sentence speaks of a lead beyond chance."""
    said = RejudgeReport(rejudged_run="run", decisions=tuple(found)).conclusion
    return "beyond chance" in said and "none of them" not in said


@pytest.mark.parametrize("judges", [2, 3, 7])
def test_the_chance_of_a_lead_is_what_it_says(judges: int) -> None:
    rng = np.random.default_rng(judges)
    chances = [verdict_of(random_rankings(rng, judges, 3)).chance for _ in range(2000)]
    for level in (0.05, 0.3):
        assert sum(each <= level for each in chances) <= most_often(2000, level)
