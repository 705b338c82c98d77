"""`kill -9` while an artifact is improved: no look is taken twice, and the end is an unbroken run's."""

from __future__ import annotations

import pytest
from benchmarks.research_kills import kill_research


@pytest.mark.parametrize(
    ("kills", "parallel", "process", "calls"),
    [(10, 1, False, None), (10, 2, False, None), (2, 2, True, None), (10, 1, False, 8)],
)
def test_research_killed_at_any_moment_ends_like_an_unbroken_run(
    kills: int, parallel: int, process: bool, calls: int | None
) -> None:
    killing = kill_research(kills, seed=3, parallel=parallel, process=process, calls=calls)
    assert killing.kills >= kills
    assert (killing.different, killing.asked_twice) == (0, 0)
