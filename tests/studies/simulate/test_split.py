"""The calls after the last pass, split between judges who choose and judges who confirm."""

from __future__ import annotations

import pytest
from tests.studies.simulate.scenes import world

from autoreason.studies.simulate.outcomes import claiming_votes
from autoreason.studies.simulate.protocols import named_protocol
from autoreason.studies.simulate.split import compare_splits, splits_of


def test_every_split_uses_the_same_calls() -> None:
    assert splits_of(5) == [(0, 5), (3, 2), (5, 0)]


def test_judges_who_choose_bring_quality_and_judges_who_confirm_bring_claims() -> None:
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
