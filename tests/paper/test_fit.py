"""A fit finds the judges who cast the ballots."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from paper.fit import (
    SLOTS,
    FittedJudges,
    PanelVotes,
    RankedVote,
    fit_judges,
    fit_report,
    from_file,
    votes_of_judge,
)

from autoreason.studies.simulation import Interval
from autoreason.studies.world import read_world


def recorded_panels(
    recorded_panels: int,
    *,
    lead: float = 0.0,
    first: float = 0.0,
    common: float = 1.0,
    seed: int = 1,
) -> Iterator[PanelVotes]:
    """Panels of three judges as the model has them, ten a run."""
    rng = np.random.default_rng(seed)
    for panel in range(recorded_panels):
        worth = rng.standard_normal(3) * common + [0.0, lead, lead]
        votes = []
        for _ in range(3):
            order = rng.permutation(3)
            seen = worth + rng.gumbel(size=3) * math.sqrt(6) / math.pi
            seen[order[0]] += first
            ranking = np.argsort(-seen)
            names = [tuple(SLOTS[slot] for slot in slots) for slots in (order, ranking)]
            votes.append(RankedVote(names[0], names[1], "judge"))
        yield PanelVotes(f"run {panel // 10}", tuple(votes))


def holds(estimate: Interval, truth: float) -> bool:
    """Whether the truth is in an interval half as wide again, so that chance alone rarely fails a test."""
    half = 0.75 * (estimate.high - estimate.low)
    return abs(estimate.value - truth) <= half and half < 1


@pytest.mark.parametrize(("lead", "first", "common"), [(0.8, 1.0, 0.5), (-0.5, -0.7, 1.5)])
def test_the_judges_are_found_again(lead: float, first: float, common: float) -> None:
    fitted = fit_judges(list(recorded_panels(200, lead=lead, first=first, common=common)))
    assert holds(fitted.revision_lead, lead)
    assert holds(fitted.synthesis_lead, lead)
    assert holds(fitted.first, first)
    assert holds(fitted.last, 0.0)
    assert holds(fitted.common, common)
    assert holds(fitted.correlation, common**2 / (1 + common**2))
    assert (fitted.runs, fitted.panels, fitted.ballots) == (20, 200, 600)


def test_a_fitted_world_can_be_written_and_read() -> None:
    report = fit_report(list(recorded_panels(40, lead=0.6, first=0.5)), "Judges as they were.")
    fitted, world = report.fitted, report.world
    assert read_world(report.world_file(), "", "it") == world
    lead = (fitted.revision_lead.value + fitted.synthesis_lead.value) / 2
    assert world.judges.newer == pytest.approx(lead, abs=1e-3)
    assert world.revision.gain == 0


def test_the_published_judges_differ_in_the_position_they_like(shared: Path) -> None:
    recorded = from_file(shared / "recorded" / "ballots.jsonl")
    fits: dict[str, FittedJudges] = {
        judge: fit_judges(votes_of_judge(recorded, judge))
        for judge in ("claude-sonnet-4-20250514", "claude-sonnet-4-6")
    }
    older, newer = fits.values()
    assert older.first.low > 0 > newer.first.high
    assert newer.last.low > 0
    assert newer.revision_lead.low > 0
    for fitted in (older, newer):
        assert fitted.synthesis_lead.low > 0
