"""The search plays what it says, and ranks by the worst shortfall."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from paper.fast import claiming_votes, play_fast
from paper.protocols import (
    PAPER,
    Grid,
    PanelSetup,
    SearchReport,
    compare_splits,
    default_candidate,
    search_protocols,
    splits_of,
)
from tests.studies.simulate.scenes import settings, world

from autoreason.studies.simulation import mean, named_protocol

SMALL = Grid(
    (PAPER.bench, PanelSetup(3, 3, 6)), k=(1, 2), passes=(5, 15), playoff=(0, 5), playoff_texts=(3,)
)
WORLDS = [world("wander"), world("harm-new")]


@pytest.fixture(scope="module")
def found() -> SearchReport:
    return search_protocols(WORLDS, calls=70, runs=60, seed=1, grid=SMALL)


def test_the_known_protocols_are_next_to_the_best(found: SearchReport) -> None:
    notes = [each.note for each in found.ranked if each.note]
    assert {"as published", "the default"} <= set(notes)
    within = [each.regret for each in found.ranked if not each.is_beyond(found.calls)]
    assert within == sorted(within) == [each.regret for each in found.ranked[: len(within)]]
    assert any(each.mean_calls <= 75 and not each.note for each in found.ranked)


def test_what_is_shown_was_played_again_as_a_study_would_play_it(found: SearchReport) -> None:
    (published,) = (each for each in found.ranked if each.note == "as published")
    for each in WORLDS:
        came = play_fast(each, settings("paper"), found.runs, seed=2)
        assert published.quality[each.name] == mean(came.quality)
        assert published.calls[each.name] == came.calls.mean()


def test_the_default_candidate_is_the_default_of_a_run() -> None:
    tried, usual = default_candidate().settings(), settings()
    assert tried == replace(usual, confirmation=0)


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
