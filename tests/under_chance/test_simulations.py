"""Intervals of simulated runs, however few were played."""

from __future__ import annotations

import numpy as np
import pytest
from paper.fit import SLOTS, PanelVotes, RankedVote, fit_judges
from tests.studies.simulate.scenes import world
from tests.under_chance.luck import most_often

from autoreason.studies.simulation import (
    Interval,
    Outcomes,
    SimulationCell,
    SimulationPlan,
    SimulationReport,
    Summary,
    mean,
    summarise,
)

TIMES = 1000
HELP = world("help")


@pytest.mark.parametrize("runs", [2, 3, 7, 50])
def test_the_mean_over_runs_holds_the_truth(runs: int) -> None:
    rng = np.random.default_rng(runs)
    ones = np.ones(runs, dtype=np.int64)
    wrong = 0
    for quality in rng.standard_normal((TIMES, runs)):
        found = summarise(Outcomes(quality, ones, ones, 0 * ones, 0 * ones, ones > 1)).quality
        wrong += not found.low <= 0 <= found.high
    assert wrong <= most_often(TIMES)


@pytest.mark.parametrize("runs", [2, 7, 50])
def test_the_share_of_displacements_for_the_worse_holds_the_truth_although_runs_differ(
    runs: int,
) -> None:
    rng = np.random.default_rng(runs)
    wrong = 0
    for _ in range(TIMES // 2):
        displaced = rng.integers(1, 9, size=runs)
        worse = rng.binomial(displaced, rng.beta(0.5, 0.5, size=runs))
        quality, claimed = rng.random(runs), displaced > 0
        came = Outcomes(quality, displaced, displaced, displaced, worse, claimed)
        found = summarise(came).worse
        wrong += found is not None and not found.low <= 0.5 <= found.high
    assert wrong <= most_often(TIMES // 2)


@pytest.mark.parametrize(("panels", "runs"), [(8, 1), (12, 2)])
def test_fitted_judges_who_toss_coins_have_no_lead_and_no_liking_for_a_position(
    panels: int, runs: int
) -> None:
    rng = np.random.default_rng(panels)

    def drawn() -> tuple[str, ...]:
        return tuple(SLOTS[at] for at in rng.permutation(len(SLOTS)))

    wrong, times = 0, 15
    for _ in range(times):
        votes = [
            tuple(RankedVote(drawn(), drawn(), "judge") for _ in range(3)) for _ in range(panels)
        ]
        found = fit_judges([PanelVotes(f"run {at % runs}", each) for at, each in enumerate(votes)])
        said = (found.revision_lead, found.synthesis_lead, found.first, found.last)
        wrong += sum(not each.low <= 0 <= each.high for each in said)
    assert wrong <= most_often(4 * times)


def played(quality: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> SimulationReport:
    """A study with these qualities, by world, protocol and run."""
    worlds, protocols, runs = quality.shape
    one_call = Interval(1.0, 1.0, 1.0)
    cells = [
        SimulationCell(
            world=f"world {at}",
            protocol=f"protocol {one}",
            summary=Summary(
                runs=runs,
                quality=mean(quality[at, one]),
                passes=one_call,
                calls=one_call,
                worse=None,
                claimed=None,
                claimed_wrongly=None,
            ),
        )
        for at in range(worlds)
        for one in range(protocols)
    ]
    return SimulationReport(plan=SimulationPlan(runs, 1), worlds=[HELP] * worlds, cells=cells)


@pytest.mark.parametrize("runs", [2, 3, 50])
@pytest.mark.parametrize(("worlds", "protocols"), [(1, 2), (7, 2), (7, 4)])
def test_no_protocol_delivers_the_best_text_by_chance(
    worlds: int, protocols: int, runs: int
) -> None:
    rng = np.random.default_rng((worlds, protocols, runs))
    drawn = rng.standard_normal((TIMES // 2, worlds, protocols, runs))
    wrong = sum(any(played(quality).best_protocols()) for quality in drawn)
    assert wrong <= most_often(TIMES // 2)


def test_a_protocol_that_delivers_more_is_found() -> None:
    quality = np.random.default_rng(1).standard_normal((3, 2, 400))
    quality[:2, 1] += 0.5
    report = played(quality)
    assert list(report.best_protocols()) == ["protocol 1"] * 2
    assert report.conclusion == (
        "protocol 1 delivers the best text in 2 of 3 worlds, beyond chance; "
        "calls on average: protocol 0 1, protocol 1 1"
    )
