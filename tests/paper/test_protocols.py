"""The search plays what it says, and measures every rule by its own passes in a fixed number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from paper import protocols
from paper.fast import claiming_votes, play_fast
from paper.protocols import (
    SearchReport,
    check_protocols,
    default,
    fixed_passes,
    grid,
    random_worlds,
    reviewed,
    search_protocols,
)
from tests.studies.simulate.scenes import settings, world

from autoreason.studies.simulation import in_processes

WORLDS = [world("help"), world("harm-new")]
CANDIDATES = [
    *fixed_passes([6, 10]),
    *reviewed(0, 5, 5, most=[2, 4, 6], least=[2]),
    *reviewed(1, 6, 5, most=[2], least=[]),
]


@pytest.fixture(scope="module", autouse=True)
def one_process() -> Iterator[None]:
    """Another would take longer to start than to play."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocols, "in_processes", partial(in_processes, processes=1))
        yield


@pytest.fixture(scope="module")
def found() -> SearchReport:
    return search_protocols(WORLDS, calls=61, runs=60, seed=1, candidates=CANDIDATES)


def test_protocols_are_shown_at_equal_calls_the_best_first(found: SearchReport) -> None:
    gains = [each.relative for each in found.ranked]
    assert gains == sorted(gains, reverse=True)
    assert all(abs(each.calls / 61 - 1) < 0.1 for each in found.ranked)
    assert "0 judges, 5 review 9 every 5, 4 reviews" in [each.name for each in found.ranked]


def test_what_is_shown_was_played_again_with_fresh_luck(found: SearchReport) -> None:
    shown = {each.name: each for each in found.ranked}
    for candidate in CANDIDATES:
        if candidate.name in shown:
            for at, each in enumerate(WORLDS):
                came = play_fast(each, candidate.settings, found.runs, seed=2 + 10_000 * at)
                mean = pytest.approx(came.quality.mean())
                assert shown[candidate.name].quality[each.name] == mean


def test_a_rule_is_measured_by_its_own_passes_in_a_fixed_number() -> None:
    candidates = [*fixed_passes([6, 16]), *reviewed(0, 5, 5, most=[2, 8], least=[2])]
    rule, own = check_protocols(WORLDS, runs=200, seed=1, candidates=candidates).ranked
    assert rule.calls == pytest.approx(own.calls)
    assert rule.over_own is not None
    # It goes on where revisions help, and stops where they do harm.
    assert rule.over_own[1] > 0.1
    assert rule.over_own[1] == pytest.approx((1 + rule.absolute) / (1 + own.absolute) - 1)
    assert own.over_own is None


def test_fixed_passes_are_as_good_as_themselves_between_two_numbers_of_them() -> None:
    candidates = [*fixed_passes([8, 12]), fixed_passes([10])[0]._replace(fixed=False)]
    same, _ = check_protocols(WORLDS, runs=200, seed=1, candidates=candidates).ranked
    assert (same.better, same.worse) == ([], [])
    assert same.absolute == pytest.approx(0, abs=0.1)


def test_the_grid_has_rules_beside_fixed_numbers_of_every_family_and_what_is_checked_the_default() -> (
    None
):
    for tried in (grid(), default()):
        fixed = {each.family for each in tried if each.fixed}
        assert {each.family for each in tried} == fixed
        assert len({each.name for each in tried}) == len(tried)
    rules = [each.settings for each in default() if not each.fixed]
    assert settings(confirmation=0) in rules
    assert [each.passes for each in rules] == [25, 40, 70]


def test_random_worlds_are_the_same_for_a_seed() -> None:
    assert random_worlds(3, seed=5)[:2] == random_worlds(2, seed=5)
    assert len({each.judges.noise for each in random_worlds(3, seed=5)}) == 3


@pytest.mark.parametrize(("judges", "needed"), [(1, 2), (5, 6), (6, 6), (7, 7), (9, 8), (14, 12)])
def test_a_claim_takes_an_exact_interval_above_a_half(judges: int, needed: int) -> None:
    assert claiming_votes(judges) == needed
