"""The search plays what it says, and ranks by the worst shortfall."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from paper.fast import play_fast
from paper.protocols import (
    GRID,
    PAPER,
    Candidate,
    Ending,
    Grid,
    PanelSetup,
    SearchReport,
    compare_splits,
    default_candidate,
    search_protocols,
    shortfall,
    splits_of,
)
from tests.studies.simulate.scenes import settings, world

from autoreason.studies.simulation import claiming_votes, mean, named_protocol

SMALL = Grid(
    (PAPER.bench, PanelSetup(3, 3, 6)), k=(1, 2), passes=(5, 15), playoff=(0, 5), playoff_texts=(3,)
)
WORLDS = [world("wander"), world("harm-new")]


@pytest.fixture(scope="module")
def found() -> SearchReport:
    return search_protocols(WORLDS, calls=70, runs=60, seed=1, grid=SMALL)


def test_every_bench_is_tried_with_every_ending(found: SearchReport) -> None:
    assert found.tried == 2 * 2 * 2 * 2
    assert 0 < found.eligible <= found.tried
    assert len(GRID.endings()) == len(set(GRID.endings()))


def test_the_known_protocols_are_next_to_the_best(found: SearchReport) -> None:
    notes = [each.note for each in found.ranked if each.note]
    assert {"as published", "the default"} <= set(notes)
    within = [each.regret for each in found.ranked if not each.is_beyond(found.calls)]
    assert within == sorted(within) == [each.regret for each in found.ranked[: len(within)]]
    assert any(each.mean_calls <= 75 and not each.note for each in found.ranked)


@pytest.mark.parametrize("calls", [40, 70])
def test_the_conclusion_is_taken_from_those_within_the_limit_and_others_are_marked(
    calls: int,
) -> None:
    found = search_protocols(WORLDS, calls=calls, runs=60, seed=1, grid=SMALL)
    (default,) = (each for each in found.ranked if each.note == "the default")
    assert default.mean_calls > calls
    best = min(
        (each for each in found.ranked if round(each.mean_calls) <= calls),
        key=lambda each: each.regret,
    )
    assert found.conclusion.startswith(
        f"{best.name} has the least regret of those shown within {calls} calls, "
    )
    assert "the default (beyond the limit)" in found.to_text()
    assert all(round(each.mean_calls) > calls for each in found.ranked if each.is_beyond(calls))
    none = replace(found, ranked=[default])
    assert none.conclusion == f"none of the protocols shown stays within {calls} calls on average"


def test_what_is_shown_was_played_again_as_a_study_would_play_it(found: SearchReport) -> None:
    (published,) = (each for each in found.ranked if each.note == "as published")
    for each in WORLDS:
        came = play_fast(each, settings("paper"), found.runs, seed=2)
        assert published.quality[each.name] == mean(came.quality)
        assert published.calls[each.name] == came.calls.mean()


def test_a_candidate_is_named_and_set_as_it_is() -> None:
    candidate = Candidate(PanelSetup(3, 2, 7, 1, 2), Ending(3, 12, 9, 5))
    assert candidate.name == "3+2 to 7 within 1 lead 2, k 3, cap 12, playoff 9 over 5"
    held = candidate.settings()
    assert held.required_lead == 2
    assert (held.judges, held.extra_judges, held.max_judges, held.close_margin) == (3, 2, 7, 1)
    assert (held.k, held.passes, held.playoff, held.playoff_texts) == (3, 12, 9, 5)
    assert PAPER.settings() == settings(
        "paper", judges=3, k=2, passes=15, playoff=0, playoff_texts=3
    )


def test_the_default_candidate_is_the_default_of_a_run() -> None:
    tried, usual = default_candidate().settings(), settings()
    assert tried == replace(usual, confirmation=0)


def test_a_shortfall_is_a_share_of_the_best_or_of_one_where_that_is_little() -> None:
    best = np.array([4.0, 0.5])
    np.testing.assert_allclose(shortfall(np.array([3.0, 0.25]), best), [0.25, 0.25])


def test_judges_who_choose_bring_quality_and_judges_who_confirm_bring_claims() -> None:
    assert splits_of(5) == [(0, 5), (3, 2), (5, 0)]
    found = {
        each.playoff: each for each in compare_splits([world("harm-new")], 14, 400, seed=1).splits
    }
    assert found[14].quality["harm-new"] > found[0].quality["harm-new"] + 0.5
    assert found[14].claimed["harm-new"] == 0
    assert found[0].claimed["harm-new"] > found[7].claimed["harm-new"] > 0


@pytest.mark.slow
def test_the_best_split_is_the_default() -> None:
    worlds = [world(name) for name in ("help", "drift-new", "harm-lasting")]
    best, *_ = compare_splits(worlds, 14, 3000, seed=1).splits
    usual = named_protocol("robust").settings
    assert (best.playoff, best.confirmation) == (usual.playoff, usual.confirmation)


@pytest.mark.parametrize(("judges", "needed"), [(1, 2), (5, 6), (6, 6), (7, 7), (9, 8), (14, 12)])
def test_a_claim_takes_an_exact_interval_above_a_half(judges: int, needed: int) -> None:
    assert claiming_votes(judges) == needed
