"""The fast path plays the same runs as the tournament's own loop, run by run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from paper.fast import play_fast
from paper.protocols import NEVER
from tests.studies.simulate.scenes import settings, world
from tests.tournament.stage import CONTESTS

from autoreason.errors import InvalidInput
from autoreason.studies.simulation import Outcomes, play_all
from autoreason.studies.world import Critics, Judges, Revision, Synthesis, World

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("paper", {}),
    ("robust", {}),
    ("robust", {"review_every": 2, "min_reviews": 2, "reviewers": 3, "passes": 9, "k": 2}),
    ("robust", {"review_every": 4, "review_texts": 3, "max_growth": 0.1, "passes": 13}),
    ("robust", {"review_every": 3, "min_reviews": 2, "passes": 21, "confirmation": 14}),
    ("robust", {"review_every": 0, "passes": 12, "quoted_critique": False}),
    ("robust", {"reviewers": 0, "passes": 7}),
    ("robust", CONTESTS),
    ("robust", CONTESTS | {"early_stop": False, "tie_order": ("A", "B", "AB")}),
    ("robust", CONTESTS | {"judges": 6, "required_lead": 3, "k": 1, "review_texts": 3}),
    ("robust", CONTESTS | {"reviewers": 0, "k": 4, "quoted_critique": False}),
    ("robust", CONTESTS | {"review_every": 3, "min_reviews": 2, "k": 6}),
    ("robust", CONTESTS | {"judges": 1, "review_every": 6, "k": NEVER, "review_texts": 9}),
    ("robust", CONTESTS | {"k": NEVER, "passes": 14, "reviewers": 7, "confirmation": 0}),
    ("paper", {"judges": 1, "k": 2}),
    ("paper", {"blind_revision": True, "passes": 6}),
    ("paper", {"subtractive_synthesis": True, "plateau": 2, "plateau_change": 0.5, "passes": 8}),
]


def assert_same(one: Outcomes, other: Outcomes) -> None:
    for name in Outcomes._fields:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize(("protocol", "changes"), SETTINGS)
@pytest.mark.parametrize("name", ["run-dry", "harm-lasting"])
def test_both_paths_agree_on_every_run_where_positions_do_not_count(
    name: str, protocol: str, changes: dict[str, Any]
) -> None:
    level = world(name, first=0.0)
    held = settings(protocol, **changes)
    assert_same(play_all(level, held, 2, seed=5), play_fast(level, held, 2, seed=5))


@pytest.mark.parametrize("budget", [15, 40, 90])
def test_both_paths_agree_on_every_run_within_a_budget(budget: int) -> None:
    level = world("wander-new", first=0.0)
    slow, fast = (play(level, settings(), 4, 6, budget) for play in (play_all, play_fast))
    assert_same(slow, fast)


worlds = st.builds(
    World,
    about=st.just("Drawn."),
    kind=st.just("drift"),
    revision=st.builds(
        Revision,
        gain=st.floats(-1, 1),
        pull=st.floats(0, 1),
        level=st.floats(-2, 2),
        growth=st.floats(-1, 1),
        growth_spread=st.floats(0, 1),
    ),
    critics=st.builds(Critics, silent=st.floats(0, 1), at=st.floats(0.1, 3)),
    synthesis=st.builds(Synthesis, gain=st.floats(-1, 1), spread=st.floats(0.1, 1)),
    judges=st.builds(
        Judges,
        noise=st.floats(0.1, 3),
        shared=st.floats(0, 2),
        newer=st.floats(-1, 2),
        lasting=st.floats(0, 1),
        longer=st.floats(-1, 1),
    ),
)


@hypothesis_settings(max_examples=20)
@given(worlds, st.sampled_from(SETTINGS), st.integers(0, 2**32))
def test_both_paths_agree_in_any_world(
    drawn: World, held: tuple[str, dict[str, Any]], seed: int
) -> None:
    chosen = settings(held[0], **held[1])
    assert_same(play_all(drawn, chosen, 2, seed), play_fast(drawn, chosen, 2, seed))


@pytest.mark.parametrize("protocol", ["paper", "robust"])
def test_both_paths_agree_within_sampling_error_where_positions_count(protocol: str) -> None:
    slow = play_all(world("position"), settings(protocol), 30, seed=7)
    fast = play_fast(world("position"), settings(protocol), 4000, seed=8)
    for one, other in zip(slow, fast, strict=True):
        # Few runs may all be alike by chance.
        error = float(other.std()) * (1 / len(one) + 1 / len(other)) ** 0.5
        assert abs(one.mean() - other.mean()) <= 4 * error + 1e-9


@pytest.mark.parametrize("changes", [{"voting": "copeland"}, {"judges": 1}, {"drafts": 2}])
def test_what_only_the_loop_can_do_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="play others with `autoreason simulate`"):
        play_fast(world(), settings(**changes), 2, seed=1)
