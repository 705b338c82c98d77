"""The search plays what it says, and measures every rule by its own passes in a fixed number."""

from __future__ import annotations

import pytest
from paper.fast import claiming_votes, play_fast
from paper.protocols import SearchReport, fixed_passes, grid, reviewed, search_protocols
from tests.studies.simulate.scenes import world

WORLDS = [world("help"), world("harm-new")]
CANDIDATES = [
    *fixed_passes([6, 10]),
    *reviewed(0, 5, 5, most=[2, 4, 6], rules=[(2, 0.3)]),
    *reviewed(1, 6, 5, most=[2], rules=[]),
]


@pytest.fixture(scope="module")
def found() -> SearchReport:
    return search_protocols(WORLDS, calls=61, runs=60, seed=1, candidates=CANDIDATES)


def test_protocols_are_shown_at_equal_calls_the_best_first(found: SearchReport) -> None:
    assert found.reference.name == "3 judges, review 7 over 5, 10 passes"
    assert (found.reference.relative, found.reference.absolute) == (0, 0)
    assert [each.relative for each in found.ranked] == sorted(
        (each.relative for each in found.ranked), reverse=True
    )
    assert all(abs(each.calls / 61 - 1) < 0.1 for each in found.ranked)
    assert "0 judges, 5 review 9 every 5, 4 reviews" in [each.name for each in found.ranked]


def test_what_is_shown_was_played_again_with_fresh_luck(found: SearchReport) -> None:
    shown = {each.name: each for each in (found.reference, *found.ranked)}
    for candidate in CANDIDATES:
        if candidate.name in shown:
            for each in WORLDS:
                came = play_fast(each, candidate.settings, found.runs, seed=2)
                assert shown[candidate.name].quality[each.name] == pytest.approx(
                    came.quality.mean()
                )


def test_a_rule_is_measured_by_its_own_passes_in_a_fixed_number() -> None:
    candidates = [*fixed_passes([10]), *reviewed(0, 5, 5, most=[2, 8], rules=[(2, 0.3)])]
    rule = next(each for each in candidates if "2 to 8" in each.name)
    spent = [play_fast(each, rule.settings, 200, seed=2).calls.mean() for each in WORLDS]
    calls = round(sum(spent) / len(spent))
    found = search_protocols(WORLDS, calls, runs=200, seed=1, candidates=candidates)
    (shown,) = [each for each in found.ranked if each.name == rule.name]
    assert shown.over_fixed is not None
    # It goes on where revisions help, and stops where they do harm.
    assert shown.over_fixed[1] > 0.1
    assert found.reference.over_fixed is None


def test_the_grid_has_rules_beside_fixed_numbers_of_every_family() -> None:
    fixed = {each.family for each in grid() if each.fixed}
    assert {each.family for each in grid()} == fixed
    assert len({each.name for each in grid()}) == len(grid())


@pytest.mark.parametrize(("judges", "needed"), [(1, 2), (5, 6), (6, 6), (7, 7), (9, 8), (14, 12)])
def test_a_claim_takes_an_exact_interval_above_a_half(judges: int, needed: int) -> None:
    assert claiming_votes(judges) == needed
